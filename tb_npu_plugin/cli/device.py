"""tb-npu run and tb-npu build-device: scripts with the simulated NPU of PyTorch."""

from __future__ import annotations

import sys

import click

from tb_npu_plugin.capture.device.build import library
from tb_npu_plugin.capture.run import start


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> None:
    """Run a training script with the simulated NPU: tb-npu run [-m] SCRIPT [ARGUMENTS]...

    The script stays as it is. TB_NPU_DEVICES is the number of devices (8), TB_NPU_CHIP the chip (910B2). The first run on
    a machine builds the device, in half a minute.
    """
    start(list(arguments))


@click.command()
def build_device() -> None:
    """Build the simulated NPU for the PyTorch of this Python, ahead of the first `tb-npu run`.

    It takes half a minute, 2 GB of memory, a C++ compiler and Python's headers. It is kept in your cache directory.
    """
    try:
        path = library(lambda line: click.echo(line, err=True))
    except KeyboardInterrupt:
        click.echo("tb-npu: stopped. Nothing of it is left.", err=True)
        sys.exit(130)
    click.echo(f"The simulated NPU is {path}")
