"""What the counters of the device add up to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.meters import EVERY, Meters
from tb_npu_plugin.capture.simulation.records import Kernel, Segment, Task
from tb_npu_plugin.capture.simulation.work import Work

CHIP = CHIPS["910B2"]
MIB = 1 << 20


def sampled(works: list[Work], windows: int) -> dict[str, list[float]]:
    """Values by name of counter: the kernels run in the first window."""
    meters, segment = Meters(CHIP, 0), Segment()
    for number, work in enumerate(works):
        meters.count(Task(replace(Kernel("k", "k", "AI_CORE", "AI_CORE"), work=work), number, 1, 2, number, number))
    meters.sample(segment, windows * EVERY + 1, 0)
    out: dict[str, list[float]] = {}
    for sample in segment.samples:
        out.setdefault(sample.name, []).append(sample.value)
    return out


def moved(values: dict[str, list[float]], way: str) -> list[int]:
    """Bytes by window, over all banks."""
    banks = [name for name in values if name.startswith("HBM") and name.endswith(way)]
    return [round(sum(values[bank][at] for bank in banks) * EVERY / 1000) for at in range(len(values[banks[0]]))]


def test_what_the_cache_serves_is_no_traffic_of_the_memory() -> None:
    values = sampled([Work(read=48 * MIB, written=16 * MIB, cached=16 * MIB, kept=16 * MIB)], 2)
    assert moved(values, "Read")[:2] == pytest.approx([0, 32 * MIB], abs=100) and moved(values, "Write")[:2] == [0, 0]
    assert values["LLC 0 Read/Hit Rate"][1] == round(16 / 48, 6)


def test_a_full_cache_writes_back_and_never_more_than_the_memory_takes() -> None:
    count = 1000  # 62.5 GiB in 20 ms
    values = sampled([Work(written=64 * MIB, kept=64 * MIB)] * count, 4)
    written = moved(values, "Write")
    most = CHIP.bandwidth * EVERY / 1e9
    assert written[0] == 0 and all(0 < size <= most for size in written[1:3])
    whole = moved(sampled([Work(written=64 * MIB, kept=64 * MIB)] * 4, 4), "Write")
    assert sum(whole) == pytest.approx(4 * 64 * MIB - CHIP.cache, abs=100)  # the rest is still in the cache
