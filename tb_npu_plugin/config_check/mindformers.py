"""The profile keys of a mindformers YAML. Source: docs/facts/mindspore_config.md, mindformers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from tb_npu_plugin.config_check.mindformers_old import VERSION as OLD
from tb_npu_plugin.config_check.mindspore import Settings
from tb_npu_plugin.config_check.model import ConfigReport, boolean, integer, keys_of

#: Whose rules these are.
VERSION = "2.1"
START, STOP = "profile_start_step", "profile_stop_step"
DEFAULT_START, DEFAULT_STOP = 1, 10
#: Keys that the trainer reads.
KEYS = keys_of("mindformers")
#: Keys that look as if they were read, and what the trainer reads instead.
UNREAD = {"profile_level": "profiler_level", "profile_end_step": STOP}
#: Read although the log calls them useless.
_ANNOUNCED = ("profiler_level", "with_stack", "profile_output", "data_simplification")
_OUTPUT = "./output"


def is_mindformers(values: Mapping[str, Any]) -> bool:
    """Whether the YAML has keys of mindformers' profiler that no other configuration has."""
    return any(key in values for key in (*keys_of("mindformers", "own"), *UNREAD))


def check(values: Mapping[str, Any]) -> ConfigReport:
    """What a run of mindformers records. values: content of the YAML."""
    report = ConfigReport("mindformers YAML")
    report.facts["Rules"] = f"those of mindformers {VERSION}; of 1.0 and older: --mindformers {OLD}"
    _add_unread_keys(report, values)
    if not boolean(report, values, "profile"):
        report.facts["Steps"] = "none: profile is False"
        return report
    skip_first, active = _steps(report, values)
    report.facts["Steps"] = _span(skip_first, skip_first + active - 1)
    report.facts["Ranks"] = _ranks(report, values)
    settings = Settings(report, _profiler_settings(report, values))
    settings.add_facts()
    folder = (
        f"{values.get('profile_output') or values.get('output_dir') or _OUTPUT}".rstrip("/") + "/profile/rank_<rank>"
    )
    report.facts["Folder"] = f"{folder}/<host>_<pid>_<time>_ascend_ms"
    schedule = {"wait": 0, "warmup": 0, "active": active, "repeat": 1, "skip_first": skip_first}
    report.facts["Step marks"] = "ProfilerStep#n is training step n: mindformers calls step() once before the first one"
    report.call = settings.call(folder, schedule)
    return report


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def _add_unread_keys(report: ConfigReport, values: Mapping[str, Any]) -> None:
    for key, instead in UNREAD.items():
        if key in values:
            report.add_trap(f"{key}: {values[key]!r}", "read by nobody", f"{instead}: {values[key]!r}")
    for key in values:
        name = str(key)
        if name.startswith("profil") and name not in (*KEYS, *UNREAD):
            close = difflib.get_close_matches(name, KEYS, 1)
            report.add_trap(name, "read by nobody", close[0] if close else "remove it")
    announced = [key for key in _ANNOUNCED if key in values]
    if announced and values.get("profile"):
        report.facts["Note"] = (
            f'the log calls {", ".join(announced)} useless ("Some configs in yaml are useless for train"); they are read'
        )


def _steps(report: ConfigReport, values: Mapping[str, Any]) -> tuple[int, int]:
    """First recorded step, which is the `skip_first` of the schedule, and the number of recorded steps."""
    start, stop = integer(report, values, START, DEFAULT_START), integer(report, values, STOP, DEFAULT_STOP)
    start, stop = _in_sinks(report, values, start, stop)
    at_init = boolean(report, values, "init_start_profile")
    if start > stop:
        last = max(start, DEFAULT_STOP)  # the stop is reset, and a number of steps below 1 as well
        report.add_trap(
            f"{START}: {start}, {STOP}: {stop}",
            f"stop lies before start and is reset: recorded are {_span(start, last)}",
            f"{STOP}: {start} or later",
        )
        return start, last - start + 1
    if at_init and start != 1:
        report.add_trap(
            "init_start_profile: True",
            f"ignored by mindformers {VERSION} because {START} is {start} and not 1",
            f"{START}: 1, or init_start_profile: False",
        )
        at_init = False
    if start < 1:
        report.add_trap(f"{START}: {start}", "steps count from 1", f"{START}: 1")
    return (1, stop) if at_init else (start, stop - start + 1)


def _in_sinks(report: ConfigReport, values: Mapping[str, Any], start: int, stop: int) -> tuple[int, int]:
    """First and last step in sink mode, as the trainer changes them."""
    runner = values.get("runner_config")
    if not isinstance(runner, Mapping) or not runner.get("sink_mode"):
        return start, stop
    size = integer(report, runner, "sink_size", 1)
    if size <= 1:
        return start, stop
    first = start if start % size == 0 else max(start - start % size, size)
    last = stop if stop % size == 0 else max(stop + stop % size, first + size)
    if (first, last) != (start, stop):
        multiple = "" if last % size == 0 else f"; {last} is no multiple of {size}, as the rest is added"
        up = max(-(-stop // size) * size, first)
        report.add_trap(
            f"sink_mode with sink_size: {size}",
            f"{START} becomes {first} and {STOP} becomes {last}{multiple}",
            f"{START}: {first}, {STOP}: {up}, or sink_size: 1",
        )
    return first, last


def _ranks(report: ConfigReport, values: Mapping[str, Any]) -> str:
    ids = values.get("profile_rank_ids")
    if ids is not None and not (isinstance(ids, list) and all(isinstance(one, int) for one in ids)):
        report.add_trap(f"profile_rank_ids: {ids!r}", "not a list of ranks", "profile_rank_ids: [0, 1]")
        ids = None
    by_stage = boolean(report, values, "profile_pipeline")
    named = [] if ids is None else [f"rank {one}" for one in ids]
    if by_stage:
        named.append("the first rank of each pipeline stage")
    return ", ".join(named) or "all"


def _profiler_settings(report: ConfigReport, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of `profile` that the keys stand for."""
    level = values.get("profiler_level")
    communicates = boolean(report, values, "profile_communication")
    if level == 3:
        report.add_trap("profiler_level: 3", "the run ends with AttributeError: Level3", "profiler_level: 2")
        level = 2
    if communicates and level is None:
        report.add_trap(
            "profile_communication: True", "no communication is recorded: the level stays 0", "profiler_level: 1"
        )
    elif communicates and level == 0:
        level = 1
    switches = {key: values[key] for key in ("profile_memory", "with_stack", "mstx") if key in values}
    is_known = isinstance(level, int) and not isinstance(level, bool) and 0 <= level <= 2
    return {"profiler_level": f"Level{level}" if is_known else level, **switches}
