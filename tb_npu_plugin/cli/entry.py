"""The tb-npu command line. Imports a command's module only when the command runs."""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import os
import sys
from io import TextIOWrapper
from typing import NoReturn

import click

from tb_npu_plugin import __version__
from tb_npu_plugin.descriptors import raise_descriptor_limit
from tb_npu_plugin.errors import BadRequest, NpuPluginError
from tb_npu_plugin.refusal import as_refused
from tb_npu_plugin.terminal import echo

#: Module and function of each command.
COMMANDS = {
    "board": ("tb_npu_plugin.cli.summary", "board"),
    "build-device": ("tb_npu_plugin.cli.device", "build_device"),
    "check-config": ("tb_npu_plugin.cli.config", "check_config"),
    "diagnose": ("tb_npu_plugin.cli.diagnose", "diagnose"),
    "diff": ("tb_npu_plugin.cli.diff", "diff"),
    "doctor": ("tb_npu_plugin.cli.show", "doctor"),
    "explain": ("tb_npu_plugin.cli.explain", "explain"),
    "export-trace": ("tb_npu_plugin.cli.export", "export_trace"),
    "ingest": ("tb_npu_plugin.cli.show", "ingest"),
    "mock": ("tb_npu_plugin.cli.mock", "mock"),
    "run": ("tb_npu_plugin.cli.device", "run"),
    "show": ("tb_npu_plugin.cli.show", "show"),
    "summary": ("tb_npu_plugin.cli.summary", "summary"),
}
#: Errors of a write to a full disk.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class LazyGroup(click.Group):
    """Imports the commands of COMMANDS on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command by name; None for other names."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), function)
        assert isinstance(command, click.Command)
        return command


def print_version(ctx: click.Context, param: click.Parameter, is_set: bool) -> None:
    """Print the version and the scanner that reads traces."""
    if is_set and not ctx.resilient_parsing:
        from tb_npu_plugin.installation import describe_scanner, tensorboard_defect

        lines = (f"tb-npu, version {__version__}", f"Trace scanner: {describe_scanner()}", tensorboard_defect())
        click.echo("\n".join(filter(None, lines)))
        ctx.exit()


@click.command(cls=LazyGroup)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Ascend NPU profiles on the command line."""


def main() -> NoReturn:
    """Entry point. Prints errors: exit code 1, or 2 for invalid usage."""
    gc.set_threshold(100_000)  # most commands are short: with the default, collections take a twentieth of their time
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # replace characters that the terminal's encoding lacks
            stream.reconfigure(errors="replace")
    raise_descriptor_limit()
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("tb-npu: stopped. What was read is kept; run it again to go on.", err=True)
        sys.exit(130)
    except BadRequest as error:
        _print_error(error, 2)
    except NpuPluginError as error:
        _print_error(error, 1)
    except BrokenPipeError:
        _discard_output()  # the reader closed the pipe: exit with 1, as click does
        sys.exit(1)
    except OSError as error:
        if error.errno in _FULL:
            _discard_output()
            _print_error(NpuPluginError(f"it cannot be written: {error.strerror}", "Make room, and run it again."), 1)
        refusal = as_refused(error)
        if refusal is None:
            raise
        _print_error(refusal, 1)
    sys.exit(0)


def _discard_output() -> None:
    """Redirect stdout to the null device: Python flushes it at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(error: NpuPluginError, code: int) -> NoReturn:
    echo(f"tb-npu: {error.message}", err=True)
    if error.hint:
        echo(error.hint, err=True)
    sys.exit(code)
