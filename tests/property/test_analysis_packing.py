"""Depth packing: rows never hold two slices at a time, and a slice stands below what encloses it. C equals NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis import packing

try:
    from tb_npu_plugin.analysis import native_packing as native
except ImportError:
    native = None
needs_native = pytest.mark.skipif(native is None, reason="native packing was not built: no C compiler at install time")

#: The build keeps times within 2^62 ns, so that no sum leaves int64.
FAR = 2**62 - 1
NEAR = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=40)
ANY = st.lists(st.tuples(st.integers(-FAR, FAR), st.sampled_from([0, 1, 60]) | st.integers(0, FAR)), max_size=40)


def columns(slices: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    kept = [(start, min(dur, FAR - start)) for start, dur in slices]
    start, dur = (np.array([one[part] for one in kept], dtype=np.int64) for part in (0, 1))
    order = packing.sort_order(start, dur)
    return start[order], dur[order]


@given(NEAR)
def test_rows_parents_and_self_times(slices: list[tuple[int, int]]) -> None:
    start, dur = columns(slices)
    depth, parent = packing.pack(start, dur)
    own, end = packing.self_time(start, dur, parent), start + np.maximum(dur, 1)
    for i in range(len(start)):
        for j in range(i):
            overlap = start[i] < end[j] and start[j] < end[i]
            assert not (overlap and depth[i] == depth[j])
            assert not (overlap and end[i] <= end[j]) or depth[i] > depth[j]
        enclosing = [j for j in range(i) if start[i] < end[j] and end[i] <= end[j]]
        assert parent[i] == (max(enclosing, key=lambda j: depth[j]) if enclosing else -1)
        children = np.flatnonzero(parent == i).tolist()
        covered = {moment for j in children for moment in range(start[j], start[j] + dur[j])}
        assert own[i] == dur[i] - len(covered)
    if np.array_equal(depth, [0 if p < 0 else depth[p] + 1 for p in parent]):  # all slices nest: no row too many
        most = max((int(((start <= t) & (end > t)).sum()) for t in start), default=0)
        assert int(depth.max(initial=-1)) + 1 <= most


@pytest.mark.parametrize(
    ("slices", "depths", "parents"),
    [
        ([(0, 10), (5, 10), (6, 2), (20, 1)], [0, 1, 2, 0], [-1, -1, 1, -1]),
        ([(0, 10), (5, 10), (10, 10)], [0, 1, 0], [-1, -1, -1]),
    ],
    ids=["partial overlap takes the next row", "touching slices share a row"],
)
def test_rows_of_slices_that_cross(slices: list[tuple[int, int]], depths: list[int], parents: list[int]) -> None:
    depth, parent = packing.pack(*columns(slices))
    assert (depth.tolist(), parent.tolist()) == (depths, parents)


def test_slices_below_the_last_row_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_DEPTH", 2)
    assert packing.pack(*columns([(0, 10), (1, 10), (2, 10), (30, 1)]))[0].tolist() == [0, 1, -1, 0]


def assert_same(start: np.ndarray, dur: np.ndarray) -> None:
    found, expected = native.pack(start, dur), packing.pack(start, dur)
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype and one.tolist() == other.tolist()
    with np.errstate(over="ignore"):
        own = packing.self_time(start, dur, expected[1])
    assert native.self_time(start, dur, expected[1]).tolist() == own.tolist()


@needs_native
@given(NEAR | ANY, st.sampled_from([1, 2, 4, packing.MAX_DEPTH]))
def test_c_equals_numpy(slices: list[tuple[int, int]], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "MAX_DEPTH", rows)
        assert_same(*columns(slices))


@needs_native
@pytest.mark.parametrize("rows", [64, pytest.param(packing.MAX_DEPTH, marks=pytest.mark.full)])
def test_c_equals_numpy_at_the_greatest_depth(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_DEPTH", rows)
    for count in (rows - 1, rows, rows + 1):
        nested = [(i, 2 * (count - i)) for i in range(count)]
        crossing = [(10 * count + i, count) for i in range(count)]
        assert_same(*columns([*nested, *crossing, (50 * count, 1)]))
    assert_same(*columns([(5, 3)] * 30 + [(5, 0)] * 30 + [(7, 0)] * 10 + [(8, 0)] * 10))


@needs_native
def test_c_refuses_other_columns() -> None:
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="equal length"):
        native.pack(one, two)
    for parent in (2, 7):
        with pytest.raises(ValueError, match="a parent that is no slice"):
            native.self_time(two, two, np.array([-1, parent], dtype=np.int32))
    with pytest.raises(ValueError, match="one int32 parent"):
        native.self_time(two, two, np.array([-1], dtype=np.int32))
