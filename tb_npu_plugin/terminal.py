"""What the commands print of names, cells and messages; JSON and CSV are written as they are."""

from __future__ import annotations

import click

from tb_npu_plugin.printable import printable


def echo(line: str, err: bool = False) -> None:
    """Print one line."""
    click.echo(printable(line), err=err)
