"""Interval sets against sets of integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.intervals import Intervals, merge, overlap, subtract, union

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
