"""The environment variable MS_PROFILER_OPTIONS. Source: docs/facts/mindspore_config.md, MS_PROFILER_OPTIONS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_npu_plugin.config_check.mindspore import NO_METRICS, Settings
from tb_npu_plugin.config_check.model import ConfigReport, add_unknown_keys, keys_of

VARIABLE = "MS_PROFILER_OPTIONS"
_DEPRECATED = {"hbm_ddr": "profile_memory", "pcie": "sys_interconnection"}
KEYS = keys_of("options")


def is_options(values: Mapping[str, Any]) -> bool:
    """Whether the object is the value of MS_PROFILER_OPTIONS."""
    return "start" in values and "start_step" not in values


def check(values: Mapping[str, Any]) -> ConfigReport:
    """What a run with these options records."""
    report = ConfigReport(VARIABLE)
    add_unknown_keys(report, values, KEYS)
    if values.get("start") is not True:
        report.facts["Steps"] = "none: start is not true, and nobody says so"
        report.add_trap(f'"start": {values.get("start")!r}', "nothing is recorded, without a message", '"start": true')
        return report
    for key, instead in _DEPRECATED.items():
        if key in values:
            report.add_trap(f'"{key}"', "deprecated", f'"{instead}": true')
    chosen = dict(values)
    if chosen.get("aic_metrics") == "None":  # the value of AiCoreNone
        chosen["aic_metrics"] = NO_METRICS
    settings = Settings(report, chosen)
    report.facts["Steps"] = "the whole run, without step marks"
    report.facts["Ranks"] = "all processes that import mindspore.profiler"
    settings.add_facts()
    folder = str(values.get("output_path") or "./data")
    report.facts["Folder"] = f"{folder}/<host>_<pid>_<time>_ascend_ms, parsed when the interpreter exits"
    report.call = settings.call(folder, None)
    return report
