"""The allocations in the device's log, as blocks of the caching allocator."""

from __future__ import annotations

from typing import NamedTuple

from tb_npu_plugin.capture.simulation.allocator import Block, CachingAllocator
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals

#: Name of a block that no recorded operator allocated (the buckets of DistributedDataParallel, say).
_NO_OPERATOR = "unknown"


class Change(NamedTuple):
    """An allocation (size > 0) or a release (size < 0)."""

    at: int
    tid: int
    address: int
    size: int


class Memory:
    """Blocks by address; changes: by time. What is released without an allocation was allocated before the
    capture."""

    def __init__(self, capacity: int, changes: list[Change]) -> None:
        self._allocator = CachingAllocator(capacity)
        self._blocks: dict[int, tuple[Block, Allocation | None]] = {}
        seen: set[int] = set()
        for change in changes:
            if change.size < 0 and change.address not in seen:
                self._blocks[change.address] = self._allocator.allocate(-change.size), None
            seen.add(change.address)

    @property
    def reserved(self) -> int:
        """Bytes of all segments of the allocator."""
        return self._allocator.reserved

    def write(self, changes: list[tuple[Change, str]], segment: Segment) -> None:
        """Carry out changes, each with the operator that made it ("": none is known)."""
        for change, holder in changes:
            if change.size > 0:
                block = self._allocator.allocate(change.size)
                totals = self._totals(change.at)
                allocation = Allocation(holder or _NO_OPERATOR, block.size, change.at, totals)
                self._blocks[change.address] = block, allocation
                segment.memory.append(allocation)
                segment.totals.append(totals)
            elif change.size < 0 and change.address in self._blocks:
                block, released = self._blocks.pop(change.address)
                self._allocator.release(block)
                totals = self._totals(change.at)
                segment.totals.append(totals)
                if released is not None:
                    released.active_release, released.release, released.after = change.at, change.at, totals

    def _totals(self, now: int) -> Totals:
        allocator = self._allocator
        return Totals("PTA", now, allocator.allocated, allocator.reserved, allocator.allocated)
