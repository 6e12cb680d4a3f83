"""Initial waits of collectives on the streams of the device, where the planes of a communicator have none: level 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.lateness import LEAST_WAIT_NS, Tasks
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema.trace_events import HARDWARE, SUBTASK, WAIT_TASK
from tb_npu_plugin.tables import IntArray

#: Least share of the waits of a stream inside the operators of a communicator that uses it.
_LEAST_INSIDE = 0.9


@dataclass(frozen=True)
class StreamWaits:
    """Waits of the operators of a communicator.

    Attributes:
        first: First waits: the k-th of the list has the k-th wait of each operator. An operator first waits for each peer at once.
            This round ends with the next other task on its streams.
        later: Whether an operator waits again: for data, or for peers on other servers.
    """

    first: list[Tasks]
    later: NDArray[np.bool_]


def stream_waits(timeline: Timeline, communicators: Mapping[int, Tasks]) -> dict[int, StreamWaits]:
    """Waits by the streams that communicators use. communicators: operators by track."""
    rounds: dict[int, list[tuple[Tasks, IntArray]]] = {}
    later = {at: np.zeros(len(own.start), dtype=bool) for at, own in communicators.items()}
    for track in timeline.tracks_of("slices"):
        if timeline.tracks[track]["process"] != HARDWARE:
            continue
        tasks, is_wait = _tasks(timeline, track)
        waits = tasks.start[is_wait]
        if not len(waits):
            continue
        inside = {at: float((_operators_at(own, waits) >= 0).mean()) for at, own in communicators.items()}
        # Operators of two communicators may overlap: those of the stream last less long.
        best = max(inside, key=lambda at: (inside[at], -int(communicators[at].dur.sum())), default=-1)
        if inside.get(best, 0.0) >= _LEAST_INSIDE:
            first, operator, again = _first_round(tasks, is_wait, communicators[best])
            rounds.setdefault(best, []).append((first, operator))
            later[best][again] = True
    return {at: StreamWaits(_by_place(found), later[at]) for at, found in rounds.items()}


def _tasks(timeline: Timeline, track: int) -> tuple[Tasks, Any]:
    """Tasks of a stream, and which of them wait."""
    rows = timeline.rows
    first, end = (int(rows.first[rows.track_row[at]]) for at in (track, track + 1))
    ids = first + np.argsort(rows.start[first:end], kind="stable")
    codes = [code for code in np.unique(timeline.name[first:end]).tolist() if timeline.names[code] == WAIT_TASK]
    return Tasks(np.asarray(rows.start[ids]), np.asarray(rows.dur[ids]), ids), np.isin(timeline.name[ids], codes)


def _operators_at(operators: Tasks, times: IntArray) -> IntArray:
    """Index of the operator that runs at each time; -1 without one."""
    at = np.searchsorted(operators.start, times, side="right") - 1
    return np.where((at >= 0) & (times < (operators.start + operators.dur)[at]), at, -1)


def _first_round(tasks: Tasks, is_wait: Any, operators: Tasks) -> tuple[Tasks, IntArray, IntArray]:
    """The waits before another task follows in the operator, and their operators; operators that wait again."""
    operator = _operators_at(operators, tasks.start)
    number = np.cumsum(~is_wait)  # equal for waits without another task between them
    waits = np.flatnonzero(is_wait & (operator >= 0))
    _, first = np.unique(operator[waits], return_index=True)
    rounds = np.full(len(operators.start), -1, dtype=np.int64)
    rounds[operator[waits[first]]] = number[waits[first]]
    is_first = number[waits] == rounds[operator[waits]]
    chosen, again = waits[is_first], waits[~is_first & (tasks.dur[waits] >= LEAST_WAIT_NS)]
    return Tasks(tasks.start[chosen], tasks.dur[chosen], tasks.id[chosen]), operator[chosen], operator[again]


def _by_place(found: Sequence[tuple[Tasks, IntArray]]) -> list[Tasks]:
    """The waits by their place in their operator."""
    start, dur, id = (np.concatenate([getattr(one, key) for one, _ in found]) for key in ("start", "dur", "id"))
    operator = np.concatenate([own for _, own in found])
    order = np.lexsort((id, start, operator))
    firsts = np.flatnonzero(np.diff(operator[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
    out = []
    for at in range(int(place.max(initial=-1)) + 1):
        rows = order[place == at]
        out.append(Tasks(start[rows], dur[rows], id[rows]))
    return out


def in_order(timeline: Timeline, tasks: Sequence[int]) -> list[int]:
    """The tasks in the order of their launch: the k-th one waits for the rank k places after this one, in MESH and in rings
    alike (eight recorded ranks)."""
    numbers = [(args or {}).get(SUBTASK) for args in timeline.args_of(np.array(tasks, dtype=np.int64))]
    if not all(isinstance(number, int) for number in numbers):
        return list(tasks)
    return [task for _, task in sorted(zip(numbers, tasks))]
