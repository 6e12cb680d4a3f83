"""The configurations that can be checked, the most specific first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tb_npu_plugin.config_check import (
    mindformers,
    mindformers_old,
    mindspore_dynamic,
    mindspore_options,
    torch_npu_dynamic,
)
from tb_npu_plugin.config_check.model import ConfigError, ConfigReport

Values = Mapping[str, Any]
#: Versions of mindformers, the newest first: what a YAML records.
MINDFORMERS = {mindformers.VERSION: mindformers.check, mindformers_old.VERSION: mindformers_old.check}
#: (whether the content is of this kind, what it records).
KINDS: tuple[tuple[Callable[[Values], bool], Callable[[Values], ConfigReport]], ...] = (
    (mindspore_dynamic.is_dynamic, mindspore_dynamic.check),
    (mindspore_options.is_options, mindspore_options.check),
    (torch_npu_dynamic.is_dynamic, torch_npu_dynamic.check),
)


def check(values: object, mindformers_version: str = mindformers.VERSION) -> ConfigReport:
    """What a configuration records. Raises ConfigError if it is none of a profiler."""
    if not isinstance(values, dict):
        raise ConfigError("not a mapping of settings")
    if mindformers.is_mindformers(values):
        return MINDFORMERS[mindformers_version](values)
    for is_kind, report in KINDS:
        if is_kind(values):
            return report(values)
    raise ConfigError(
        "no key of a profiler: expected a mindformers YAML with profile keys, the value of MS_PROFILER_OPTIONS, or a "
        "profiler_config.json"
    )
