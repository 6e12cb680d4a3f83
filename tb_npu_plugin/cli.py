"""tb-npu, the command line. Light to import: a command's module is imported when it is asked for."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import sys
from io import TextIOWrapper
from typing import NoReturn

import click

from tb_npu_plugin import __version__
from tb_npu_plugin.errors import BadRequest, NpuPluginError

#: Commands, each with its module and the function there.
COMMANDS = {
    "build-observer": ("tb_npu_plugin.capture.observer_command", "build_observer"),
    "doctor": ("tb_npu_plugin.cli_show", "doctor"),
    "ingest": ("tb_npu_plugin.cli_show", "ingest"),
    "mock": ("tb_npu_plugin.capture.command", "mock"),
    "show": ("tb_npu_plugin.cli_show", "show"),
}
#: What a write to a full disk ends with.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class LazyGroup(click.Group):
    """The commands of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported; None for other names."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), function)
        assert isinstance(command, click.Command)
        return command


def print_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """The version, and which scanner reads traces."""
    if wanted and not ctx.resilient_parsing:
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
    """Entry point. The one place that prints errors: exit code 1, or 2 for a wrong use."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, TextIOWrapper
        ):  # names and signs that the terminal's encoding lacks are no reason to stop
            stream.reconfigure(errors="replace")
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
        _discard_output()  # the reader of our output has gone; so do we, as click does where it meets this
        sys.exit(1)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _discard_output()
        _print_error(NpuPluginError(f"it cannot be written: {error.strerror}", "Make room, and run it again."), 1)
    sys.exit(0)


def _discard_output() -> None:
    """What is left to write goes nowhere: Python tries once more at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(error: NpuPluginError, code: int) -> NoReturn:
    click.echo(f"tb-npu: {error.message}", err=True)
    if error.hint:
        click.echo(error.hint, err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
