"""Group sums and interval sets against plain Python."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.grouping import Groups, concat, largest_first
from tb_npu_plugin.intervals import Intervals, merge, overlap, subtract, union
from tb_npu_plugin.tables import NULL_INT, Column, Kind, StringColumn, from_lists

rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(0, 2),
        st.one_of(st.none(), st.integers(-(2**55), 2**55), st.integers(-9, 9)),
    ),
    max_size=30,
)


@given(rows)
def test_groups_equal_a_dictionary(given_rows: list[tuple[str | None, int, int | None]]) -> None:
    expected: dict[tuple[str | None, int], list[int | None]] = {}
    for name, number, value in given_rows:
        expected.setdefault((name, number), []).append(value)
    names = StringColumn.of(row[0] for row in given_rows)
    numbers = np.asarray([row[1] for row in given_rows], dtype=np.int64)
    values = np.asarray([NULL_INT if row[2] is None else row[2] for row in given_rows], dtype=np.int64)
    groups = Groups([names, numbers], len(given_rows))
    keys = list(zip(names.take(groups.first).tolist(), numbers[groups.first].tolist()))
    assert keys == list(expected)  # in the order of the first rows
    assert groups.count().tolist() == [len(part) for part in expected.values()]
    numbered = [row for part in groups.rows() for row in part.tolist()]
    assert sorted(numbered) == list(range(len(given_rows)))
    assert [[given_rows[row][2] for row in part.tolist()] for part in groups.rows()] == list(expected.values())
    assert [groups.rows_of(at).tolist() for at in range(len(groups))] == [part.tolist() for part in groups.rows()]
    known = [[value for value in part if value is not None] for part in expected.values()]
    assert groups.count_known(values).tolist() == [len(part) for part in known]
    assert groups.sum(values).tolist() == [sum(part) if part else NULL_INT for part in known]
    assert groups.min(values).tolist() == [min(part, default=NULL_INT) for part in known]
    assert groups.max(values).tolist() == [max(part, default=NULL_INT) for part in known]
    assert groups.mean(values).tolist() == [half_even(part) for part in known]
    assert groups.distinct(values).tolist() == [len(set(part)) for part in known]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=5), min_size=1, max_size=4))
def test_concatenated_texts_are_those_of_the_parts(parts: list[list[str | None]]) -> None:
    columns = (Column("name", Kind.TEXT),)
    tables = [from_lists(columns, {"name": part}) for part in parts]
    found = concat(columns, tables).text("name")
    assert found.tolist() == [text for part in parts for text in part]
    assert len(set(found.values)) == len(found.values), "each text has one code"


def half_even(values: list[int]) -> int:
    if not values:
        return NULL_INT
    return int((Decimal(sum(values)) / len(values)).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63) + 1, 2**63 - 1))))
def test_the_largest_come_first_and_unknown_last(values: list[int | None]) -> None:
    # The smallest integer, which stands for unknown, is its own negative: unknown totals came first.
    column = np.asarray([NULL_INT if value is None else value for value in values], dtype=np.int64)
    expected = sorted(range(len(values)), key=lambda row: (values[row] is None, -(values[row] or 0)))
    assert largest_first(column).tolist() == expected


pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), max_size=8)


def normal(raw: list[tuple[int, int]]) -> Intervals:
    array = np.asarray(raw, dtype=np.int64).reshape(-1, 2)
    return union(array[:, 0], array[:, 1])


def points(raw: list[tuple[int, int]]) -> set[int]:
    return {point for start, end in raw for point in range(start, end)}


def content(intervals: Intervals) -> set[int]:
    """The points, after checking the normal form: sorted, none empty, a gap between neighbours."""
    assert (intervals.end > intervals.start).all()
    assert (intervals.start[1:] > intervals.end[:-1]).all()
    return points(list(zip(intervals.start.tolist(), intervals.end.tolist())))


@given(pairs)
def test_union_holds_the_same_points(raw: list[tuple[int, int]]) -> None:
    assert content(normal(raw)) == points(raw)
    assert normal(raw).total == len(points(raw))


@given(pairs, pairs)
def test_operations_are_those_of_sets(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert content(overlap(normal(a), normal(b))) == points(a) & points(b)
    assert content(subtract(normal(a), normal(b))) == points(a) - points(b)
    assert content(merge(normal(a), normal(b))) == points(a) | points(b)
