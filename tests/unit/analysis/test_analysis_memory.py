from __future__ import annotations

import pytest

from tb_npu_plugin.analysis import memory
from tb_npu_plugin.tables import Table
from tests.support.span import table_of


def record(time: int, allocated: int | None, reserved: int | None = 9, component: str = "PTA") -> dict[str, object]:
    return {
        "component": component,
        "time_ns": time,
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "active_bytes": None,
        "device": "NPU:0",
    }


def records(*rows: dict[str, object]) -> Table:
    return table_of("memory_record", list(rows))


def test_thinning_keeps_ends_and_extremes_of_every_series() -> None:
    values = [(37 * time) % 1009 for time in range(5000)]
    others = [(53 * time) % 997 for time in range(5000)]
    table = records(*(record(time, *pair) for time, pair in enumerate(zip(values, others))))
    (curve,) = memory.curves(table, points=80)
    assert curve.points == 5000
    assert len(curve.time) <= 80
    assert (curve.time[0], curve.time[-1]) == (0, 4999)
    for bin_start in range(0, 5000, 500):
        inside = (curve.time >= bin_start) & (curve.time < bin_start + 500)
        part = values[bin_start : bin_start + 500]
        assert curve.allocated[inside].max() == max(part)
        assert curve.allocated[inside].min() == min(part)
        assert curve.reserved[inside].max() == max(others[bin_start : bin_start + 500])
        assert curve.reserved[inside].min() == min(others[bin_start : bin_start + 500])
        assert curve.time[inside][0] == bin_start
        assert curve.time[inside][-1] == bin_start + 499


def test_fragmentation_when_the_allocators_held_most() -> None:
    both = records(
        record(1, 10, 100, "PTA+GE"), record(2, 60, 80, "PTA+GE"), record(3, 5, 1000, "PTA+GE"), record(9, 99, 100)
    )
    assert memory.fragmentation(both) == 0.25
    assert memory.fragmentation(records(record(1, 50, 100))) == 0.5  # PTA where there is no PTA+GE
    assert memory.fragmentation(records(record(1, None, 100, "APP"))) is None


@pytest.mark.parametrize(("moment", "live"), [(4, []), (5, ["a", "b", "c", "d"]), (9, ["a", "b", "c"]), (10, ["b"])])
def test_live_at(moment: int, live: list[str]) -> None:
    table = table_of(
        "op_memory",
        [
            {"name": "a", "size_bytes": 1, "alloc_ns": 5, "release_ns": 10, "active_release_ns": 20},
            {"name": "b", "size_bytes": 1, "alloc_ns": 5, "release_ns": None},
            {"name": "c", "size_bytes": 1, "alloc_ns": 5, "release_ns": None, "active_release_ns": 10},
            {"name": "d", "size_bytes": 1, "alloc_ns": 5, "release_ns": 10, "active_release_ns": 9},
        ],
    )
    assert memory.live_at(table, moment).text("name").tolist() == live
