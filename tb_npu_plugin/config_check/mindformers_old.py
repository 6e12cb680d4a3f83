"""The profile keys of a mindformers YAML up to 1.0. Source: docs/facts/mindspore_config.md, mindformers up to 1.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_npu_plugin.config_check.model import Code, ConfigReport, boolean, call_of, integer, keys_of

VERSION = "1.0"
START, STOP, AT_INIT, COMMUNICATION = (
    "profile_start_step",
    "profile_stop_step",
    "init_start_profile",
    "profile_communication",
)
KEYS = keys_of("mindformers_old")
_FOLDER = "./output/profile/rank_<rank>/profiler"


def check(values: Mapping[str, Any]) -> ConfigReport:
    """What a run of mindformers 1.0 or older records. values: content of the YAML."""
    report = ConfigReport("mindformers YAML")
    report.facts["Rules"] = f"those of mindformers {VERSION} and older"
    for key in (str(key) for key in values):
        if key not in KEYS and key.startswith(("profil", "output_path", "with_stack", "data_simplification", "mstx")):
            report.add_trap(f"{key}: {values[key]!r}", f"ignored by mindformers {VERSION} because it does not read it")
    if not boolean(report, values, "profile"):
        report.facts["Steps"] = "none: profile is False"
        return report
    at_init, communicates = (
        boolean(report, values, key, default) for key, default in ((AT_INIT, True), (COMMUNICATION, False))
    )
    if values.get("use_parallel") is True:  # of more than one device, as in any run of several
        at_init = communicates = _switched_on(report, {AT_INIT: at_init, COMMUNICATION: communicates})
    elif communicates and not at_init:
        report.add_trap(
            f"{COMMUNICATION}: True", f"the run ends with ValueError: {AT_INIT} is False", f"{AT_INIT}: True"
        )
        report.facts["Steps"] = "none: the run ends with ValueError"
        return report
    report.facts["Steps"] = _steps(report, values, at_init)
    runner = values.get("runner_config")
    if isinstance(runner, Mapping) and runner.get("sink_mode"):
        report.add_trap("sink_mode: True", f"ignored by mindformers {VERSION} because it profiles without sink mode")
    memory = boolean(report, values, "profile_memory")
    on = {COMMUNICATION: communicates, "profile_memory": memory}
    report.facts["Switches"] = ", ".join(key for key, is_on in on.items() if is_on) or "none"
    report.facts["Ranks"] = "all"
    report.facts["Folder"] = _FOLDER
    report.call = call_of("Profiler", {"start_profile": Code(str(at_init)), "output_path": _FOLDER, **on})
    return report


def _switched_on(report: ConfigReport, switches: Mapping[str, bool]) -> bool:
    for key, is_on in switches.items():
        if not is_on:
            report.add_trap(
                f"{key}: False",
                f"ignored by mindformers {VERSION} because use_parallel is True: set to True",
                f"{key}: True",
            )
    return True


def _steps(report: ConfigReport, values: Mapping[str, Any], at_init: bool) -> str:
    """From the step that begins it to the one that ends it."""
    start, stop = integer(report, values, START, 1), integer(report, values, STOP, 10)
    if at_init:
        if start != 1:
            report.add_trap(
                f"{START}: {start}",
                f"ignored by mindformers {VERSION} because {AT_INIT} is True: recording begins before step 1",
                f"{START}: 1, or {AT_INIT}: False and {COMMUNICATION}: False",
            )
        return f"1 to {stop}"
    if start > stop:
        report.add_trap(
            f"{START}: {start}, {STOP}: {stop}", "stop lies before start: nothing is parsed", f"{STOP}: {start}"
        )
        return "none"
    return f"{start} to {stop}"
