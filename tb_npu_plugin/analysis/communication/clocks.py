"""Matches the collectives of several ranks, and aligns the clocks of the ranks by them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, concat
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_OPS_COLUMNS
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table, known

# Numbers of collective calls that count the same on all ranks.
#
# A name such as `hcom_allReduce__564_7_1` ends with the number of the call in its group. Profilers that start at other
# calls count from other zeros.

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


_KEYS = ("step", "group", "name", "start_ns", "elapse_ns")
_COLUMNS = tuple(column for column in COMM_OPS_COLUMNS if column.key in _KEYS)
_BETWEEN_TWO = COMM_KINDS[0]
#: Least number of matched collectives of two ranks, and largest residual, ns. One alone has no residual.
LEAST_MATCHED, LARGEST_ERROR_NS = 2, 1_000_000


@dataclass(frozen=True)
class Collectives:
    """Collectives of all ranks whose times are known.

    Attributes:
        rows: step, group, name, start_ns, elapse_ns.
        owner: Index of the rank of each row.
        row: Row in the table of that rank.
        number: Equal for the operators of one collective; -1 if it cannot be matched.
    """

    rows: Table
    owner: IntArray
    row: IntArray
    number: IntArray


@dataclass(frozen=True)
class Clock:
    """The clock of a rank, relative to the first rank that it can be compared with."""

    reference: int
    """Index of that rank; two ranks can be compared if they have the same."""
    offset: int
    """This clock less that of the reference, ns."""
    error: int
    """Median absolute deviation of the offset, ns; 0 for the reference."""
    low: int
    """Smallest offset of a collective, ns."""
    high: int
    """Largest offset of a collective, ns."""
    collectives: int
    """Number of matched collectives."""


def match_collectives(ranks: Sequence[Optional[Table]]) -> Collectives:
    """Match by step, group, name (its number as the ranks count it) and occurrence. ranks: comm_ops of each rank, or the result of operators_of.

    Where the group is unknown, names must identify the collectives of a step; ranks must have the same number of them.
    """
    chosen = [np.zeros(0, dtype=np.int64) if ops is None else _usable(ops) for ops in ranks]
    tables = [ops.take(rows) for ops, rows in zip(ranks, chosen) if ops is not None]
    rows = concat(_COLUMNS, [Table(_COLUMNS, {key: _column(one, key) for key in _KEYS}) for one in tables])
    owner = np.repeat(np.arange(len(ranks)), [len(one) for one in chosen])
    names = Groups([rows.text("step"), rows.text("group"), *calls_of(rows, owner)], len(rows))
    calls = Groups([names.of_row, owner], len(rows))
    occurrence = _occurrence(calls, rows.ints("start_ns"))
    count = calls.count()[calls.of_row]
    is_equal = names.min(count) == names.max(count)
    is_named = (rows.text("group").codes >= 0) | (names.max(count)[names.of_row] == 1)
    same = Groups([names.of_row, occurrence], len(rows))
    number = np.where(is_equal[names.of_row] & is_named, same.of_row, -1)
    row = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
    return Collectives(rows, owner, row, number)


def _column(table: Table, key: str) -> Data:
    return table.ints(key) if key.endswith("_ns") else table.text(key)


def _usable(ops: Table) -> IntArray:
    usable = known(ops.ints("start_ns")) & known(ops.ints("elapse_ns"))
    return np.flatnonzero(usable & ~ops.text("kind").equals(_BETWEEN_TWO) if ops.has("kind") else usable)


def _occurrence(groups: Groups, start: IntArray) -> IntArray:
    """Place of each row in its group by start."""
    order = np.lexsort((start, groups.of_row))
    firsts = np.cumsum(groups.count()) - groups.count()
    out = np.empty(len(start), dtype=np.int64)
    out[order] = np.arange(len(start)) - firsts[groups.of_row[order]]
    return out


def align_clocks(found: Collectives, ranks: int) -> list[Clock]:
    """The clock of each rank. All members of a collective end together, so the offset is the median of the differences of
    the ends."""
    clocks: list[Optional[Clock]] = [None] * ranks
    groups = list(_ends_by_group(found))
    for root in range(ranks):
        queue = [root] if clocks[root] is None else []
        while queue:
            at = queue.pop(0)
            one = clocks[at] = clocks[at] or Clock(root, 0, 0, 0, 0, 0)
            for members, ends in groups:
                if at not in members:
                    continue
                for other, column in members.items():
                    if clocks[other] is None and other != at:
                        clocks[other] = _clock(one, ends[:, members[at]], ends[:, column])
                        queue += [other] if clocks[other] is not None else []
    return [clock or Clock(rank, 0, 0, 0, 0, 0) for rank, clock in enumerate(clocks)]


def _clock(base: Clock, ends: IntArray, other: IntArray) -> Optional[Clock]:
    both = known(ends) & known(other)
    if np.count_nonzero(both) < LEAST_MATCHED:
        return None
    differences = other[both] - ends[both]
    offset = round(float(np.median(differences)))
    error = round(float(np.median(np.abs(differences - offset))))
    if error > LARGEST_ERROR_NS:
        return None
    low, high = int(differences.min()) + base.offset, int(differences.max()) + base.offset
    return Clock(base.reference, base.offset + offset, base.error + error, low, high, len(differences))


def _ends_by_group(found: Collectives) -> list[tuple[dict[int, int], IntArray]]:
    """For each group: the column of each member, and the ends of its collectives (rows) on the members."""
    matched = np.flatnonzero(found.number >= 0)
    rows = found.rows.take(matched)
    ends, groups = rows.ints("start_ns") + rows.ints("elapse_ns"), Groups([rows.text("group")], len(rows))
    out = []
    for chosen in groups.rows():
        members, columns = np.unique(found.owner[matched[chosen]], return_inverse=True)
        numbers, places = np.unique(found.number[matched[chosen]], return_inverse=True)
        if len(members) > 1:
            table = np.full((len(numbers), len(members)), NULL_INT, dtype=np.int64)
            table[places, columns] = ends[chosen]
            out.append(({int(owner): column for column, owner in enumerate(members)}, table))
    return out
