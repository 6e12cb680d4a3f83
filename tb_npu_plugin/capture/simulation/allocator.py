"""The caching allocator of torch_npu (PTA), as that of PyTorch works: pools of small and large blocks, segments taken
from the device and never given back, best fit with splitting, and merging of free neighbours.

Figures: NPUCachingAllocator.cpp of torch_npu (github.com/Ascend/pytorch): kMinBlockSize, kSmallSize, kSmallBuffer,
kLargeBuffer, kMinLargeAlloc, kRoundLarge, round_size(), should_split(). The sizes in operator_memory.csv of the public
sample of a real 910B follow them, with the 32 bytes that round_size() adds.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

_UNIT, _ADDED = 512, 32
_SMALL = 1 << 20  # requests up to here come from the small pool
_SMALL_SEGMENT, _LARGE_SEGMENT, _ROUND = 2 << 20, 20 << 20, 2 << 20
_MIN_LARGE = 10 << 20  # larger requests get a segment of their own, rounded up
#: Blocks that fill a large segment: two that are given back, and one between them that stays.
_SIDE, _PIN = 9 << 20, 3 << 19
Shape = tuple[tuple[int, ...], ...]


class Block:
    """A part of a segment. Neighbours are those of the same segment."""

    __slots__ = ("before", "behind", "free", "number", "size", "small")

    def __init__(self, number: int, size: int, small: bool) -> None:
        self.number, self.size, self.small, self.free = number, size, small, False
        self.before: Block | None = None
        self.behind: Block | None = None


class Allocated(NamedTuple):
    """The state of the allocator after an event, and the size of the event's block. In bytes."""

    size: int
    allocated: int
    reserved: int


class CachingAllocator:
    """allocated: bytes in blocks in use; reserved: bytes of all segments. `capacity`: bytes of the device."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.allocated = self.reserved = 0
        self._free: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # (size, number) by pool
        self._blocks: dict[int, Block] = {}  # those that are free, by number
        self._number = self._held = 0
        self._repeatable: tuple[list[tuple[int, int]], Shape, list[Allocated]] | None = None

    def hold(self, size: int) -> None:
        """Take memory that was there before the capture (weights, states of the optimizer)."""
        self._held += size
        self.allocated += size
        self.reserved += -(-size // _ROUND) * _ROUND

    def fragment(self, size: int) -> None:
        """Be as after a long run in which small blocks stay in large segments: in `size` bytes of these, 8 at least. The holes
        are too small for blocks of 10 MB and more, which get segments of their own."""
        before, sides = self.allocated, list[Block]()
        for _ in range(max(8, size // _LARGE_SEGMENT)):
            left, _pin, right = (self.allocate(size) for size in (_SIDE, _PIN, _SIDE))
            sides += [left, right]
        for side in sides:
            self.release(side)
        self._held += self.allocated - before

    def allocate(self, size: int) -> Block:
        """A block of at least `size` bytes. Never fails: a device that is full is a fact of the figures."""
        size = -(-(size + _ADDED) // _UNIT) * _UNIT
        small = size <= _SMALL
        pool = self._free[small]
        at = bisect_left(pool, (size, 0))
        block = self._blocks.pop(pool.pop(at)[1]) if at < len(pool) else self._segment(size, small)
        block.free = False
        if block.size - size >= (_UNIT if small else _SMALL + 1):
            self._split(block, size)
        self.allocated += block.size
        return block

    def release(self, block: Block) -> None:
        """Give a block back; it merges with free neighbours."""
        self.allocated -= block.size
        for other in (block.before, block.behind):
            if other is not None and other.free:
                self._forget(other)
                block = self._merge(other, block) if other is block.before else self._merge(block, other)
        self._keep(block)

    def carry_out(self, events: list[tuple[int, int]]) -> list[Allocated]:
        """The state after each of these events: (size, -1) allocates, (0, event) gives the block of that event back. Where
        they leave the allocator as it was, the same events go the same way again."""
        before = self._idle_shape()
        if before is not None and self._repeatable is not None:
            same, shape, found = self._repeatable
            if same is events and shape == before:
                return found
        blocks, out = list[Block](), list[Allocated]()
        for size, event in events:
            block = self.allocate(size) if event < 0 else blocks[event]
            taken = block.size
            if event >= 0:
                self.release(block)
            blocks.append(block)
            out.append(Allocated(taken, self.allocated, self.reserved))
        if before is not None and self._idle_shape() == before:
            self._repeatable = events, before, out
        return out

    def _idle_shape(self) -> Shape | None:
        """Sizes of the free blocks of both pools, which tell all that is to come; None while blocks are in use."""
        if self.allocated != self._held:
            return None
        return tuple(tuple(size for size, _ in pool) for pool in self._free)

    def _segment(self, size: int, small: bool) -> Block:
        whole = _SMALL_SEGMENT if small else _LARGE_SEGMENT if size < _MIN_LARGE else -(-size // _ROUND) * _ROUND
        self.reserved += whole
        return self._new(whole, small)

    def _new(self, size: int, small: bool) -> Block:
        self._number += 1
        return Block(self._number, size, small)

    def _split(self, block: Block, size: int) -> None:
        rest = self._new(block.size - size, block.small)
        block.size = size
        rest.before, rest.behind = block, block.behind
        if rest.behind is not None:
            rest.behind.before = rest
        block.behind = rest
        self._keep(rest)

    def _merge(self, left: Block, right: Block) -> Block:
        left.size += right.size
        left.behind = right.behind
        if left.behind is not None:
            left.behind.before = left
        return left

    def _keep(self, block: Block) -> None:
        block.free = True
        self._blocks[block.number] = block
        insort(self._free[block.small], (block.size, block.number))

    def _forget(self, block: Block) -> None:
        block.free = False
        pool = self._free[block.small]
        del pool[bisect_left(pool, (block.size, block.number))]
        del self._blocks[block.number]
