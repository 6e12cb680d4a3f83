"""Memory of one process and its records: blocks of the caching allocator and of CANN, and workspaces of streams.

The caching allocator of torch_npu (PTA) works as that of PyTorch: pools of small and large blocks, segments taken from the
device and never given back, best fit with splitting, and merging of free neighbours. Figures: NPUCachingAllocator.cpp of
torch_npu (github.com/Ascend/pytorch): kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge,
round_size(), should_split(). The sizes in operator_memory.csv of the public sample of a real 910B follow them, with the 32
bytes that round_size() adds.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import count
from typing import Optional

from tb_npu_plugin.capture.simulation.records import WORKSPACE, Allocation, Totals

_UNIT, _ADDED = 512, 32
_SMALL = 1 << 20  # requests up to here come from the small pool
_SMALL_SEGMENT, _LARGE_SEGMENT, _ROUND = 2 << 20, 20 << 20, 2 << 20
_MIN_LARGE = 10 << 20  # larger requests get separate segments, rounded up
#: Blocks that fill a large segment: two that are given back, and one between them that stays.
_SIDE, _PIN = 9 << 20, 3 << 19
#: Bytes that CANN's graph engine reserves.
_GRAPH_ENGINE = 76 << 20
#: The workspace of a stream grows by whole pages, and is a little larger than what was asked for (torch_npu's allocator).
_PAGE, _MORE = 2 << 20, 32


class Block:
    """A part of a segment. Neighbours are those of the same segment."""

    __slots__ = ("free", "next", "number", "previous", "size", "small")

    def __init__(self, number: int, size: int, small: bool) -> None:
        self.number, self.size, self.small, self.free = number, size, small, False
        self.previous: Block | None = None
        self.next: Block | None = None


class CachingAllocator:
    """allocated: bytes in blocks in use; reserved: bytes of all segments."""

    def __init__(self) -> None:
        self.allocated = self.reserved = 0
        #: Free blocks of the large and of the small pool, each as (size, number, block), sorted.
        self._free: tuple[list[tuple[int, int, Block]], list[tuple[int, int, Block]]] = ([], [])
        self._numbers = count(1)

    def hold(self, size: int) -> None:
        """Take memory that was there before the capture (weights, states of the optimizer)."""
        self.allocated += size
        self.reserved += -(-size // _ROUND) * _ROUND

    def fragment(self, size: int) -> None:
        """Be as after a long run in which small blocks stay in large segments: in `size` bytes of these, 8 at least. The holes
        are too small for blocks of 10 MB and more, which get separate segments."""
        sides = list[Block]()
        for _ in range(max(8, size // _LARGE_SEGMENT)):
            left, _pin, right = (self.allocate(size) for size in (_SIDE, _PIN, _SIDE))
            sides += [left, right]
        for side in sides:
            self.release(side)

    def allocate(self, size: int) -> Block:
        """A block of at least `size` bytes. Never fails: a device that is full is a fact of the figures."""
        size = -(-(size + _ADDED) // _UNIT) * _UNIT
        small = size <= _SMALL
        pool = self._free[small]
        at = bisect_left(pool, (size,))
        if at < len(pool):
            block = pool.pop(at)[2]
        else:  # a new segment
            whole = _SMALL_SEGMENT if small else _LARGE_SEGMENT if size < _MIN_LARGE else -(-size // _ROUND) * _ROUND
            self.reserved += whole
            block = Block(next(self._numbers), whole, small)
        block.free = False
        if block.size - size >= (_UNIT if small else _SMALL + 1):
            rest = Block(next(self._numbers), block.size - size, small)
            block.size, rest.previous, rest.next, block.next = size, block, block.next, rest
            if rest.next is not None:
                rest.next.previous = rest
            self._keep(rest)
        self.allocated += block.size
        return block

    def release(self, block: Block) -> None:
        """Give a block back; it merges with free neighbours."""
        self.allocated -= block.size
        for other in (block.previous, block.next):
            if other is not None and other.free:
                other.free, pool = False, self._free[other.small]
                del pool[bisect_left(pool, (other.size, other.number))]
                block = self._merge(other, block) if other is block.previous else self._merge(block, other)
        self._keep(block)

    def _merge(self, left: Block, right: Block) -> Block:
        left.size += right.size
        left.next = right.next
        if left.next is not None:
            left.next.previous = left
        return left

    def _keep(self, block: Block) -> None:
        block.free = True
        insort(self._free[block.small], (block.size, block.number, block))


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
        found = self.allocations, self.totals
        self.allocations, self.totals = [], []
        return found

    def _total(self, component: str, at: int, allocated: int, reserved: int, active: int | None) -> Totals:
        self.totals.append(Totals(component, at, allocated, reserved, active))
        return self.totals[-1]

    def _allocator_total(self, at: int) -> Totals:
        allocated = self._allocator.allocated
        return self._total("PTA", at, allocated, self._allocator.reserved, allocated)

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
