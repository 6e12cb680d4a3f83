"""The real allocations of the CPU as blocks of the caching allocator of the device."""

from __future__ import annotations

from typing import Callable

from tb_npu_plugin.capture.mock.kineto import Change
from tb_npu_plugin.capture.simulation.allocator import Block, CachingAllocator
from tb_npu_plugin.capture.simulation.records import HostOp, Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals

#: Name of a block that no recorded operator allocated (the buckets of DistributedDataParallel, say).
_NO_OPERATOR = "unknown"


class Memory:
    """Blocks by address. What is given back without having come was there before the capture."""

    def __init__(self, capacity: int, changes: list[Change]) -> None:
        self._changes = sorted(changes, key=lambda change: change.at)
        self._allocator = CachingAllocator(capacity)
        self._blocks: dict[int, tuple[Block, Allocation | None]] = {}
        self._next = 0
        self._taken: list[Change] = []
        seen: set[int] = set()
        for change in self._changes:
            if change.size < 0 and change.address not in seen:
                self._blocks[change.address] = self._allocator.allocate(-change.size), None
            seen.add(change.address)

    @property
    def reserved(self) -> int:
        """Bytes of all segments of the allocator."""
        return self._allocator.reserved

    def take(self, until: int) -> list[Change]:
        """The changes before a time (recorded time), after those that were taken."""
        first = self._next
        while self._next < len(self._changes) and self._changes[self._next].at < until:
            self._next += 1
        self._taken = self._changes[first : self._next]
        return self._taken

    def write(self, holders: list[int], ops: list[HostOp], clock: Callable[[int], int], segment: Segment) -> None:
        """Carry out the changes that were taken; holders: the operator of each."""
        for change, holder in zip(self._taken, holders):
            now = clock(change.at)
            if change.size > 0:
                self._allocate(change, ops[holder].info.name if holder >= 0 else _NO_OPERATOR, now, segment)
            elif change.size < 0:
                self._release(change, now, segment)

    def _allocate(self, change: Change, name: str, now: int, segment: Segment) -> None:
        block = self._allocator.allocate(change.size)
        totals = self._totals(now)
        allocation = Allocation(name, block.size, now, totals)
        segment.memory.append(allocation)
        segment.totals.append(totals)
        self._blocks[change.address] = block, allocation

    def _release(self, change: Change, now: int, segment: Segment) -> None:
        block, allocation = self._blocks.pop(change.address, (None, None))
        if block is None:
            return
        self._allocator.release(block)
        totals = self._totals(now)
        segment.totals.append(totals)
        if allocation is not None:
            allocation.active_release, allocation.release, allocation.after = now, now, totals

    def _totals(self, now: int) -> Totals:
        allocator = self._allocator
        return Totals("PTA", now, allocator.allocated, allocator.reserved, allocator.allocated)
