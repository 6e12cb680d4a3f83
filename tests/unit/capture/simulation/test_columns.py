"""Records as columns, random numbers by the thousand, steps of the allocator that are like each other."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from tb_npu_plugin.capture.simulation.allocations import Allocations
from tb_npu_plugin.capture.simulation.allocator import CachingAllocator
from tb_npu_plugin.capture.simulation.columns import Columns, columns
from tb_npu_plugin.capture.simulation.lots import Lots
from tb_npu_plugin.capture.simulation.plan import Plan

MIB = 1 << 20


@dataclass
class Point:
    x: int
    y: str


def points(made: list[int]) -> Columns[Point]:
    def make() -> list[Point]:
        made.append(1)
        return [Point(1, "a"), Point(2, "b")]

    return Columns(make, lambda: {"x": np.array([1, 2]), "place": [7, 8]})


def test_records_are_made_when_they_are_asked_for() -> None:
    made: list[int] = []
    found = points(made)
    assert columns(found, "x", "place") == [[1, 2], [7, 8]] and len(found) == 2 and not made
    assert columns(found, "y") == [["a", "b"]] and [point.x for point in found] == [1, 2] and found[1].y == "b"
    assert len(made) == 1 and columns(list(found), "x", "y") == [[1, 2], ["a", "b"]]


def test_columns_tell_what_was_changed() -> None:
    found = points([])
    found.append(Point(3, "c"))
    found[0] = Point(9, "z")
    assert columns(found, "x") == [[9, 2, 3]] and len(found) == 3
    del found[1]
    assert columns(found, "y") == [["z", "c"]] and repr(found) == repr([Point(9, "z"), Point(3, "c")])


def test_lots_are_those_of_random() -> None:
    lots, random = Lots("7/3"), Random("7/3")
    found = [*lots.take(3).tolist(), *lots.take(1000).tolist(), *lots.take(2).tolist()]
    assert found == [random.random() for _ in range(1005)]


def naive(allocator: CachingAllocator, events: list[tuple[int, int]]) -> list[tuple[int, int]]:
    blocks, out = [], []
    for size, event in events:
        blocks.append(allocator.allocate(size) if event < 0 else None)
        if event >= 0:
            block = blocks[event]
            assert block is not None
            allocator.release(block)
        out.append((allocator.allocated, allocator.reserved))
    return out


def test_steps_that_leave_nothing_go_as_the_one_before() -> None:
    events = [(3 * MIB, -1), (900, -1), (30 * MIB, -1), (0, 0), (5 * MIB, -1), (0, 2), (0, 1), (0, 4)]
    leaks = [(7 * MIB, -1), (2 * MIB, -1), (0, 0)]
    ones, others = CachingAllocator(64 << 30), CachingAllocator(64 << 30)
    for allocator in (ones, others):
        allocator.hold(100 * MIB)
    allocations, steady, leaking = Allocations(ones), Plan(events=events), Plan(events=leaks)
    results = []
    for plan in (steady, steady, steady, leaking, steady, steady):
        found = allocations.carry_out(plan)
        results.append(found)
        assert list(zip(found.allocated, found.reserved)) == naive(others, plan.events)
    assert results[1] is results[2], "the allocator was the same before and behind it"
    assert results[4] is not results[2] and results[5] is not results[4], "a block of another step is in use"
