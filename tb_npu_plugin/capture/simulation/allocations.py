"""What the caching allocator does in the steps of a program."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Optional, Union

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
        if before is not None and not plan.once and self._allocator.idle_shape() == before:
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
            total.sizes
            if total.event < 0
            else (memory.allocated[total.event], memory.reserved[total.event], memory.allocated[total.event])
            for total in plan.totals
        ]
        self.totals = {name: _numbers([state[at] for state in states]) for at, name in enumerate(_SIZES)}
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
        self._ends = [_Ends([row.release for row in rows]), _Ends([row.active_release for row in rows])]
        self._durs = ints([row.dur for row in rows])

    def blocks(self, clock: Ints, totals: Columns[Totals]) -> Columns[Allocation]:
        """The blocks, with times."""

        @cache
        def found() -> dict[str, Any]:
            release, active_release = (ends.times(clock, self._durs) for ends in self._ends)
            return {**self._fixed, "at": clock[self._ticks], "release": release, "active_release": active_release}

        def make() -> list[Allocation]:
            records, columns = totals.records, found()
            before = [records[place] for place in self._befores]
            after = [None if place is None else records[place] for place in self._afters]
            at, *ends = (
                values if isinstance(values, list) else values.tolist()
                for values in (columns[name] for name in ("at", "release", "active_release"))
            )
            return list(map(Allocation, columns["name"], columns["size"], at, before, *ends, after))

        return Columns(make, found)


_SIZES = ("allocated", "reserved", "active")


def _numbers(values: list[Optional[int]]) -> Union[Ints, list[Optional[int]]]:
    """A column: an array, unless something in it is None."""
    return values if None in values else ints(values)


class _Ends:
    """Ticks at which blocks are given back, None where they are not."""

    def __init__(self, ticks: list[Optional[int]]) -> None:
        self._ticks = ints([tick or 0 for tick in ticks])
        self._never = [place for place, tick in enumerate(ticks) if tick is None]

    def times(self, clock: Ints, later: Ints) -> Union[Ints, list[Optional[int]]]:
        """Their times, and `later` (ns)."""
        whole = clock[self._ticks] + later
        if not self._never:
            return whole
        times: list[Optional[int]] = whole.tolist()
        for place in self._never:
            times[place] = None
        return times
