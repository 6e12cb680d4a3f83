"""Reads the settings files that all profilers share: profiler_info*.json and profiler_metadata.json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.layout import INFO_NAME
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.scan_keys import MAX_RANK
from tb_npu_plugin.schema.settings import DISTRIBUTED_KEYS, GROUP_KEYS, ROOT_KEYS, SCHEDULE, VERSION_KEYS, WRITTEN_KEYS
from tb_npu_plugin.tables import Table

#: What a simulation may leave out -> its text in problems.
_LEFT_OUT = {names.MEMORY_BLOCKS: Message("found.no_memory_blocks"), names.SUNK_GRAPH: Message("found.no_sunk_graph")}
#: Figures are below this: clock counters have 64 bits. -1 stands for unknown.
_TOO_LARGE = 1 << 64
#: Objects nested deeper than this are not checked.
_MAX_DEPTH = 4
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


def beside(files: Sequence[str]) -> list[str]:
    """Return the files of a span that are in the result folder itself. Only these are its settings: a folder may hold spans of
    several ranks."""
    return [name for name in files if "/" not in name]


def read_profiler_info(folder: Path, files: Sequence[str], log: ProblemLog) -> tuple[str, dict[str, Any]]:
    """Return the name and content of the profiler_info file; ("", {}) without one."""
    report = FileReport(log, names.PROFILER_INFO.name)
    found = [name for name in files if names.PROFILER_INFO.matches(name)]
    if not found:
        report.add("no_settings")
        return "", {}
    if len(found) > 1:
        report.add("several_settings", found=", ".join(found))
    name = next((name for name in found if _rank_in(name) is not None), found[0])
    reading = Reading(folder / name, name, log)
    content, report = read_object(reading, exact=False), reading.report
    info = possible_settings(content or {}, report)
    if content is not None and not _has_settings(content):
        report.add("lost_key", ROOT_KEYS[0][0])
    for keys in (*ROOT_KEYS, *([VERSION_KEYS] if names.CONFIG in info else [])):
        if any(key in info for key in keys):
            report_lost_keys(report, info, keys, "")
    return name, info


def _has_settings(info: Mapping[str, Any]) -> bool:
    """Whether any object of settings holds a value. torch_npu nests its settings one level deeper."""
    found = [info.get(keys[0]) for keys in ROOT_KEYS]
    return any(any(value.values()) if isinstance(value, dict) else value for value in found)


def read_settings_file(path: Path, log: ProblemLog) -> dict[str, Any]:
    """Return the JSON object of a settings file without impossible figures; {} if it cannot be read."""
    reading = Reading(path, path.name, log)
    return possible_settings(read_object(reading, exact=False) or {}, reading.report)


def possible_settings(content: dict[str, Any], report: FileReport, where: str = "") -> dict[str, Any]:
    """Return settings without impossible figures, and report these. where: place of the object in the file."""
    out: dict[str, Any] = {}
    for key, value in content.items():
        place = f"{where}, {key}" if where else key
        if isinstance(value, dict) and where.count(",") < _MAX_DEPTH:
            out[key] = possible_settings(value, report, place)
        elif type(value) in (int, float) and value != -1 and not 0 <= value < _TOO_LARGE:
            expected = Message("expected.in_bounds", least="0", most=f"{_TOO_LARGE:.15g}")
            report.add("out_of_bounds", place, expected=expected, found=str(value), kind=place)
        else:
            out[key] = value
    return out


def _rank_in(name: str) -> int | None:
    """Return the rank in profiler_info_<rank>.json."""
    found = INFO_NAME.fullmatch(name)
    return int(found.group("rank")) if found and found.group("rank") else None


def rank_of(name: str, info: Mapping[str, Any], named: Identity, report: FileReport) -> tuple[int | None, str]:
    """Return the rank and its source: the file name, else rank_id, else the name of the folder (named).

    rank_id is an int, or text if it came from $RANK. It is -1 or absent if unknown.
    """
    suffix, value = _rank_in(name), info.get("rank_id")
    stated = integer_of(value)
    if value is not None and (stated is None or stated >= MAX_RANK):
        report.add("not_a_number", "rank_id", found=str(value))
    if stated is not None and not 0 <= stated < MAX_RANK:
        stated = None
    if suffix is not None:
        if stated not in (None, suffix):
            report.add(
                "inconsistent", "rank_id", expected=Message("expected.rank_of_file", rank=suffix), found=str(stated)
            )
        return suffix, name
    return (named.rank, named.rank_source) if stated is None else (stated, "rank_id")


def read_metadata(folder: Path, files: Sequence[str], log: ProblemLog) -> dict[str, Any]:
    """Return the fields of Capture from profiler_metadata.json."""
    path = folder / names.PROFILER_METADATA.name
    content = read_settings_file(path, log) if path.name in files else {}
    report = FileReport(log, path.name)
    groups = object_of(content, names.GROUPS, report)
    for name, group in groups.items():
        if not isinstance(group, dict):
            report_shape(report, f"{names.GROUPS}, {name}", Message("expected.object"), group)
        else:
            report_lost_keys(report, group, GROUP_KEYS, f"{names.GROUPS}, {name}")
    distributed = object_of(content, names.DISTRIBUTED, report)
    report_lost_keys(report, distributed, DISTRIBUTED_KEYS, names.DISTRIBUTED)
    environment = object_of(content, names.ENVIRONMENT, report)
    simulated = content.get(names.SIMULATED, False)
    left_out = simulated.get(names.LEFT_OUT) if isinstance(simulated, dict) else None
    for name in left_out if isinstance(left_out, list) else ():
        if name in _LEFT_OUT:
            report.add("not_simulated", name, found=_LEFT_OUT[name], kind=name)
    taken = (names.GROUPS, names.ENVIRONMENT, names.DISTRIBUTED, names.SIMULATED)
    return {
        "groups": {name: group for name, group in groups.items() if isinstance(group, dict)},
        "distributed_args": distributed,
        "environment": {name: str(value) for name, value in environment.items()},
        "simulated": bool(simulated),
        "simulated_host": simulated is True,
        "metadata": {key: value for key, value in content.items() if key not in taken},
    }


def report_no_groups(tables: Mapping[str, Table], capture: Capture, log: ProblemLog) -> None:
    """Report communicators that profiler_metadata.json does not name.

    Information: a capture with communication has no metadata, or older metadata of Megatron without names.
    """
    report = FileReport(log, names.PROFILER_METADATA.name)
    known = (capture.groups, capture.distributed_args, capture.environment, capture.metadata)
    if "comm_ops" in tables and capture.switches and not any(known):
        report.add("no_metadata")
    if "comm_links" not in tables:
        return
    if not capture.groups:
        if capture.distributed_args:
            report.add("no_metadata", names.GROUPS)
        return
    named = {key for name in capture.groups for key in (name, group_hash(name))}
    for group in tables["comm_links"].text("group").values:
        if group not in named:
            report.add("lost_key", names.GROUPS, found=group, kind=names.GROUPS)


def object_of(content: Mapping[str, Any], key: str, report: FileReport) -> dict[str, Any]:
    """Return a member that is an object; else {}. Reports a member of another type."""
    value = content.get(key)
    if isinstance(value, dict):
        found = {name.lstrip("_"): 1 for name in value} if key == SCHEDULE else value
        report_lost_keys(report, found, WRITTEN_KEYS.get(key, ()), key)
        return value
    if value is not None:
        report_shape(report, key, Message("expected.object"), value)
    return {}


def report_shape(report: FileReport, key: str, expected: str, found: Any) -> None:
    """Report a value of an unexpected type."""
    report.add("unexpected_shape", key, expected=expected, found=str(found), kind=key)


def activities_of(common: Mapping[str, Any], report: FileReport) -> tuple[str, ...] | None:
    """Return ("CPU", "NPU") for ["ProfilerActivity.NPU", "ProfilerActivity.CPU"]: sorted, since their order varies."""
    value = common.get("activities")
    if value is None:
        return None
    if not isinstance(value, list):
        report_shape(report, "activities", Message("expected.list"), value)
        return None
    return tuple(sorted(str(item).rpartition(".")[2] for item in value))


def schedule_of(common: Mapping[str, Any], report: FileReport) -> dict[str, int] | None:
    """Return the numbers of the schedule; None without a schedule. Files of 2023 name them "_wait", not "wait"."""
    schedule = {}
    for key, value in object_of(common, "schedule", report).items():
        number = integer_of(value)
        if number is None:
            report_shape(report, f"schedule, {key}", Message("expected.integer"), value)
        else:
            schedule[key.lstrip("_")] = number
    return schedule or None


def export_types_of(content: Mapping[str, Any], key: str, report: FileReport) -> tuple[str, ...] | None:
    """Return the export types. Files from before 2025 hold one text, later ones a list."""
    value = content.get(key)
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list):
        return tuple(str(item).lower() for item in items) or None
    if value is not None:
        report_shape(report, key, Message("expected.list_or_text"), value)
    return None


def known_versions(info: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    """Return the known versions by program. `keys`: {program: key of its version}."""
    found = {program: text_of(info.get(key)) for program, key in keys.items()}
    return {program: version for program, version in found.items() if version is not None}


def text_of(value: Any) -> str | None:
    """Return a nonempty text; None for anything else."""
    return value if isinstance(value, str) and value else None


def integer_of(value: Any) -> int | None:
    """Return an int, or the int that a text of at most 19 digits holds; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    if isinstance(value, int):
        return value
    text = value.strip()
    return int(text) if _WHOLE.fullmatch(text) else None
