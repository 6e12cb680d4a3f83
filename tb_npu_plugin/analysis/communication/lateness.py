"""Communication operators from kernels, and the initial waits of operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tb_npu_plugin.analysis.kernels.kinds import MEANING, is_communication
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.kernel_meaning import group_of_call
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_OPS_COLUMNS
from tb_npu_plugin.tables import IntArray, StringColumn, Table

#: Digits of a group's id in the name of an operator.
ID_DIGITS = 3
_KEYS = ("step", "kind", "group", "name", "start_ns", "elapse_ns")
_COLUMNS = tuple(column for column in COMM_OPS_COLUMNS if column.key in _KEYS)


def operators_of(kernels: Table, groups: Iterable[str] = ()) -> Table:
    """Communication operators from kernels, for results without communication files: CANN's kernel names hold the end of the
    group's id, and the call. groups: names of the groups of the rank."""
    rows = kernels.take(is_communication(kernels))
    names, is_p2p = rows.text("name"), rows.text(MEANING.key).equals("point_to_point")
    known_ids = [group_hash(group) for group in groups]
    ends = Counter(id[-ID_DIGITS:] for id in known_ids)
    ids = {id[-ID_DIGITS:]: id for id in known_ids if ends[id[-ID_DIGITS:]] == 1}
    ends_of = [group_of_call(name) for name in names.values]
    found = [None if end is None else ids.get(end, end) for end in ends_of] + [None]
    return Table(
        _COLUMNS,
        {
            "step": rows.text("step"),
            "kind": StringColumn(np.where(is_p2p, 0, 1).astype(np.int32), list(COMM_KINDS)),
            "group": StringColumn.of([found[code] for code in names.codes.tolist()]),
            "name": names,
            "start_ns": rows.ints("start_ns"),
            "elapse_ns": rows.ints("dur_ns"),
        },
    )


#: Shorter waits are noise, ns: 336 first waits of recorded ranks take up to 0.028 ms, or 0.099 ms and longer.
LEAST_WAIT_NS = 50_000


@dataclass(frozen=True)
class Tasks:
    """Tasks of a track, sorted by start, ns, with ids."""

    start: IntArray
    dur: IntArray
    id: IntArray


@dataclass(frozen=True)
class FirstWait:
    """The initial waits of a communication operator.

    Attributes:
        operator: Index of the operator.
        task: Id of the task that waits last.
        wait: Time from the start of the operator to the end of that task, ns; 0 if all tasks are noise.
        second: The same for the task that waits last but one; 0 without one.
        tasks: Ids of the first wait on each plane.
    """

    operator: int
    task: int
    wait: int
    second: int
    tasks: tuple[int, ...] = field(default=(), compare=False)


def last_first_waits(operators: Tasks, planes: Sequence[Tasks]) -> list[FirstWait]:
    """The last initial wait of each operator that waited at its start.

    planes: the waiting tasks of each plane of the communicator. A plane serves one peer; its first task waits for the
    notification that the peer has reached the operator. Later tasks wait for data, whichever rank is late.
    """
    last = np.zeros(len(operators.start), dtype=np.int64)
    second = last.copy()
    task = np.full(len(operators.start), -1, dtype=np.int64)
    tasks: list[list[int]] = [[] for _ in range(len(operators.start))]
    end = operators.start + operators.dur
    for plane in planes:
        first = np.searchsorted(plane.start, operators.start)
        inside = np.flatnonzero(first < len(plane.start))
        inside = inside[plane.start[first[inside]] < end[inside]]
        chosen = first[inside]
        until = np.minimum(plane.start[chosen] + plane.dur[chosen], end[inside]) - operators.start[inside]
        until[plane.dur[chosen] < LEAST_WAIT_NS] = 0
        second[inside] = np.maximum(second[inside], np.minimum(until, last[inside]))
        later = (until > last[inside]) | (task[inside] < 0)
        last[inside[later]], task[inside[later]] = until[later], plane.id[chosen[later]]
        for operator, id in zip(inside.tolist(), plane.id[chosen].tolist()):
            tasks[operator].append(id)
    return [
        FirstWait(at, int(task[at]), int(last[at]), int(second[at]), tuple(tasks[at]))
        for at in np.flatnonzero(task >= 0).tolist()
    ]


def first_starts(operators: Tasks, planes: Sequence[Tasks]) -> IntArray:
    """Start of the first task of any plane within each operator; the end of the operator without one."""
    out = operators.start + operators.dur
    for plane in planes:
        if len(plane.start):
            first = np.searchsorted(plane.start, operators.start)
            starts = plane.start[np.minimum(first, len(plane.start) - 1)]
            out = np.where(first < len(plane.start), np.minimum(out, starts), out)
    return np.asarray(out)
