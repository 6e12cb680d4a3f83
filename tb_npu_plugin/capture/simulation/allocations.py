"""What the caching allocator does in the steps of a program."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from tb_npu_plugin.capture.simulation.allocator import Block, CachingAllocator
from tb_npu_plugin.capture.simulation.columns import Columns
from tb_npu_plugin.capture.simulation.plan import Plan
from tb_npu_plugin.capture.simulation.plan_arrays import Ints, ints
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals

Shape = tuple[tuple[int, ...], ...]


class Allocated(NamedTuple):
    """The state of the allocator after each event of a plan, in bytes, and the size of the event's block."""

    sizes: list[int]
    allocated: list[int]
    reserved: list[int]


class Allocations:
    """Carries out plans. In most steps nothing is left in use, and the allocator is in the end as it was in the beginning:
    such a step goes as the one before it."""

    def __init__(self, allocator: CachingAllocator) -> None:
        self._allocator = allocator
        self._known: dict[Plan, tuple[Shape, Allocated]] = {}

    def carry_out(self, plan: Plan) -> Allocated:
        """One step."""
        before = self._allocator.idle_shape()
        known = self._known.get(plan)
        if known is not None and known[0] == before:
            return known[1]
        found = self._events(plan)
        if before is not None and self._allocator.idle_shape() == before:
            self._known[plan] = before, found
        return found

    def _events(self, plan: Plan) -> Allocated:
        allocator, blocks = self._allocator, list[Optional[Block]]()
        out = Allocated([], [], [])
        for size, event in plan.events:
            if event < 0:
                block = allocator.allocate(size)
                blocks.append(block)
                out.sizes.append(block.size)
            else:
                given_back = blocks[event]
                assert given_back is not None
                blocks.append(None)
                out.sizes.append(given_back.size)
                allocator.release(given_back)
            out.allocated.append(allocator.allocated)
            out.reserved.append(allocator.reserved)
        return out


class HeldColumns:
    """What the memory's records of a step tell beside their times."""

    def __init__(self, plan: Plan, memory: Allocated) -> None:
        self.memory = memory
        states: list[tuple[int, int, Optional[int]]] = [
            total.sizes if total.event < 0
            else (memory.allocated[total.event], memory.reserved[total.event], memory.allocated[total.event])
            for total in plan.totals
        ]  # fmt: skip
        self.totals = {name: [state[at] for state in states] for at, name in enumerate(_SIZES)}
        rows, none = plan.memory, (None, None, None)
        after = [none if row.after is None else states[row.after] for row in rows]
        self._befores, self._afters = [row.before for row in rows], [row.after for row in rows]
        self._fixed: dict[str, Any] = {
            "name": [row.name for row in rows],
            "size": [row.size if row.event < 0 else memory.sizes[row.event] for row in rows],
            "graph_engine": [row.event < 0 for row in rows],
            **{f"before.{name}": [states[row.before][at] for row in rows] for at, name in enumerate(_SIZES)},
            **{f"after.{name}": [state[at] for state in after] for at, name in enumerate(_SIZES)},
        }
        self._ticks = ints([row.tick for row in rows])
        self._ends = [[row.release for row in rows], [row.active_release for row in rows]]
        self._durs = ints([row.dur for row in rows])

    def blocks(self, clock: Ints, totals: Columns[Totals]) -> Columns[Allocation]:
        """The blocks, with times."""
        ends = (_times(clock, ticks, self._durs) for ticks in self._ends)
        found = {**self._fixed, "at": clock[self._ticks], **dict(zip(("release", "active_release"), ends))}

        def make() -> list[Allocation]:
            records = totals.records
            before = [records[place] for place in self._befores]
            after = [None if place is None else records[place] for place in self._afters]
            times = found["at"].tolist(), before, found["release"], found["active_release"]
            return list(map(Allocation, found["name"], found["size"], *times, after))

        return Columns(make, found)


_SIZES = ("allocated", "reserved", "active")


def _times(clock: Ints, ticks: list[Optional[int]], later: Ints) -> list[Optional[int]]:
    """Times of ticks, None where there is none."""
    times: list[Optional[int]] = (clock[ints([tick or 0 for tick in ticks])] + later).tolist()
    return [None if tick is None else time for tick, time in zip(ticks, times)]
