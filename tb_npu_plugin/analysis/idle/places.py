"""Names the operator and the Python frame behind intervals of idle time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.model import Cause, DeviceIdle, code_of
from tb_npu_plugin.schema import trace
from tb_npu_plugin.tables import IntArray

#: Causes whose host slice has the operator; for others it is the operator that launched the next task.
_BY_ANCHOR: tuple[Cause, ...] = ("garbage_collection", "data_loading", "synchronization")
#: Names of functions without a source file, and of modules, begin with one of these.
_NO_FILE = ("<built-in", "nn.Module: ")


@dataclass(frozen=True)
class Places:
    """Slices behind intervals; -1 if unknown.

    Attributes:
        operator: Innermost operator of the framework.
        frame: Innermost Python function with a source file; needs `with_stack=True`.
    """

    operator: IntArray
    frame: IntArray


def places_of(idle: DeviceIdle, timeline: Any, rows: Optional[IntArray] = None) -> Places:
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
    return Places(
        _nearest(timeline, site, timeline.category_code(trace.CPU_OP), lambda slices: np.ones(len(slices), dtype=bool)),
        _nearest(
            timeline, site, timeline.category_code(trace.PYTHON_FUNCTION), lambda slices: _have_file(timeline, slices)
        ),
    )


def _have_file(timeline: Any, slices: IntArray) -> NDArray[np.bool_]:
    """Whether the name of each slice is that of a function with a source file."""
    codes, places = np.unique(timeline.name[slices], return_inverse=True)
    known = [not name.startswith(_NO_FILE) for name in timeline.names.take(codes)]
    return np.array(known, dtype=bool)[places]


def _launching_operators(timeline: Any, tasks: IntArray) -> IntArray:
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


def _enclosing(timeline: Any, slices: IntArray) -> IntArray:
    """Deepest slice of the program on the thread of each slice when it starts; -1 without one."""
    rows, tracks = timeline.rows, timeline.tracks
    programs = {tracks[n]["tid"]: n for n in timeline.tracks_of("slices") if tracks[n]["process"] in trace.PROGRAM}
    of_track = np.array([programs.get(track["tid"], -1) for track in tracks], dtype=np.int64)
    track = of_track[rows.track_of_row(rows.row_of(slices))]
    return np.asarray(rows.find(track, rows.start[slices], np.ones(len(slices), dtype=bool)))


def _nearest(
    timeline: Any, slices: IntArray, category: int, accepts: Callable[[IntArray], NDArray[np.bool_]]
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
