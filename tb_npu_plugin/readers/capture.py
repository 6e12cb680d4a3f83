"""How a span was recorded: profiler_info*.json, profiler_metadata.json and the names of the folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.identity import Identity, identify
from tb_npu_plugin.discovery.layout import INFO_NAME
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.json_file import load_object, read_text
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.schema import torch_npu_json as names

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


def read_capture(folder: Path, log: ProblemLog) -> Capture:
    """The capture of a result folder. What is not recorded is unknown; what is broken is a problem in the log.

    The rank comes from the name of profiler_info_<rank>.json, then its rank_id, then the folder's name, then the
    name of the folder around it. Start and end are wall-clock ns: end is collectionTimeEnd, and start is
    collectionTimeEnd - (MonotonicTimeEnd - start_monotonic).
    """
    files = _listing(folder, log)
    name, info = _settings(folder, files, log)
    report = FileReport(log, name or names.PROFILER_INFO.name)
    metadata = _metadata(folder, files, log)
    config = _object(info, "config", report)
    common = _object(config, "common_config", report)
    experimental = _object(config, "experimental_config", report)
    named = identify(folder, folder.parts[-2:], ())
    rank, source = _rank(name, info, named, report)
    start, end = _start_end(info, report)
    return Capture(
        rank=rank,
        rank_source=source,
        worker_name=named.worker_name,
        host=named.host,
        pid=named.pid,
        level=_text(experimental.get("_profiler_level")),
        aic_metrics=_text(experimental.get("_aic_metrics")),
        activities=_activities(common, report),
        schedule=_schedule(common, report),
        switches=_switches(common, experimental),
        export_types=_export_types(experimental, report),
        versions=known_versions(info, {"torch_npu": "torch_npu_version", "CANN": "cann_version"}),
        start_ns=start,
        end_ns=end,
        **metadata,
    )


def _listing(folder: Path, log: ProblemLog) -> list[str]:
    """Names in the folder."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError as error:
        FileReport(log, ".").add("unreadable", found=error.strerror or type(error).__name__)
        return []


def _settings(folder: Path, files: list[str], log: ProblemLog) -> tuple[str, dict[str, Any]]:
    """Name and content of the profiler_info file; "" and {} without one."""
    report = FileReport(log, names.PROFILER_INFO.name)
    found = [name for name in files if names.PROFILER_INFO.matches(name)]
    if not found:
        report.add("no_settings")
        return "", {}
    if len(found) > 1:
        report.add("several_settings", found=", ".join(found))
    name = next((name for name in found if _suffix(name) is not None), found[0])
    return name, _load(folder / name, log)


def _load(path: Path, log: ProblemLog) -> dict[str, Any]:
    report = FileReport(log, path.name)
    text = read_text(path, report, lambda count: None)
    return {} if text is None else load_object(text, report, exact=False) or {}


def _suffix(name: str) -> int | None:
    """The rank in profiler_info_<rank>.json."""
    found = INFO_NAME.fullmatch(name)
    return int(found.group("rank")) if found and found.group("rank") else None


def _rank(name: str, info: Mapping[str, Any], named: Identity, report: FileReport) -> tuple[int | None, str]:
    """Rank and where it comes from. rank_id is an int, text when it came from $RANK, -1 or absent when unknown."""
    suffix, value = _suffix(name), info.get("rank_id")
    stated = _integer(value)
    if stated is None and value is not None:
        report.add("not_a_number", "rank_id", found=str(value))
    if stated is not None and stated < 0:
        stated = None
    if suffix is not None:
        if stated not in (None, suffix):
            report.add("inconsistent", "rank_id", expected=f"{suffix}, as in the file name", found=str(stated))
        return suffix, name
    return (named.rank, named.rank_source) if stated is None else (stated, "rank_id")


def _start_end(info: Mapping[str, Any], report: FileReport) -> tuple[int | None, int | None]:
    """Wall-clock ns of start and end; the start through the monotonic clock, read at both ends."""
    start_info, end_info = _object(info, "start_info", report), _object(info, "end_info", report)
    end = _integer(end_info.get("collectionTimeEnd"))
    monotonic_end = _integer(end_info.get("MonotonicTimeEnd"))
    monotonic_start = _integer(start_info.get("start_monotonic"))
    if end is None or end <= 0:
        return None, None
    if monotonic_end is None or monotonic_start is None:
        return None, end
    if not 0 <= monotonic_end - monotonic_start <= end:
        report.add(
            "inconsistent",
            "start_monotonic",
            expected=f"at most MonotonicTimeEnd {monotonic_end}",
            found=str(monotonic_start),
        )
        return None, end
    return end - (monotonic_end - monotonic_start), end


def _activities(common: Mapping[str, Any], report: FileReport) -> tuple[str, ...] | None:
    """("CPU", "NPU") from ["ProfilerActivity.NPU", "ProfilerActivity.CPU"]: the file's order is that of a set."""
    value = common.get("activities")
    if value is None:
        return None
    if not isinstance(value, list):
        _report_shape(report, "activities", "a list", value)
        return None
    return tuple(sorted(str(item).rpartition(".")[2] for item in value))


def _schedule(common: Mapping[str, Any], report: FileReport) -> dict[str, int] | None:
    """The schedule's numbers; None without a schedule. Dumps of 2023 write _wait for wait."""
    schedule = {}
    for key, value in _object(common, "schedule", report).items():
        number = _integer(value)
        if number is None:
            _report_shape(report, f"schedule, {key}", "an integer", value)
        else:
            schedule[key.lstrip("_")] = number
    return schedule or None


def _switches(common: Mapping[str, Any], experimental: Mapping[str, Any]) -> dict[str, bool]:
    """Everything that is on or off, without leading underscores."""
    both = {**common, **experimental}
    return {key.lstrip("_"): value for key, value in both.items() if isinstance(value, bool)}


def _export_types(experimental: Mapping[str, Any], report: FileReport) -> tuple[str, ...] | None:
    """The export types: a list, in dumps of before 2025 one text."""
    value = experimental.get("_export_type")
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list):
        return tuple(str(item).lower() for item in items) or None
    if value is not None:
        _report_shape(report, "_export_type", "a list or a text", value)
    return None


def _metadata(folder: Path, files: list[str], log: ProblemLog) -> dict[str, Any]:
    """The fields of Capture that profiler_metadata.json fills."""
    path = folder / names.PROFILER_METADATA.name
    content = _load(path, log) if path.name in files else {}
    report = FileReport(log, path.name)
    groups = _object(content, names.GROUPS, report)
    for name, group in groups.items():
        if not isinstance(group, dict):
            _report_shape(report, f"{names.GROUPS}, {name}", "an object", group)
    environment = _object(content, names.ENVIRONMENT, report)
    taken = (names.GROUPS, names.ENVIRONMENT, names.DISTRIBUTED, names.SIMULATED)
    return {
        "groups": {name: group for name, group in groups.items() if isinstance(group, dict)},
        "distributed_args": _object(content, names.DISTRIBUTED, report),
        "environment": {name: str(value) for name, value in environment.items()},
        "simulated": bool(content.get(names.SIMULATED, False)),
        "metadata": {key: value for key, value in content.items() if key not in taken},
    }


def _object(content: Mapping[str, Any], key: str, report: FileReport) -> dict[str, Any]:
    """An object inside an object; {} where it is absent or, a problem, something else."""
    value = content.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        _report_shape(report, key, "an object", value)
    return {}


def _report_shape(report: FileReport, key: str, expected: str, found: Any) -> None:
    report.add("unexpected_shape", key, expected=expected, found=str(found), kind=key)


def known_versions(info: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    """What is known of the versions of these programs. `keys`: {program: key of its version}."""
    found = {program: _text(info.get(key)) for program, key in keys.items()}
    return {program: version for program, version in found.items() if version is not None}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: Any) -> int | None:
    """An int, or text that is one of usual size."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    if isinstance(value, int):
        return value
    text = value.strip()
    return int(text) if _WHOLE.fullmatch(text) else None
