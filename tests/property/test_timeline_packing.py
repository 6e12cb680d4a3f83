"""Depth packing: rows never hold two slices at a time, and what encloses stands above."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis import packing

SLICES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=25)


def packed(slices: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    start = np.array([s for s, _ in slices], dtype=np.int64)
    dur = np.array([d for _, d in slices], dtype=np.int64)
    order = packing.sort_order(start, dur)
    start, dur = start[order], dur[order]
    return (start, dur, *packing.pack(start, dur))


@given(SLICES)
def test_rows_and_parents(slices: list[tuple[int, int]]) -> None:
    start, dur, depth, parent = packed(slices)
    end = start + np.maximum(dur, 1)
    for i in range(len(start)):
        for j in range(i):
            overlap = start[i] < end[j] and start[j] < end[i]
            assert not (overlap and depth[i] == depth[j])
            if overlap and end[i] <= end[j]:
                assert depth[i] > depth[j]
        enclosing = [j for j in range(i) if start[i] < end[j] and end[i] <= end[j]]
        assert parent[i] == (max(enclosing, key=lambda j: depth[j]) if enclosing else -1)


@given(SLICES)
def test_nested_slices_take_no_row_too_many(slices: list[tuple[int, int]]) -> None:
    _, _, depth, parent = packed(slices)
    crossing = bool(len(depth)) and not np.array_equal(depth, [0 if p < 0 else depth[p] + 1 for p in parent])
    if not crossing:
        assert all(depth[i] == depth[p] + 1 for i, p in enumerate(parent) if p >= 0)
    start, dur, *_ = packed(slices)
    end = start + np.maximum(dur, 1)
    most = max((int(((start <= t) & (end > t)).sum()) for t in start), default=0)
    assert int(depth.max(initial=-1)) + 1 <= max(most, len(slices) if crossing else most)


@given(SLICES)
def test_self_time_is_what_no_child_covers(slices: list[tuple[int, int]]) -> None:
    start, dur, _, parent = packed(slices)
    found = packing.self_time(start, dur, parent)
    for i in range(len(start)):
        covered = set()
        for j in np.flatnonzero(parent == i).tolist():
            covered |= set(range(start[j], start[j] + dur[j]))
        assert found[i] == dur[i] - len(covered)


def test_partial_overlap_takes_the_next_row() -> None:
    _, _, depth, parent = packed([(0, 10), (5, 10), (6, 2), (20, 1)])
    assert depth.tolist() == [0, 1, 2, 0]
    assert parent.tolist() == [-1, -1, 1, -1]


def test_more_rows_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_DEPTH", 2)
    _, _, depth, _ = packed([(0, 10), (1, 10), (2, 10), (30, 1)])
    assert depth.tolist() == [0, 1, -1, 0]
