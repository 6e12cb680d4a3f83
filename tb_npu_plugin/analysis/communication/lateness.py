"""How long the others of a group waited for a rank: its collectives beside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.joining import concat
from tb_npu_plugin.analysis.kernels.statistics import is_communication
from tb_npu_plugin.schema.cluster import POINT_TO_POINT
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_OPS_COLUMNS
from tb_npu_plugin.tables import IntArray, Table, Text, known

_BETWEEN_TWO = COMM_KINDS[0]
_KEYS = ("step", "group", "name", "elapse_ns")
_COLUMNS = tuple(column for column in COMM_OPS_COLUMNS if column.key in _KEYS)


def lateness(ranks: Sequence[Optional[Table]]) -> list[dict[Optional[str], int]]:
    """For each rank, by step: the longest that all others of a group waited for it at one collective, ns.

    ranks: comm_ops of each, or what collectives_of tells instead. All members of a collective end together, so the last one
    takes least, and each other one takes longer by as much as it waited. The longest wait is told and not their sum: where
    launching is what takes time, a rank that is late once is so at each collective that follows, and the others lose that
    time once. Sends and receives do not count: stages of a pipeline wait for each other by nature. A step is absent where
    no collective of the rank is known of another one, too, or where names do not tell the collectives of a step apart.
    """
    found = [None if ops is None else _collectives(ops) for ops in ranks]
    rows = concat(_COLUMNS, [ops for ops in found if ops is not None])
    owner = np.repeat(np.arange(len(ranks)), [0 if ops is None else len(ops) for ops in found])
    groups = Groups([rows.text(key) for key in _KEYS[:-1]], len(rows))
    elapse, count = rows.ints("elapse_ns"), groups.count()
    order = np.lexsort((elapse, groups.of_row))
    firsts = np.cumsum(count) - count
    usable = (count > 1) & (groups.count_of(_repeated(groups, owner)) == 0)
    last, next_one = order[firsts[usable]], order[firsts[usable] + 1]
    waited = np.zeros(len(rows), dtype=np.int64)
    waited[last] = elapse[next_one] - elapse[last]
    judged = np.flatnonzero(usable[groups.of_row])
    steps = rows.text("step").take(judged)
    by_step = Groups([owner[judged], steps], len(judged))
    longest = by_step.max(waited[judged]).tolist()
    out: list[dict[Optional[str], int]] = [{} for _ in ranks]
    for rank, step, wait in zip(owner[judged][by_step.first].tolist(), steps.take(by_step.first).tolist(), longest):
        out[rank][step] = wait
    return out


def collectives_of(kernels: Table) -> Table:
    """The same of kernels, where no file tells of communication: names of CANN tell the group and the call."""
    rows = kernels.take(is_communication(kernels))
    names = rows.text("name")
    p2p = names.isin([name for name in names.values if POINT_TO_POINT.search(name)])
    rows, names = rows.take(~p2p), names.take(~p2p)
    ignore_progress = Text(np.full(len(rows), -1, dtype=np.int32), [])
    return Table(
        _COLUMNS, {"step": rows.text("step"), "group": ignore_progress, "name": names, "elapse_ns": rows.ints("dur_ns")}
    )


def _collectives(ops: Table) -> Table:
    rows = ops.take(known(ops.ints("elapse_ns")) & ~ops.text("kind").equals(_BETWEEN_TWO))
    return Table(_COLUMNS, {**{key: rows.text(key) for key in _KEYS[:-1]}, "elapse_ns": rows.ints("elapse_ns")})


def _repeated(groups: Groups, owner: IntArray) -> NDArray[np.bool_]:
    """Rows of a rank that has another one of the same name before."""
    _, first = np.unique(groups.of_row * (owner.max(initial=0) + 1) + owner, return_index=True)
    out = np.ones(len(owner), dtype=np.bool_)
    out[first] = False
    return out


#: Shorter waits tell nothing, ns; nor do those that are a smaller share of their operator.
LEAST_WAIT, LEAST_SHARE = 200_000, 0.1


@dataclass(frozen=True)
class Tasks:
    """Tasks of a row of the trace by start, ns, and what they are known by."""

    start: IntArray
    dur: IntArray
    id: IntArray


def longest_first_waits(operators: Tasks, planes: Sequence[Tasks]) -> list[tuple[int, int]]:
    """(operator, task), as places in `operators` and as id: of each operator that waited long at its begin, the longest wait.

    planes: the tasks that wait, of each plane of the communicator. Each plane serves one peer, whose notification its first
    task waits for: that the peer has come to the operator, too. Later ones wait for data, whoever is late.
    """
    longest = np.zeros(len(operators.start), dtype=np.int64)
    task = np.full(len(operators.start), -1, dtype=np.int64)
    end = operators.start + operators.dur
    for plane in planes:
        first = np.searchsorted(plane.start, operators.start)
        inside = np.flatnonzero(first < len(plane.start))
        inside = inside[plane.start[first[inside]] < end[inside]]
        waits = plane.dur[first[inside]]
        longer = inside[waits > longest[inside]]
        longest[longer], task[longer] = plane.dur[first[longer]], plane.id[first[longer]]
    found = np.flatnonzero((longest >= LEAST_WAIT) & (longest >= LEAST_SHARE * operators.dur))
    return list(zip(found.tolist(), task[found].tolist()))
