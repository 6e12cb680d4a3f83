"""Numbers of collective calls that count the same on all ranks.

A name such as `hcom_allReduce__564_7_1` ends with the number of the call in its group. Profilers that start at other calls count
from other zeros.
"""

from __future__ import annotations

import re
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn, Table, known

_CALL = re.compile(r"(hcom_\w+__\d+_)(\d{1,15})_\d+")
#: Steps that must show the same shift.
_LEAST_STEPS = 2


def calls_of(rows: Table, owner: IntArray) -> tuple[StringColumn, IntArray]:
    """Name without its number and number of each row, by the count of the first rank of its group. -1: the name has no number.

    Args:
        rows: step, group, name, start_ns, elapse_ns.
        owner: Index of the rank of each row.
    """
    names = rows.text("name")
    found = [None if name is None else _CALL.fullmatch(name) for name in names.values]
    stems = StringColumn.of(name if call is None else call[1] for name, call in zip(names.values, found))
    stem = np.append(stems.codes, -1).astype(np.int32)[names.codes]
    number = np.array([*(-1 if call is None else int(call[2]) for call in found), -1], dtype=np.int64)[names.codes]
    chosen = np.flatnonzero((number >= 0) & (rows.text("group").codes >= 0))
    ends, steps = rows.ints("start_ns") + rows.ints("elapse_ns"), rows.text("step")
    for members in Groups([rows.text("group").take(chosen)], len(chosen)).rows():
        own = chosen[members]
        for rank, shift in _shifts(steps.take(own), owner[own], number[own], ends[own]):
            number[own[owner[own] == rank]] -= shift
    return StringColumn(stem, stems.values), number


def _shifts(steps: StringColumn, owner: IntArray, number: IntArray, ends: IntArray) -> list[tuple[int, int]]:
    """(rank, what its numbers exceed those of the first rank by) of the calls of a group."""
    ranks, column = np.unique(owner, return_inverse=True)
    calls = Groups([steps, owner], len(owner))
    step, rank = steps.codes[calls.first], column[calls.first]
    count, least = (np.full((len(steps.values) + 1, len(ranks)), NULL_INT, dtype=np.int64) for _ in range(2))
    count[step, rank], least[step, rank] = calls.count(), calls.min(number)
    is_equal = known(count[:, :1]) & (count == count[:, :1])
    shifts = least - least[:, :1]
    out = []
    first = owner == ranks[0]
    for at in np.flatnonzero((is_equal & (shifts != 0)).any(axis=0)).tolist():
        shown, own = shifts[is_equal[:, at], at], column == at
        if len(shown) < _LEAST_STEPS or (shown != shown[0]).any():
            continue
        as_named = _residual(number[first], ends[first], number[own], ends[own])
        shifted = _residual(number[first], ends[first], number[own] - shown[0], ends[own])
        if shifted is not None and (as_named is None or shifted < as_named):
            out.append((int(ranks[at]), int(shown[0])))
    return out


def _residual(numbers: IntArray, ends: IntArray, others: IntArray, other_ends: IntArray) -> Optional[float]:
    """Mean deviation of the differences of the ends of equal numbers, ns: all members of a collective end together."""
    _, one, other = np.intersect1d(numbers, others, return_indices=True)
    differences = other_ends[other] - ends[one]
    return float(np.abs(differences - np.median(differences)).mean()) if len(one) > 1 else None
