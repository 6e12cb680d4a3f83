from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.simulation.allocator import CachingAllocator

MIB = 1 << 20


def test_sizes_of_segments() -> None:
    small, large, huge = (CachingAllocator(64 << 30) for _ in range(3))
    small.allocate(700)
    assert (small.allocated, small.reserved) == (1024, 2 * MIB)
    large.allocate(5 * MIB)
    assert (large.allocated, large.reserved) == (5 * MIB + 512, 20 * MIB)
    huge.allocate(33 * MIB + 1)
    assert huge.reserved == 34 * MIB


@pytest.mark.parametrize(
    ("size", "kb"),
    [
        (32 * 3 * 224 * 224 * 4, 18816.5),
        (32 * 256 * 13 * 13 * 4, 5408.5),
        (4096 * 9216 * 4, 147456.5),
        (4, 0.5),
        (1000 * 4, 4.0),
        (32 * 1000 * 4, 125.5),
        (480, 0.5),
        (481, 1.0),
    ],
)
def test_sizes_are_those_of_a_real_910b(size: int, kb: float) -> None:
    """Size(KB) of tensors of these shapes in operator_memory.csv of the public sample (AlexNet, batch of 32)."""
    assert CachingAllocator(64 << 30).allocate(size).size == kb * 1024


def test_a_large_block_is_split_only_where_more_than_a_small_one_is_left() -> None:
    for size, rest in ((19 * MIB - 512, 0), (19 * MIB - 1024, MIB + 512)):
        allocator = CachingAllocator(64 << 30)
        allocator.release(allocator.allocate(9 * MIB))  # a segment of 20 MiB is free
        assert allocator.allocate(size).size == (20 * MIB - rest)


def test_a_freed_block_is_used_again() -> None:
    allocator = CachingAllocator(64 << 30)
    for _ in range(5):
        allocator.release(allocator.allocate(8 * MIB))
    assert (allocator.allocated, allocator.reserved) == (0, 20 * MIB)


def test_free_neighbours_merge() -> None:
    allocator = CachingAllocator(64 << 30)
    blocks = [allocator.allocate(6 * MIB) for _ in range(3)]
    for number in (0, 2, 1):
        allocator.release(blocks[number])
    allocator.allocate(9 * MIB + 512)
    assert allocator.reserved == 20 * MIB


def test_a_small_rest_pins_a_segment() -> None:
    allocator = CachingAllocator(64 << 30)
    triples = [[allocator.allocate(size) for size in (9 * MIB, 3 * MIB // 2, 9 * MIB)] for _ in range(4)]
    for left, _, right in triples:
        allocator.release(left)
        allocator.release(right)
    for _ in range(4):
        allocator.allocate(12 * MIB)
    # every 12 MiB block needed a segment of its own (of 14: 32 bytes are added), though more was free
    assert (allocator.allocated, allocator.reserved) == (4 * (12 * MIB + 3 * MIB // 2 + 1024), 4 * (20 + 14) * MIB)


@given(st.lists(st.tuples(st.integers(1, 40 * MIB), st.integers(0, 30)), max_size=60))
def test_totals_are_those_of_the_blocks_in_use(steps: list[tuple[int, int]]) -> None:
    allocator, held = CachingAllocator(64 << 30), []
    for size, drop in steps:
        block = allocator.allocate(size)
        assert block.size >= size
        held.append(block)
        if drop < len(held):
            allocator.release(held.pop(drop))
        assert allocator.allocated == sum(block.size for block in held) <= allocator.reserved
    for block in held:
        allocator.release(block)
    assert allocator.allocated == 0
    before = allocator.reserved
    for size, _ in steps[:1]:
        allocator.allocate(size)
        assert allocator.reserved == before  # everything merged again: it fits
