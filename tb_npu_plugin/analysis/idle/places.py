"""Names the operator and the Python frame behind intervals of idle time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.model import Cause, DeviceIdle, code_of
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema import trace
from tb_npu_plugin.tables import IntArray

#: Causes whose host slice has the operator; for others it is the operator that launched the next task.
_BY_ANCHOR: tuple[Cause, ...] = ("garbage_collection", "data_loading", "synchronization")
#: What fills the time before a late launch covers at least this share of it, and lasts at most this many times as long: a
#: longer one, such as the training loop, contains it.
_FILLS, _CONTAINS = 0.5, 4
#: Names of functions without a source file, and of modules, begin with one of these.
_NO_FILE = ("<built-in", "nn.Module: ")
#: Files of PyTorch.
_LIBRARY = ("torch/", "torch_npu/", "<frozen ")


@dataclass(frozen=True)
class Places:
    """Slices behind intervals; -1 if unknown.

    Attributes:
        filler: What the launching thread did for most of the time before a late launch; -1 if nothing alone fills it.
        operator: Innermost operator of the framework: around the filler, else the one that launched the next task.
        frame: Innermost Python function with a source file; needs `with_stack=True`.
    """

    filler: IntArray
    operator: IntArray
    frame: IntArray


def places_of(idle: DeviceIdle, timeline: Timeline, rows: Optional[IntArray] = None) -> Places:
    """Operator and frame of each part, or of these parts."""
    parts = idle.parts
    rows = np.arange(len(parts.start)) if rows is None else rows
    gap, cause = parts.gap[rows], parts.cause[rows]
    by_anchor = np.isin(cause, [code_of(one) for one in _BY_ANCHOR])
    call = np.where(by_anchor, parts.anchor[rows], idle.gaps.call[gap])
    site = np.where(by_anchor, -1, _launching_operators(timeline, idle.gaps.task[gap]))
    missing = np.flatnonzero((site < 0) & (call >= 0))
    enclosing = _enclosing(timeline, call[missing])
    site[missing] = np.where(enclosing >= 0, enclosing, call[missing])
    late = np.flatnonzero((cause == code_of("host_late")) & (site >= 0))
    filler = np.full(len(rows), -1, dtype=np.int64)
    filler[late] = _fillers(timeline, site[late], parts.start[rows[late]])
    site = np.where(filler >= 0, filler, site)
    return Places(filler, *_around(timeline, site))


def operators_and_frames(timeline: Timeline, calls: IntArray) -> tuple[IntArray, IntArray]:
    """Innermost operator and Python function with a source file around each call of CANN or the runtime; -1 if unknown. A
    function outside PyTorch comes first."""
    enclosing = _enclosing(timeline, calls)
    return _own_code(timeline, np.where(enclosing >= 0, enclosing, calls))


def launching_places(timeline: Timeline, tasks: IntArray) -> tuple[IntArray, IntArray]:
    """The same of the launch of each task of the device."""
    return _own_code(timeline, _launching_operators(timeline, tasks))


def _own_code(timeline: Timeline, site: IntArray) -> tuple[IntArray, IntArray]:
    operator, frame = _around(timeline, site)
    python = timeline.category_code(trace.PYTHON_FUNCTION)
    own = _nearest(timeline, site, python, lambda slices: _are_named(timeline, slices, (*_NO_FILE, *_LIBRARY)))
    return operator, np.where(own >= 0, own, frame)


def _around(timeline: Timeline, slices: IntArray) -> tuple[IntArray, IntArray]:
    operator, python = timeline.category_code(trace.CPU_OP), timeline.category_code(trace.PYTHON_FUNCTION)
    return (
        _nearest(timeline, slices, operator, lambda own: _are_named(timeline, own, (trace.STEP_MARK,))),
        _nearest(timeline, slices, python, lambda own: _are_named(timeline, own, _NO_FILE)),
    )


def _fillers(timeline: Timeline, site: IntArray, start: IntArray) -> IntArray:
    """The slice that fills the time from `start` to the start of each slice `site`, on its thread; -1 if none does."""
    rows = timeline.rows
    end = rows.start[site]
    track = rows.track_of_row(rows.row_of(site))
    out = np.asarray(rows.find(track, start + (end - start) // 2, np.ones(len(site), dtype=bool))).copy()
    out[end <= start] = -1
    climbing: IntArray = np.flatnonzero(out >= 0)
    while len(climbing):
        own = out[climbing]
        begin, stop = rows.start[own], rows.start[own] + rows.dur[own]
        covered = np.minimum(stop, end[climbing]) - np.maximum(begin, start[climbing])
        climbing = climbing[covered < _FILLS * (end - start)[climbing]]
        out[climbing] = timeline.parent[out[climbing]]
        climbing = climbing[out[climbing] >= 0]
    is_longer = (out >= 0) & (rows.dur[out] > _CONTAINS * (end - start))
    return np.where(is_longer, -1, out)


def _are_named(timeline: Timeline, slices: IntArray, others: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether the name of each slice begins with none of `others`."""
    codes, places = np.unique(timeline.name[slices], return_inverse=True)
    known = [not name.startswith(others) for name in timeline.names.take(codes)]
    return np.array(known, dtype=bool)[places]


def _launching_operators(timeline: Timeline, tasks: IntArray) -> IntArray:
    """Operator that launched each task, by the recorded flows; -1 if unknown."""
    out = np.full(len(tasks), -1, dtype=np.int64)
    for kind in (trace.ASYNC_NPU, trace.ASYNC_MINDSPORE):
        source, target = timeline.flow_pairs(kind)
        if not len(target):
            continue
        order = np.argsort(target, kind="stable")
        target, source = target[order], source[order]
        at = np.minimum(np.searchsorted(target, tasks), len(target) - 1)
        out = np.where((tasks >= 0) & (target[at] == tasks), source[at], out)
    return out


def _enclosing(timeline: Timeline, slices: IntArray) -> IntArray:
    """Deepest slice of the program on the thread of each slice when it starts; -1 without one."""
    rows, tracks = timeline.rows, timeline.tracks
    programs = {tracks[n]["tid"]: n for n in timeline.tracks_of("slices") if tracks[n]["process"] in trace.PROGRAM}
    of_track = np.array([programs.get(track["tid"], -1) for track in tracks], dtype=np.int64)
    track = of_track[rows.track_of_row(rows.row_of(slices))]
    return np.asarray(rows.find(track, rows.start[slices], np.ones(len(slices), dtype=bool)))


def _nearest(
    timeline: Timeline, slices: IntArray, category: int, accepts: Callable[[IntArray], NDArray[np.bool_]]
) -> IntArray:
    """Nearest accepted slice of a category among each slice and its callers; -1 without one."""
    out = slices.copy()
    climbing: NDArray[np.int64] = np.flatnonzero(out >= 0)
    while len(climbing):
        goes_on = timeline.category[out[climbing]] != category
        own = np.flatnonzero(~goes_on)
        goes_on[own] = ~accepts(out[climbing[own]])
        climbing = climbing[goes_on]
        out[climbing] = timeline.parent[out[climbing]]
        climbing = climbing[out[climbing] >= 0]
    return out
