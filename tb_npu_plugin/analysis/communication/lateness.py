"""Communication operators from kernels, and the initial waits of operators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels.statistics import is_communication
from tb_npu_plugin.schema.cluster import POINT_TO_POINT
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_OPS_COLUMNS
from tb_npu_plugin.tables import IntArray, StringColumn, Table

#: End of the name of an operator: end of the group's id, number of the call, graph.
_CALL, _ID_DIGITS = re.compile(r"__(\d{1,3})_\d+_\d+$"), 3
_KEYS = ("step", "kind", "group", "name", "start_ns", "elapse_ns")
_COLUMNS = tuple(column for column in COMM_OPS_COLUMNS if column.key in _KEYS)


def operators_of(kernels: Table, groups: Iterable[str] = ()) -> Table:
    """Communication operators from kernels, for results without communication files: CANN's kernel names hold the end of the
    group's id, and the call. groups: names of the groups of the rank."""
    rows = kernels.take(is_communication(kernels))
    names = rows.text("name")
    known_ids = [group_hash(group) for group in groups]
    ends = Counter(id[-_ID_DIGITS:] for id in known_ids)
    ids = {id[-_ID_DIGITS:]: id for id in known_ids if ends[id[-_ID_DIGITS:]] == 1}
    calls = [_CALL.search(name) for name in names.values]
    found = ["" if call is None else ids.get(call.group(1), call.group(1)) for call in calls] + [""]
    return Table(
        _COLUMNS,
        {
            "step": rows.text("step"),
            "kind": StringColumn(
                np.where(names.matching(POINT_TO_POINT.search), 0, 1).astype(np.int32), list(COMM_KINDS)
            ),
            "group": StringColumn.of([found[code] or None for code in names.codes.tolist()]),
            "name": names,
            "start_ns": rows.ints("start_ns"),
            "elapse_ns": rows.ints("dur_ns"),
        },
    )


#: Waits below this duration, ns, or below this share of their operator do not name a late peer.
LEAST_WAIT_NS, LEAST_WAIT_SHARE = 200_000, 0.1


@dataclass(frozen=True)
class Tasks:
    """Tasks of a track, sorted by start, ns, with ids."""

    start: IntArray
    dur: IntArray
    id: IntArray


@dataclass(frozen=True)
class FirstWait:
    """The longest initial wait of a communication operator.

    Attributes:
        operator: Index of the operator.
        task: Id of the waiting task.
        wait: Its duration, ns.
        second: The longest initial wait for another peer, ns; 0 without one.
        is_long: Whether the wait is long enough to name the peer.
        tasks: Ids of the first wait on each plane.
    """

    operator: int
    task: int
    wait: int
    second: int
    is_long: bool
    tasks: tuple[int, ...] = field(default=(), compare=False)


def longest_first_waits(operators: Tasks, planes: Sequence[Tasks]) -> list[FirstWait]:
    """The longest initial wait of each operator that waited at its start.

    planes: the waiting tasks of each plane of the communicator. A plane serves one peer; its first task waits for the
    notification that the peer has reached the operator. Later tasks wait for data, whichever rank is late.
    """
    longest = np.zeros(len(operators.start), dtype=np.int64)
    second = longest.copy()
    task = np.full(len(operators.start), -1, dtype=np.int64)
    tasks: list[list[int]] = [[] for _ in range(len(operators.start))]
    end = operators.start + operators.dur
    for plane in planes:
        first = np.searchsorted(plane.start, operators.start)
        inside = np.flatnonzero(first < len(plane.start))
        inside = inside[plane.start[first[inside]] < end[inside]]
        waits = plane.dur[first[inside]]
        second[inside] = np.maximum(second[inside], np.minimum(waits, longest[inside]))
        longer = waits > longest[inside]
        longest[inside[longer]], task[inside[longer]] = waits[longer], plane.id[first[inside[longer]]]
        for operator, id in zip(inside.tolist(), plane.id[first[inside]].tolist()):
            tasks[operator].append(id)
    found = np.flatnonzero(task >= 0)
    long = is_long(longest, operators.dur)
    columns = (values[found].tolist() for values in (task, longest, second, long))
    return [
        FirstWait(operator, *figures, tasks=tuple(tasks[operator]))  # type: ignore[misc]
        for operator, *figures in zip(found.tolist(), *columns)
    ]


def is_long(wait: IntArray, elapse: IntArray) -> NDArray[np.bool_]:
    """Whether the waits of operators are long enough to name a late rank; ns."""
    return np.asarray((wait >= LEAST_WAIT_NS) & (wait >= LEAST_WAIT_SHARE * elapse))


def first_starts(operators: Tasks, planes: Sequence[Tasks]) -> IntArray:
    """Start of the first task of any plane within each operator; the end of the operator without one."""
    out = operators.start + operators.dur
    for plane in planes:
        if len(plane.start):
            first = np.searchsorted(plane.start, operators.start)
            starts = plane.start[np.minimum(first, len(plane.start) - 1)]
            out = np.where(first < len(plane.start), np.minimum(out, starts), out)
    return np.asarray(out)
