"""tb-npu build-observer: what makes captures on the mock device cheaper."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from tb_npu_plugin.capture.mock.observer_build import build


@click.command()
def build_observer() -> None:
    """Build the observer of shapes, which makes captures on the mock device cheaper where they have no record_shapes.

    Once for each PyTorch: it is compiled against the one of this Python, tried, and kept in your cache directory. It
    takes half a minute, a compiler for C++ and Python's headers. Processes that start later use it.
    """
    console = Console(stderr=True)
    try:
        with console.status("Importing PyTorch") as status:
            path = build(lambda doing: status.update(doing) if console.is_terminal else click.echo(doing, err=True))
    except KeyboardInterrupt:
        click.echo("tb-npu: stopped. Nothing of it is left.", err=True)
        sys.exit(130)
    click.echo(f"Captures of this user with this PyTorch use {path}")
