"""Cuts gaps into intervals with one cause each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.data_pipeline import LOADER_NAMES
from tb_npu_plugin.analysis.idle.model import BEFORE, LATE, UNKNOWN_LAUNCH, Cause, Gaps, Parts, code_of
from tb_npu_plugin.intervals import Intervals, overlap, subtract
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema import trace_events as words
from tb_npu_plugin.tables import IntArray

#: Shorter gaps of tasks that were launched in time are launch overhead, ns.
LAUNCH_OVERHEAD_NS = 20_000
#: Names of host slices by cause. CANN calls have their level before an "@". The operators of the last entry count only
#: where no CANN calls are recorded: they also wait for the task queue, whose thread may still compile or launch.
_HOST_NAMES: tuple[tuple[Cause, str], ...] = (
    ("data_loading", rf"{re.escape(LOADER_NAMES[0])}.*|{LOADER_NAMES[1]}"),
    (
        "allocator",
        r"(?:\w+@)?(?:aclrt(?:Malloc|Free|MapMem|UnmapMem|ReserveMemAddress|ReleaseMemAddress)\w*"
        r"|(?:rt|cuda|hip)(?:Malloc|Free)\w*)",
    ),
    ("compile", r"(?:\w+@)?(?:aclopCompile\w*|opCompile\w*)"),
    ("synchronization", r"(?:\w+@)?(?:aclrtSynchronize\w*|(?:rt|cuda|hip)\w+Synchronize\w*|(?:aclrt|cuda|hip)Memcpy)"),
    ("synchronization", r"aten::(?:item|_local_scalar_dense)"),
)
#: Each of these names contains one of these words. Traces have millions of names: only those with a word are decoded.
#: Separate patterns that begin with plain letters are found faster than alternatives.
_HOST_WORDS = tuple(
    re.compile(word)
    for word in (
        rb"ata[Ll]oader",
        rb"rt[A-Z]",
        rb"cuda[MF]",
        rb"hip[MF]",
        rb"Synchronize",
        rb"opCompile",
        rb"aten::(?:item|_local_scalar_dense)",
    )
)
_DEVICE_SIDE = (words.OVERLAP, words.HARDWARE, words.OLD_COMMUNICATION, words.COMMUNICATION)
_COMMUNICATION = (words.OLD_COMMUNICATION, words.COMMUNICATION)
#: Causes on the host, by priority: they count while the next task is not launched, those of _ALWAYS in each gap.
_HOST_CAUSES: tuple[Cause, ...] = (
    "garbage_collection",
    "data_loading",
    "communication",
    "allocator",
    "compile",
    "synchronization",
)
#: An operator that is compiled holds back what is launched behind it.
_ALWAYS: tuple[Cause, ...] = ("communication", "compile")


@dataclass(frozen=True)
class Cover:
    """Union of some slices. anchor: the slice that opens each interval, the outermost of nested ones."""

    times: Intervals
    anchor: IntArray


def covers(timeline: Timeline, tracks: Sequence[int], gaps: Gaps) -> dict[Cause, Cover]:
    """What covers the gaps, by cause. tracks: of the device; those of the host are added."""
    found = _host_slices(timeline)
    communication = [track for track in tracks if timeline.tracks[track]["process"] in _COMMUNICATION]
    found["communication"] += [slices_in(timeline, track, gaps.start, gaps.end) for track in communication]
    return {cause: _cover(timeline, ids) for cause, ids in found.items()}


def host_slices(timeline: Timeline, cause: Cause) -> IntArray:
    """Slices of the host that show a cause, by start on each track."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *_host_slices(timeline)[cause]])


def _host_slices(timeline: Timeline) -> dict[Cause, list[IntArray]]:
    host = [n for n in timeline.tracks_of("slices") if timeline.tracks[n]["process"] not in _DEVICE_SIDE]
    codes = _codes_of_names(timeline)
    has_calls = any(timeline.tracks[track]["process"] == words.CANN for track in host)
    used = len(_HOST_NAMES) - has_calls
    found: dict[Cause, list[IntArray]] = {cause: [] for cause in _HOST_CAUSES}
    for track in host:
        low, high = _bounds(timeline, track)
        if timeline.tracks[track]["process"] == words.PYTHON_GC:
            found["garbage_collection"].append(np.arange(low, high))
            continue
        of_slice = codes[timeline.name[low:high]]
        named = np.flatnonzero(of_slice)
        for number, (cause, _) in enumerate(_HOST_NAMES[:used], 1):
            found[cause].append(low + named[of_slice[named] == number])
    return found


def _codes_of_names(timeline: Timeline) -> NDArray[np.int8]:
    """For each name of the timeline: 0, or 1 + its place in _HOST_NAMES."""
    pattern = re.compile("|".join(f"({names})" for _, names in _HOST_NAMES))
    out = np.zeros(len(timeline.names), dtype=np.int8)
    candidates = timeline.names.with_match(_HOST_WORDS)
    for place, name in zip(candidates.tolist(), timeline.names.take(candidates)):
        match = pattern.fullmatch(name)
        out[place] = 0 if match is None else match.lastindex or 0
    return out


def _bounds(timeline: Timeline, track: int) -> tuple[int, int]:
    rows = timeline.rows
    return int(rows.first[rows.track_row[track]]), int(rows.first[rows.track_row[track + 1]])


def slices_in(timeline: Timeline, track: int, start: IntArray, end: IntArray) -> IntArray:
    """Slices of a track that overlap intervals; the intervals are sorted and disjoint."""
    rows, out = timeline.rows, []
    for row in range(int(rows.track_row[track]), int(rows.track_row[track + 1])):
        first, last = rows.bounds(row)
        starts = rows.start[first:last]
        ends = starts + rows.dur[first:last]
        low, high = ends.searchsorted(start, "right"), starts.searchsorted(end, "left")
        counts = np.maximum(high - low, 0)
        ids = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)
        out.append(first + ids[np.diff(ids, prepend=-1) > 0])  # a slice may overlap several intervals
    return np.concatenate(out) if out else np.zeros(0, dtype=np.int64)


def _cover(timeline: Timeline, ids: Sequence[IntArray]) -> Cover:
    chosen = np.concatenate([np.zeros(0, dtype=np.int64), *ids])
    start = timeline.rows.start[chosen]
    end = start + timeline.rows.dur[chosen]
    order = np.lexsort((-end, start))
    order = order[end[order] > start[order]]
    start, reach, chosen = start[order], np.maximum.accumulate(end[order]), chosen[order]
    opens = np.concatenate([[True], start[1:] > reach[:-1]])[: len(start)]
    closes = np.concatenate([opens[1:], [True]])[: len(start)]
    return Cover(Intervals(start[opens], reach[closes]), chosen[opens])


class _Cutter:
    """Cuts gaps piece by piece: what is taken is gone."""

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps
        self._parts: list[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]] = []

    def cut(self, left: Intervals, cover: Cover, cause: Cause) -> Intervals:
        """Give the covered part of `left` this cause; returns the rest."""
        if not len(left.start) or not len(cover.times.start):
            return left
        taken = overlap(left, cover.times)
        place = np.searchsorted(cover.times.start, taken.start, side="right") - 1
        self._add(taken, cause, cover.anchor[place])
        return subtract(left, cover.times)

    def rest(self, left: Intervals, cause: Cause) -> None:
        """Give all of `left` this cause; the launch of the next task shows it."""
        self._add(left, cause, None)

    def _add(self, taken: Intervals, cause: Cause, anchor: Optional[IntArray]) -> None:
        gap = np.searchsorted(self._gaps.start, taken.start, side="right") - 1
        found = self._gaps.call[gap] if anchor is None else anchor
        self._parts.append((taken.start, taken.end, gap, np.full(len(gap), code_of(cause)), found))

    def parts(self) -> Parts:
        """All parts, sorted."""
        start, end, gap, cause, anchor = (np.concatenate(columns) for columns in zip(*self._parts))
        order = np.argsort(start, kind="stable")
        return Parts(start[order], end[order], gap[order], cause[order].astype(np.int8), anchor[order])


def cut(timeline: Timeline, tracks: Sequence[int], gaps: Gaps, track_of_task: IntArray) -> Parts:
    """The parts of all gaps.

    While the next task is not launched, what the host does counts (`_HOST_CAUSES`), and the rest is "host_late". From
    its launch on, the tasks before it on its stream count (copies, waits for events): "dependency".

    Args:
        tracks: Tracks of the device.
        track_of_task: By gap: track of the next task, -1 if unknown.
    """
    found, cutter = covers(timeline, tracks, gaps), _Cutter(gaps)
    waits = _waits(timeline, gaps, track_of_task)
    for launch in (LATE, UNKNOWN_LAUNCH, BEFORE):
        left = _where(gaps, gaps.launch == launch)
        for cause in _HOST_CAUSES if launch != BEFORE else _ALWAYS:
            left = cutter.cut(left, found[cause], cause)
        if launch != UNKNOWN_LAUNCH:
            left = cutter.cut(left, waits, "dependency")
        if launch == LATE:
            cutter.rest(left, "host_late")
            continue
        gap = np.searchsorted(gaps.start, left.start, side="right") - 1
        short = (gaps.end - gaps.start)[gap] < LAUNCH_OVERHEAD_NS
        cutter.rest(Intervals(left.start[short], left.end[short]), "launch_overhead")
        cutter.rest(Intervals(left.start[~short], left.end[~short]), "unknown")
    return cutter.parts()


def _where(gaps: Gaps, chosen: NDArray[np.bool_]) -> Intervals:
    return Intervals(gaps.start[chosen], gaps.end[chosen])


def _waits(timeline: Timeline, gaps: Gaps, track_of_task: IntArray) -> Cover:
    """Tasks on the stream of the next task, from its launch on. A gap has no kernels, so these are copies, events and
    waits."""
    start = np.where(gaps.launch == LATE, np.maximum(gaps.launched, gaps.start), gaps.start)
    starts, ends, anchors = [], [], []
    for track in np.flatnonzero(np.bincount(track_of_task + 1)[1:]).tolist():
        if timeline.tracks[track]["process"] != words.HARDWARE:
            continue
        own = np.flatnonzero((track_of_task == track) & (start < gaps.end))
        cover = _cover(timeline, [slices_in(timeline, track, start[own], gaps.end[own])])
        inside = overlap(cover.times, Intervals(start[own], gaps.end[own]))
        starts.append(inside.start)
        ends.append(inside.end)
        anchors.append(cover.anchor[np.searchsorted(cover.times.start, inside.start, side="right") - 1])
    start, end, anchor = (np.concatenate([np.zeros(0, dtype=np.int64), *one]) for one in (starts, ends, anchors))
    order = np.argsort(start, kind="stable")
    return Cover(Intervals(start[order], end[order]), anchor[order])
