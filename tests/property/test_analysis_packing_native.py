"""Depth packing in C gives exactly what its reference in NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis import packing

native = pytest.importorskip(
    "tb_npu_plugin.analysis.native_packing", reason="native packing was not built: no C compiler at install time"
)

#: The build keeps times within 2^62 ns, so that no sum leaves int64.
FAR = 2**62 - 1
TIMES = st.integers(0, 40) | st.integers(-FAR, FAR)
DURATIONS = st.sampled_from([0, 0, 1, 2, 5, 12, 60]) | st.integers(0, FAR)
SLICES = st.lists(st.tuples(TIMES, DURATIONS), max_size=60)


def columns(slices: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    kept = [(start, min(dur, FAR - start)) for start, dur in slices]
    start, dur = (np.array([one[part] for one in kept], dtype=np.int64) for part in (0, 1))
    order = packing.sort_order(start, dur)
    return start[order], dur[order]


def same(start: np.ndarray, dur: np.ndarray) -> None:
    depth, parent = packing.pack(start, dur)
    found_depth, found_parent = native.pack(start, dur)
    assert (found_depth.dtype, found_parent.dtype) == (depth.dtype, parent.dtype)
    assert found_depth.tolist() == depth.tolist()
    assert found_parent.tolist() == parent.tolist()
    with np.errstate(over="ignore"):
        own = packing.self_time(start, dur, parent)
    assert native.self_time(start, dur, parent).tolist() == own.tolist()


@given(SLICES)
def test_any_slices(slices: list[tuple[int, int]]) -> None:
    same(*columns(slices))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=50), st.integers(1, 4))
def test_more_slices_at_a_time_than_rows(slices: list[tuple[int, int]], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "MAX_DEPTH", rows)
        same(*columns(slices))


@pytest.mark.parametrize("count", [packing.MAX_DEPTH - 1, packing.MAX_DEPTH, packing.MAX_DEPTH + 1])
def test_as_deep_as_can_be(count: int) -> None:
    nested = [(i, 2 * (count - i)) for i in range(count)]
    crossing = [(10 * count + i, count) for i in range(count)]
    same(*columns([*nested, *crossing, (50 * count, 1)]))


def test_many_equal_slices_and_moments() -> None:
    same(*columns([(5, 3)] * 30 + [(5, 0)] * 30 + [(7, 0)] * 10 + [(8, 0)] * 10))


def test_what_is_no_column_is_refused() -> None:
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="equal length"):
        native.pack(one, two)
    for parent in (2, 7):
        with pytest.raises(ValueError, match="a parent that is no slice"):
            native.self_time(two, two, np.array([-1, parent], dtype=np.int32))
    with pytest.raises(ValueError, match="one int32 parent"):
        native.self_time(two, two, np.array([-1], dtype=np.int32))
