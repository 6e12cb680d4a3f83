"""Memory of one process and its records: blocks of the caching allocator and of CANN, and workspaces of streams."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.capture.simulation.allocator import Block, CachingAllocator
from tb_npu_plugin.capture.simulation.samples import WORKSPACE, Allocation, Totals

#: Bytes that CANN's graph engine reserves.
_GRAPH_ENGINE = 76 << 20
#: The workspace of a stream grows by whole pages, and is a little larger than what was asked for (torch_npu's allocator).
_PAGE, _MORE = 2 << 20, 32


#: A block in use, with its record; None: without `keep`, and for what was allocated before the capture.
Held = tuple[Block, Optional[Allocation]]


class Memory:
    """allocations, totals: records since the last `take`, none without `keep`."""

    def __init__(self, allocator: CachingAllocator, keep: bool = True) -> None:
        self._allocator, self._keep = allocator, keep
        self.allocations: list[Allocation] = []
        self.totals: list[Totals] = []
        self._workspaces: dict[int, int] = {}  # bytes by stream

    def take(self) -> tuple[list[Allocation], list[Totals]]:
        """The records since the last call."""
        found = self.allocations, self.totals
        self.allocations, self.totals = [], []
        return found

    def _total(self, component: str, at: int, allocated: int, reserved: int, active: int | None) -> Totals:
        total = Totals(component, at, allocated, reserved, active)
        self.totals.append(total)
        return total

    def _allocator_total(self, at: int) -> Totals:
        allocator = self._allocator
        return self._total("PTA", at, allocator.allocated, allocator.reserved, allocator.allocated)

    def allocate(self, name: str, size: int, now: int) -> Held:
        """Allocate at least `size` bytes. name: of the operator."""
        block = self._allocator.allocate(size)
        if not self._keep:
            return block, None
        record = Allocation(name, block.size, now, self._allocator_total(now))
        self.allocations.append(record)
        return block, record

    def release(self, held: Held, now: int, active: int) -> None:
        """Give a block back. active: when it could be used again."""
        block, record = held
        self._allocator.release(block)
        if not self._keep:
            return
        after = self._allocator_total(now)
        if record is not None:
            record.release, record.active_release, record.after = now, active, after

    def use_graph_engine(self, name: str, size: int, now: int, dur: int) -> None:
        """CANN's graph engine holds a block for `dur` ns."""
        if self._keep:
            before = self._total("GE", now, size, _GRAPH_ENGINE, None)
            after = self._total("GE", now + dur, 0, _GRAPH_ENGINE, None)
            self.allocations.append(Allocation(f"cann::{name}", size, now, before, now + dur, None, after))

    def use_workspace(self, stream: int, size: int, start: int, end: int) -> None:
        """A kernel takes `size` bytes of the workspace of its stream, which grows if it is too small."""
        if not self._keep:
            return
        whole = -(-(size + _MORE) // _PAGE) * _PAGE
        if self._workspaces.get(stream, 0) < whole:
            self._workspaces[stream] = whole
            self._total(WORKSPACE, start, 0, sum(self._workspaces.values()), 0)
        mine, reserved = self._workspaces[stream], sum(self._workspaces.values())
        self._total(WORKSPACE, start + 10, mine, reserved, mine)
        self._total(WORKSPACE, end, 0, reserved, 0)
