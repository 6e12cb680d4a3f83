"""Processes and threads of a trace: their names and display order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile, read_object
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.store.timeline.contract import TrackKind
from tb_npu_plugin.store.timeline.files import compact
from tb_npu_plugin.units import scale_decimal

Index = NDArray[np.int64]
#: Maximum number of (process, thread) pairs for a lookup table of all pairs.
_MAX_DENSE = 1 << 22
_LAST = float("inf")


#: All kinds of tracks in the order of an answer.
KINDS: tuple[TrackKind, ...] = ("kernels", "communication", "host", "cann", "overlap")
_KIND_OF_PROCESS: Mapping[str, TrackKind] = {
    trace_events.HARDWARE: "kernels",
    trace_events.COMMUNICATION: "communication",
    trace_events.OLD_COMMUNICATION: "communication",
    trace_events.CANN: "cann",
    trace_events.OVERLAP: "overlap",
}
#: Labels of the processes of a device, also of GPUs.
_DEVICES = ("NPU", "GPU")


def kind_of(track: Mapping[str, Any]) -> TrackKind:
    """What the slices of a track are. track: of meta.json."""
    is_device = str(track["label"]).startswith(_DEVICES)
    return _KIND_OF_PROCESS.get(track["process"], "kernels" if is_device else "host")


@dataclass
class Metadata:
    """Name, label and sort index of a process or thread, from metadata events."""

    name: str = ""
    label: str = ""
    sort: float = _LAST


@dataclass
class Names:
    """Metadata of a trace by interned pid, and by (pid, tid). events: rows of the events that hold them."""

    processes: dict[int, Metadata] = field(default_factory=dict)
    threads: dict[tuple[int, int], Metadata] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)

    def process(self, pid: int) -> Metadata:
        """Metadata of a process, added if missing."""
        return self.processes.setdefault(pid, Metadata())

    def thread(self, pid: int, tid: int) -> Metadata:
        """Metadata of a thread, added if missing."""
        return self.threads.setdefault((pid, tid), Metadata())


def read_names(events: TraceEvents, args: ArgsFile | None, file: str, log: ProblemLog) -> Names:
    """Read all metadata events; report those without their value and those that no view shows."""
    out = Names()
    rows = events.of_phase("M")
    if args is None:  # the file cannot be opened again, which is reported
        log.seen.add(file, "events", told=len(rows))
        return out
    unused: dict[str, list[int]] = {}  # name -> events
    for row, data in zip(rows.tolist(), args.each(events.args_offset[rows], events.args_length[rows])):
        kind = events.names[events.name[row]] if events.name[row] >= 0 else ""
        key = _KEYS.get(kind)
        value = read_object(data)
        if kind and key is None:
            unused.setdefault(kind, []).append(row)
            continue
        report = FileReport(log, events.file_of(row, file), file)
        if key is None or value is None or key not in value:
            expected = f'"name", "args": {{"{key or "name"}": ...}}'
            report.leave_out("events", "unexpected_shape", f"event {row}", expected=expected, found=kind)
            continue
        out.events.append(row)
        pid, tid = int(events.pid[row]), int(events.tid[row])
        if pid < 0 or (tid < 0 and kind in _OF_THREADS):
            report.add("no_thread_id", f"event {row}", found=kind)
        if kind == trace.PROCESS_NAME[0]:
            out.process(pid).name = str(value.get(key, ""))
        elif kind == trace.PROCESS_LABELS[0]:
            out.process(pid).label = str(value.get(key, ""))
        elif kind == trace.PROCESS_SORT_INDEX[0]:
            out.process(pid).sort = _sort_index(value.get(key))
        elif kind == trace.THREAD_NAME[0]:
            out.thread(pid, tid).name = str(value.get(key, ""))
        else:
            out.thread(pid, tid).sort = _sort_index(value.get(key))
    if unused:
        first, count = min(map(min, unused.values())), sum(map(len, unused.values()))
        report = FileReport(log, events.file_of(first, file), file)
        report.leave_out("events", "unused_metadata", f"event {first}", found=", ".join(unused), count=count)
    return out


#: Name of a metadata event -> key of its value.
_OF_THREADS = (trace.THREAD_NAME[0], trace.THREAD_SORT_INDEX[0])
_KEYS = dict(
    (trace.PROCESS_NAME, trace.PROCESS_LABELS, trace.PROCESS_SORT_INDEX, trace.THREAD_NAME, trace.THREAD_SORT_INDEX)
)


def _sort_index(value: Any) -> float:
    number = scale_decimal(str(value), 1)
    return _LAST if number is None else number


@dataclass(frozen=True)
class Track:
    """A track without a number. kind "slices": (pid, tid); kind "counter": (pid, counter name)."""

    kind: str
    pid: int
    tid: int
    name: str


def order_tracks(
    tracks: Iterable[Track], names: Names, pids: Sequence[str], tids: Sequence[str]
) -> list[tuple[Track, dict[str, Any]]]:
    """Tracks in display order, each with its fields for the view. Empty processes have no track."""
    listed = list(tracks)
    busy = {track.pid for track in listed if track.kind == "slices"}

    def key(track: Track) -> tuple[Any, ...]:
        process = names.processes.get(track.pid, Metadata())
        thread = names.threads.get((track.pid, track.tid), Metadata())
        tid = _text(tids, track.tid)
        return (
            _process_order(process.name, track.pid in busy),
            process.sort,
            _natural_key(_text(pids, track.pid)),
            track.kind == "counter",
            thread.sort,
            _natural_key(tid),
            track.name,
        )

    return [(track, _view_fields(track, names, pids, tids)) for track in sorted(listed, key=key)]


def _view_fields(track: Track, names: Names, pids: Sequence[str], tids: Sequence[str]) -> dict[str, Any]:
    process = names.processes.get(track.pid, Metadata())
    pid, tid = _text(pids, track.pid), _text(tids, track.tid)
    named = names.threads.get((track.pid, track.tid), Metadata()).name
    return {
        "process": process.name or f"pid {pid}",
        "pid": pid,
        "label": process.label,
        "name": track.name if track.kind == "counter" else named or f"tid {tid}",
        "tid": "" if track.kind == "counter" else tid,
        "kind": track.kind,
    }


def _process_order(process: str, busy: bool) -> int:
    for index, spellings in enumerate(trace.PROCESS_ORDER):
        if process in spellings:
            return index
    return len(trace.PROCESS_ORDER) + (0 if busy else 1)


def _natural_key(text: str) -> tuple[int, int, str]:
    """Sort key: integers of any length by value, before other texts."""
    digits = text.lstrip("0")
    return (0, len(digits), digits) if text.isascii() and text.isdigit() else (1, 0, text)


def _text(texts: Sequence[str], code: int) -> str:
    return texts[code] if code >= 0 else ""


def track_keys(events: TraceEvents, rows: Index) -> Index:
    """Track key of each of these events: (pid + 1) * (len(tids) + 1) + tid + 1."""
    return np.asarray((events.pid[rows].astype(np.int64) + 1) * (len(events.tids) + 1) + events.tid[rows] + 1)


def distinct_tracks(events: TraceEvents, rows: Index) -> tuple[Index, Index]:
    """(distinct track keys, ascending; index of the key of each event among them)."""
    keys = track_keys(events, rows)
    most = (len(events.pids) + 1) * (len(events.tids) + 1)
    found = compact(keys, most) if most <= _MAX_DENSE else np.unique(keys, return_inverse=True)
    return found[0], np.asarray(found[1])


def track_of_key(events: TraceEvents, key: int) -> Track:
    """The slice track of a track key."""
    pid, tid = divmod(key, len(events.tids) + 1)
    return Track("slices", pid - 1, tid - 1, "")
