"""Waits inside kernels that compute and communicate (MC2, MoE dispatch and combine): their time counts as computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import is_fused
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.intervals import Intervals
from tb_npu_plugin.tables import IntArray, Table, known

#: All ranks end such a kernel together: their ends differ by less than this share of the range of their durations.
_MOST_SPREAD = 0.1
#: Share of the calls with different durations that must end together. Otherwise the ranks do not wait for each other.
_LEAST_TOGETHER = 0.9
#: Fewer calls cannot show whether the ranks end together, since their clocks are compared by the same calls.
_LEAST_CALLS = 3
#: Shorter waits are noise.
_LEAST_WAIT_NS = 50_000


@dataclass(frozen=True)
class FusedWaits:
    """Waits of a line inside its kernels, ns since the epoch by its own clock. They do not overlap, and nothing else computes.

    Attributes:
        start, end: The wait.
        owner: Index of the awaited line.
        step: Step of each wait.
        kernel: Type of the kernel.
        computing: Computing time of the line without these waits.
    """

    start: IntArray
    end: IntArray
    owner: IntArray
    step: Sequence[Optional[str]]
    kernel: Sequence[Optional[str]]
    computing: Intervals


@dataclass(frozen=True)
class RunFusedWaits:
    """Waits inside kernels, and what they show of the clocks.

    Attributes:
        of_line: By index of the line; a line without waits is absent.
        unmatched: By index of the line: step -> time of the kernels whose waits are unknown, ns.
        ends: (line, other line) -> end of each call on the other one minus that on the first one, ns.
    """

    of_line: dict[int, FusedWaits]
    unmatched: dict[int, dict[Optional[str], int]]
    ends: dict[tuple[int, int], list[int]]


class _Calls(NamedTuple):
    """Calls of the fused kernels of one type and step on one line. rows: of the line's computing kernels, by start."""

    line: int
    rows: IntArray


def fused_waits_of(lines: Sequence[RankDevice], is_whole: bool) -> RunFusedWaits:
    """Waits of all lines. is_whole: all ranks of the job were profiled; others may be awaited by all.

    The last rank to start such a kernel runs it for the shortest time, and all ranks end it together. So each rank waits for as
    long as its call exceeds the shortest one. Calls of the same type, step and order are compared within a pipeline stage, if
    their shapes are known and equal.
    """
    kernels = [_computing(line) for line in lines]
    by_stage: dict[Optional[int], list[int]] = {}
    for at, table in enumerate(kernels):
        if table is not None and is_fused(table).any():
            by_stage.setdefault(pipeline_stage(lines[at].span.capture), []).append(at)
    waits: dict[int, list[tuple[int, int, int]]] = {}
    ends: dict[tuple[int, int], list[int]] = {}
    unmatched = {at: _fused_times(kernels[at]) for members in by_stage.values() for at in members}
    for members in by_stage.values():
        for calls in _matched(kernels, members):
            found = _waits(kernels, calls)
            if found is None:
                continue
            for one in calls if is_whole else ():
                step = _table(kernels, one).text("step")[int(one.rows[0])]
                unmatched[one.line][step] -= int(_table(kernels, one).ints("dur_ns")[one.rows].sum())
            for line, row, wait, owner in found:
                waits.setdefault(line, []).append((row, wait, owner))
            first = calls[0]
            for other in calls[1:] if found else ():
                ends.setdefault((first.line, other.line), []).extend(
                    (_ends(kernels, other) - _ends(kernels, first)).tolist()
                )
    exposed = {line: _exposed(kernels[line], found) for line, found in sorted(waits.items())}
    return RunFusedWaits(exposed, unmatched, ends)


def _fused_times(kernels: Optional[Table]) -> dict[Optional[str], int]:
    """Step -> time of all fused kernels, ns."""
    assert kernels is not None
    rows = np.flatnonzero(is_fused(kernels))
    out: dict[Optional[str], int] = {}
    for step, time in zip(kernels.text("step").take(rows).tolist(), kernels.ints("dur_ns")[rows].tolist()):
        out[step] = out.get(step, 0) + time
    return out


def _computing(line: RankDevice) -> Optional[Table]:
    """Computing kernels of a line whose times are known, by start; None without kernels or of several devices."""
    kernels = line.kernels()
    if kernels is None or (line.device_id is None and not line.steps):
        return None
    rows = known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns"))
    kernels = kernels.take(rows & is_computing(kernels))
    return kernels.take(np.argsort(kernels.ints("start_ns"), kind="stable"))


def _matched(kernels: Sequence[Optional[Table]], members: Sequence[int]) -> list[list[_Calls]]:
    """The calls of each type and step that all members make equally often and with equal shapes."""
    found: dict[tuple[Optional[str], Optional[str]], list[_Calls]] = {}
    for at in members:
        table = kernels[at]
        assert table is not None
        rows = np.flatnonzero(is_fused(table) & (table.text("input_shapes").codes >= 0))
        types, steps = table.text("type").take(rows), table.text("step").take(rows)
        for own in Groups([types, steps], len(rows)).rows():
            found.setdefault((types[int(own[0])], steps[int(own[0])]), []).append(_Calls(at, rows[own]))
    return [calls for calls in found.values() if len(calls) > 1 and _are_equal(kernels, calls)]


def _are_equal(kernels: Sequence[Optional[Table]], calls: Sequence[_Calls]) -> bool:
    shapes = {tuple(_table(kernels, one).text("input_shapes").take(one.rows).tolist()) for one in calls}
    return len(shapes) == 1


def _table(kernels: Sequence[Optional[Table]], calls: _Calls) -> Table:
    table = kernels[calls.line]
    assert table is not None
    return table


def _ends(kernels: Sequence[Optional[Table]], calls: _Calls) -> IntArray:
    table = _table(kernels, calls)
    return np.asarray(table.ints("start_ns")[calls.rows] + table.ints("dur_ns")[calls.rows])


def _waits(kernels: Sequence[Optional[Table]], calls: Sequence[_Calls]) -> Optional[list[tuple[int, int, int, int]]]:
    """(line, row, wait, awaited line) of the calls with waits; None if the ranks do not end the calls together."""
    took = np.stack([_table(kernels, one).ints("dur_ns")[one.rows] for one in calls])
    ends = np.stack([_ends(kernels, one) for one in calls])
    ends = ends - np.rint(np.median(ends - ends[0], axis=1)).astype(np.int64)[:, None]  # clocks
    wait = took - took.min(axis=0)
    differs = wait.max(axis=0) >= _LEAST_WAIT_NS
    together = np.ptp(ends, axis=0) < _MOST_SPREAD * np.ptp(took, axis=0)
    if took.shape[1] < _LEAST_CALLS or (together & differs).sum() < _LEAST_TOGETHER * differs.sum():
        return None
    owners = took.argmin(axis=0)
    return [
        (calls[line].line, int(calls[line].rows[call]), int(wait[line, call]), calls[int(owners[call])].line)
        for line, call in np.argwhere((wait >= _LEAST_WAIT_NS) & together & differs).tolist()
    ]


def _exposed(kernels: Optional[Table], waits: Sequence[tuple[int, int, int]]) -> FusedWaits:
    """The parts of the waits in which nothing else computes. waits: (row, wait, awaited line)."""
    assert kernels is not None
    waits = sorted(waits)
    rows, wait, owner = np.array(waits, dtype=np.int64).T
    start, end = kernels.ints("start_ns").copy(), kernels.ints("start_ns") + kernels.ints("dur_ns")
    begin = start[rows]
    start[rows] += wait
    computing = intervals.union(start, end)
    stop = begin + wait
    pieces = intervals.subtract(intervals.union(begin, stop), computing)
    at = np.searchsorted(begin, pieces.start, side="right") - 1
    steps, types = (kernels.text(key).take(rows[at]).tolist() for key in ("step", "type"))
    return FusedWaits(pieces.start, pieces.end, owner[at], steps, types, computing)
