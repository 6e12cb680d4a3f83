"""tb-npu check-config: what a profiler configuration records, before the training runs."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Optional

import click
import yaml

from tb_npu_plugin.cli.show import write_json
from tb_npu_plugin.config_check.mindspore_options import VARIABLE
from tb_npu_plugin.config_check.model import ConfigError, ConfigReport
from tb_npu_plugin.config_check.registry import MINDFORMERS, check
from tb_npu_plugin.terminal import echo

#: Exit code if a trap was found.
TRAPS = 3
#: Largest configuration, in bytes.
_LARGEST = 4 << 20


@click.command("check-config")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--env", "from_environment", is_flag=True, help=f"Check the environment variable {VARIABLE} instead.")
@click.option(
    "--mindformers",
    type=click.Choice(list(MINDFORMERS)),
    default=next(iter(MINDFORMERS)),
    show_default=True,
    help="The version whose rules apply to a YAML of mindformers.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_config(path: Optional[Path], from_environment: bool, mindformers: str, as_json: bool) -> None:
    """Say what the profiler configuration in PATH records: which steps on which ranks, at which level, where to, the equivalent
    profile(...) call, and settings that do something else than they seem to.

    PATH is a YAML of mindformers, a profiler_config.json of DynamicProfilerMonitor or of dynamic_profile, or a file with the
    value of MS_PROFILER_OPTIONS.

    Exit codes: 0 as it seems, 1 no configuration, 3 a setting does something else.
    """
    if (path is None) is not from_environment:
        raise click.UsageError("Give either PATH or --env.")
    try:
        report = check(_read(os.environ.get(VARIABLE, "") if path is None else _text(path)), mindformers)
    except ConfigError as error:
        echo(f"{VARIABLE if path is None else path}: {error}", err=True)
        sys.exit(1)
    if as_json:
        write_json(asdict(report))
    else:
        _print(report)
    sys.exit(TRAPS if report.traps else 0)


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(error)) from error
    if len(text) > _LARGEST:
        raise ConfigError(f"larger than {_LARGEST >> 20} MiB")
    return text


def _read(text: str) -> Any:
    """The settings; JSON is read as YAML."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"neither YAML nor JSON: {error}") from error


def _print(report: ConfigReport) -> None:
    width = max(map(len, report.facts))
    lines = [report.kind, *(f"  {label:<{width}}  {text}" for label, text in report.facts.items())]
    if report.call:
        lines += ["", "The same as", *(f"  {line}" for line in report.call.splitlines())]
    if report.traps:
        lines += ["", "Not what it seems"]
    for trap in report.traps:
        lines.append(f"  {trap.setting}: {trap.effect}." + (f" Write: {trap.fix}" if trap.fix else ""))
    for line in lines:
        echo(line)
