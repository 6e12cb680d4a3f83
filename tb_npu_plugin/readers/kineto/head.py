"""How a trace was recorded, from what stands before its events; and its events with times since the epoch."""

from __future__ import annotations

import dataclasses
import gzip
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.discovery.identity import MAX_RANK
from tb_npu_plugin.discovery.kineto_head import kineto_head
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import READ_ERRORS
from tb_npu_plugin.scan import MEMORY, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.scan.source import unpacked_limit
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import NULL_INT, known

#: Some versions write it behind the events: then it is looked for in so many last bytes.
_TAIL = 1 << 14
#: Phase of what names processes and threads: it is not drawn.
_NOT_DRAWN = ord("M")
#: ns since the epoch that nothing was recorded at: in the year 2200.
_NO_MOMENT = 7_258_118_400_000_000_000
#: ns since the epoch: in 2001, before all that was recorded.
_THIS_CENTURY = 10**18
_BLOCK = 1 << 20
_BASE_TIME = re.compile(rb'"' + kineto.BASE_TIME.encode() + rb'"\s*:\s*(\d{1,30})\s*[,}]')


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Settings of the one file of the span."""
    head = _head(folder / files[0]) if files else {}
    distributed = _object(head.get(kineto.DISTRIBUTED))
    groups = {
        str(group[kineto.GROUP_NAME]): {
            "group_name": str(group.get(kineto.GROUP_DESCRIPTION, "")),
            "global_ranks": group.get(kineto.GROUP_RANKS),
        }
        for group in _objects(distributed.get(kineto.GROUPS))
        if kineto.GROUP_NAME in group
    }
    rank = distributed.get(kineto.RANK)
    known = isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < MAX_RANK
    return Capture(
        rank=rank if known else None,
        rank_source=kineto.DISTRIBUTED if known else "",
        host=str(head[kineto.HOST_NAME]) if head.get(kineto.HOST_NAME) else None,
        # what is off is not mentioned in some versions: then nobody knows
        switches={name: bool(head[name]) for name in kineto.SWITCHES if name in head},
        versions=_versions(head, distributed),
        device_name=_device_name(head),
        groups=groups,
        distributed_args={kineto.WORLD_SIZE: distributed[kineto.WORLD_SIZE]}
        if kineto.WORLD_SIZE in distributed
        else {},
    )


def _head(path: Path) -> Mapping[str, Any]:
    try:
        status = path.stat()
    except OSError:
        return {}  # the reading of its events reports it
    return kineto_head(str(path), status.st_size, status.st_mtime_ns) or {}


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
    """ "12.4" of 12040; the figure itself where it is too small to be made of such numbers."""
    if version < places[0]:
        return str(version)
    numbers = []
    for place in places:
        number, version = divmod(version, place)
        numbers.append(str(number))
    return ".".join(numbers)


def _device_name(head: Mapping[str, Any]) -> str | None:
    """The GPUs that the process saw, each name once."""
    names = [
        str(device[kineto.DEVICE_NAME]) for device in _objects(head.get(kineto.DEVICES)) if kineto.DEVICE_NAME in device
    ]
    return ", ".join(dict.fromkeys(names)) or None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def scan_kineto(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """scan.scan_trace, times counted from the epoch."""
    report, is_packed = FileReport(log, path.name), path.name.endswith(".gz")
    stated = _head(path).get(kineto.BASE_TIME)
    base = _moment(_stated_behind(path) if stated is None and not is_packed else stated, report)
    peek = into.peek
    if peek is not None:
        into = dataclasses.replace(into, peek=lambda events: peek(_timed(events, base)))
    events = scan_trace(path, log, progress, into)
    if stated is None and is_packed and not _has_dates(events):  # to look there, all of it must be unpacked again
        base = _moment(_stated_behind(path), report)
    return _timed(events, base)


def _moment(stated: Any, report: FileReport) -> int:
    """ns since the epoch that times count from; 0 where the file does not tell: then they are absolute. What no moment
    can be is a problem."""
    if type(stated) is int and 0 <= stated < _NO_MOMENT:
        return stated
    if stated is not None:
        report.add("bad_base_time", kineto.BASE_TIME, found=str(stated))
    return 0


def _stated_behind(path: Path) -> int | None:
    """The base that stands behind the events; None without one, and where the file cannot be read: the reading of its
    events says why."""
    try:
        found = _BASE_TIME.search(_end(path))
    except READ_ERRORS:
        return None
    return int(found.group(1)) if found else None


def _end(path: Path) -> bytes:
    """The last bytes of a file. One that is packed is read whole, and no further than any trace unpacks to."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not path.name.endswith(".gz"):
            file.seek(max(0, size - _TAIL))
            return file.read()
        file.seek(0)
        end, left = b"", unpacked_limit(size)
        with gzip.GzipFile(fileobj=file) as unpacked:
            while left > 0 and (block := unpacked.read(_BLOCK)):
                end, left = (end + block)[-_TAIL:], left - len(block)
        return end


def _has_dates(events: TraceEvents) -> bool:
    """Times are of a day of this century: they count from the epoch."""
    times = events.ts[known(events.ts)]
    return bool(len(times)) and int(times.max()) > _THIS_CENTURY


def _timed(events: TraceEvents, base: int) -> TraceEvents:
    """Times since the epoch, and no end of the window."""
    ends = [code for code, name in enumerate(events.names) if name == kineto.WINDOW_END]
    if ends:
        phase = events.phase.copy()
        phase[np.isin(events.name, ends)] = _NOT_DRAWN
        events = dataclasses.replace(events, phase=phase)
    if not base:
        return events
    return dataclasses.replace(events, ts=np.where(events.ts == NULL_INT, NULL_INT, events.ts + base))
