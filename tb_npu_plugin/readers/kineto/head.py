"""Reads the capture settings of a trace, from the fields before its events, and its events with times since the epoch."""

from __future__ import annotations

import dataclasses
import gzip
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.discovery.kineto_head import kineto_head
from tb_npu_plugin.discovery.looks import member, objects
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import READ_ERRORS
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.scan import MEMORY, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.scan.source import unpacked_limit
from tb_npu_plugin.schema import kineto, scan_keys
from tb_npu_plugin.schema.scan_keys import MAX_RANK
from tb_npu_plugin.tables import NULL_INT, known

#: Last bytes of a file in which baseTimeNanoseconds is searched: some versions write it after the events.
_TAIL = 1 << 14
#: Metadata phase, which is not drawn.
_NOT_DRAWN = ord("M")
#: Base times from here on are invalid, ns since the epoch: the year 2200.
_MAX_BASE = 7_258_118_400_000_000_000
#: Later times count from the epoch, ns: the year 2001, before any recording.
_THIS_CENTURY = 10**18
_BLOCK = 1 << 20
_BASE_TIME = re.compile(rb'"' + kineto.BASE_TIME.encode() + rb'"\s*:\s*(\d{1,30})\s*[,}]')


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the settings from the span's only file. The scan reports a damaged head."""
    head, is_damaged = _head(folder / files[0]) if files else ({}, False)
    distributed = member(head, scan_keys.DISTRIBUTED)
    if files and not is_damaged:
        _report_lost(head, distributed, FileReport(log, files[0]))
    groups = {
        str(group[kineto.GROUP_NAME]): {
            "group_name": str(group.get(kineto.GROUP_DESCRIPTION, "")),
            "global_ranks": group.get(kineto.GROUP_RANKS),
        }
        for group in objects(distributed, kineto.GROUPS)
        if kineto.GROUP_NAME in group
    }
    rank = distributed.get(scan_keys.RANK)
    known = isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < MAX_RANK
    return Capture(
        rank=rank if known else None,
        rank_source=scan_keys.DISTRIBUTED if known else "",
        host=str(head[kineto.HOST_NAME]) if head.get(kineto.HOST_NAME) else None,
        # some versions leave out disabled switches: missing ones are unknown
        switches={name: bool(head[name]) for name in kineto.SWITCHES if name in head},
        versions=_versions(head, distributed),
        device_name=_device_name(head),
        groups=groups,
        distributed_args={kineto.WORLD_SIZE: distributed[kineto.WORLD_SIZE]}
        if kineto.WORLD_SIZE in distributed
        else {},
    )


def _report_lost(head: Mapping[str, Any], distributed: Mapping[str, Any], report: FileReport) -> None:
    """Report keys that the profiler writes with others that are there."""
    for keys in kineto.HEAD_KEYS:
        report_lost_keys(report, head, keys, "")
    for device in objects(head, kineto.DEVICES):
        report_lost_keys(report, device, kineto.DEVICE_KEYS, kineto.DEVICES)
    keys = kineto.DISTRIBUTED_KEYS
    if not distributed.keys().isdisjoint(kineto.GROUPS_KEYS):
        of_nccl = (kineto.NCCL_VERSION,) if distributed.get(kineto.BACKEND) == kineto.NCCL else ()
        keys = (*keys, *kineto.GROUPS_KEYS, *of_nccl)
    report_lost_keys(report, distributed, keys, scan_keys.DISTRIBUTED)
    for group in objects(distributed, kineto.GROUPS):
        report_lost_keys(report, group, kineto.GROUP_KEYS, kineto.GROUPS)


def _head(path: Path) -> tuple[Mapping[str, Any], bool]:
    """Return the settings, {} without, and whether they are damaged."""
    try:
        found = kineto_head(str(path))
    except READ_ERRORS as error:
        raise_if_of_environment(error)
        return {}, True  # the scan of the events reports it
    return found.settings, found.is_damaged


def _versions(head: Mapping[str, Any], distributed: Mapping[str, Any]) -> dict[str, str]:
    out = {}
    for key, (program, places) in kineto.VERSIONS.items():
        value = head.get(key)
        if isinstance(value, int) and value > 0:
            out[program] = _numbers(value, places)
    if isinstance(head.get(kineto.CUPTI_VERSION), int):
        out["CUPTI"] = str(head[kineto.CUPTI_VERSION])
    nccl = distributed.get(kineto.NCCL_VERSION)
    if isinstance(nccl, str) and nccl not in ("", "unknown"):
        out["NCCL"] = nccl
    return out


def _numbers(version: int, places: Sequence[int]) -> str:
    """Return "12.4" for 12040; the number itself if it is too small to be split."""
    if version < places[0]:
        return str(version)
    numbers = []
    for place in places:
        number, version = divmod(version, place)
        numbers.append(str(number))
    return ".".join(numbers)


def _device_name(head: Mapping[str, Any]) -> str | None:
    """Return the distinct names of the visible GPUs."""
    names = [
        str(device[kineto.DEVICE_NAME]) for device in objects(head, kineto.DEVICES) if kineto.DEVICE_NAME in device
    ]
    return ", ".join(dict.fromkeys(names)) or None


def scan_kineto(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """As scan.scan_trace, with times since the epoch."""
    report, is_packed = FileReport(log, path.name), path.name.endswith(".gz")
    head, _ = _head(path)
    stated = head.get(kineto.BASE_TIME)
    base = _read_base_time(stated, report)
    peek = into.peek
    if peek is not None:
        into = dataclasses.replace(into, peek=lambda events: peek(_add_base(events, base)))
    events = scan_trace(path, log, progress, into)
    if stated is None and not _has_dates(events):
        stated = _stated_behind(path) if is_packed else None  # costs unpacking the file again
        base = _read_base_time(stated, report)
        if stated is None and kineto.TIME_UNIT in head:
            report.add("bad_base_time", kineto.BASE_TIME)
    return _add_base(events, base)


def _read_base_time(stated: Any, report: FileReport) -> int:
    """Return the base of times, ns since the epoch; 0 if not recorded, as times are absolute then. Report an invalid
    base."""
    if type(stated) is int and 0 <= stated < _MAX_BASE:
        return stated
    if stated is not None:
        report.add("bad_base_time", kineto.BASE_TIME, found=str(stated))
    return 0


def _stated_behind(path: Path) -> int | None:
    """Return the base written after the events of a packed file; None without one or if the file is unreadable, which the scan reports."""
    try:
        found = _BASE_TIME.search(_end(path))
    except READ_ERRORS as error:
        raise_if_of_environment(error)
        return None
    return int(found.group(1)) if found else None


def _end(path: Path) -> bytes:
    """Return the last bytes of a packed file, which is unpacked for this up to the limit for traces."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        end, left = b"", unpacked_limit(size)
        with gzip.GzipFile(fileobj=file) as unpacked:
            while left > 0 and (block := unpacked.read(_BLOCK)):
                end, left = (end + block)[-_TAIL:], left - len(block)
        return end


def _has_dates(events: TraceEvents) -> bool:
    """Whether times count from the epoch: they lie in this century."""
    times = events.ts[known(events.ts)]
    return bool(len(times)) and int(times.max()) > _THIS_CENTURY


def _add_base(events: TraceEvents, base: int) -> TraceEvents:
    """Add the base to all times, and hide the event that ends the window."""
    ends = [code for code, name in enumerate(events.names) if name == kineto.WINDOW_END]
    if ends:
        phase = events.phase.copy()
        phase[np.isin(events.name, ends)] = _NOT_DRAWN
        events = dataclasses.replace(events, phase=phase)
    if not base:
        return events
    return dataclasses.replace(events, ts=np.where(events.ts == NULL_INT, NULL_INT, events.ts + base))
