from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.simulation.allocator import CachingAllocator

MIB = 1 << 20


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
