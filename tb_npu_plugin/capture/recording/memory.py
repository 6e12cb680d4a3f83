"""The allocations of the device's log, as blocks of the caching allocator."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.capture.device.records import Kind
from tb_npu_plugin.capture.simulation.allocator import CachingAllocator
from tb_npu_plugin.capture.simulation.memory import Held, Memory

#: Name of a block that no recorded operator allocated (the buckets of DistributedDataParallel, say).
_NO_OPERATOR = "unknown"


class Addresses:
    """Blocks by address. log: records of the device; what is freed without having been allocated was there before."""

    def __init__(self, memory: Memory, allocator: CachingAllocator, log: Any) -> None:
        self._memory = memory
        self._blocks: dict[int, Held] = {}
        seen: set[int] = set()
        rows = log[(log["kind"] == Kind.ALLOCATE) | (log["kind"] == Kind.FREE)]
        for kind, address, size in zip(*(rows[name].tolist() for name in ("kind", "id", "bytes"))):
            if kind == Kind.FREE and size > 0 and address not in seen:
                self._blocks[address] = allocator.allocate(size), None
            seen.add(address)

    def allocate(self, address: int, size: int, operator: str, now: int) -> None:
        """Allocate. operator: its name, empty if none is known."""
        if size > 0:
            self._blocks[address] = self._memory.allocate(operator or _NO_OPERATOR, size, now)

    def free(self, address: int, size: int, now: int) -> None:
        """Give a block back."""
        held = self._blocks.pop(address, None) if size > 0 else None
        if held is not None:
            self._memory.release(held, now, now)
