"""profiler_config.json of MindSpore's DynamicProfilerMonitor. Source: docs/facts/mindspore_config.md, Dynamic profiles of MindSpore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_npu_plugin.config_check.mindspore import METRICS, Settings
from tb_npu_plugin.config_check.model import ConfigReport, add_unknown_keys, boolean, integer, keys_of
from tb_npu_plugin.schema.mindspore import LEVELS

KEYS = keys_of("dynamic")
#: Numbers of older files, each of which MindSpore takes with a warning.
_CODES: dict[str, dict[int, Any]] = {
    "aic_metrics": dict(enumerate(METRICS)),
    "profiler_level": {number: name for name, number in LEVELS.items()},
    "activities": {0: ["CPU", "NPU"], 1: ["CPU"], 2: ["NPU"]},
    "export_type": {0: ["text"], 1: ["db"], 2: ["text", "db"]},
}


def is_dynamic(values: Mapping[str, Any]) -> bool:
    """Whether the object is a configuration of DynamicProfilerMonitor."""
    return "stop_step" in values


def check(values: Mapping[str, Any]) -> ConfigReport:
    """What the monitor records."""
    report = ConfigReport("profiler_config.json of DynamicProfilerMonitor")
    add_unknown_keys(report, values, KEYS)
    start, stop = integer(report, values, "start_step", -1), integer(report, values, "stop_step", -1)
    settings = Settings(report, {key: _decoded(report, key, value) for key, value in values.items()})
    if start < 0 or stop < start:
        report.facts["Steps"] = "none"
        if (start, stop) != (-1, -1):
            report.add_trap(
                f"start_step: {start}, stop_step: {stop}", "nothing is recorded", "0 < start_step <= stop_step"
            )
        return report
    if start == 0:
        report.add_trap(
            "start_step: 0",
            "nothing is recorded as a callback of Model.train; a loop with step() takes it",
            "start_step: 1",
        )
    report.facts["Steps"] = (
        f"{start} to {stop} as a callback of Model.train (step mark 0 is training step {start}); "
        f"{start + 1} to {stop + 1} in a loop that calls step() (marks from 1)"
    )
    report.facts["Ranks"] = "all processes that create the monitor"
    settings.add_facts()
    analyse = boolean(report, values, "analyse")
    if "analyse" not in values:
        report.add_trap('no "analyse"', "only raw data are written, nothing is parsed", '"analyse": true')
    elif not analyse:
        report.add_trap('"analyse": false', "only raw data are written, nothing is parsed", '"analyse": true')
    path = values.get("prof_path", "./")
    folder = (
        f"{'<output_path of the monitor>' if path in ('./', '', None) else path}/rank<rank>_start{start}_stop{stop}"
    )
    report.facts["Folder"] = f"{folder}/<host>_<pid>_<time>_ascend_ms"
    first = max(start, 1)
    schedule = {"wait": 0, "warmup": 0, "active": stop - first + 1, "repeat": 1, "skip_first": first - 1}
    report.call = settings.call(folder, schedule, analyse)
    return report


def _decoded(report: ConfigReport, key: str, value: Any) -> Any:
    """The text that a number of an older file stands for."""
    codes = _CODES.get(key)
    if codes is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    text = codes.get(value)
    report.add_trap(f'"{key}": {value}', "a number, taken with a warning", f'"{key}": {text!r}' if text else "a text")
    return text
