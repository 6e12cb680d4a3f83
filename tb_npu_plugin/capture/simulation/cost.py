"""What a kernel costs: a roofline of matrix unit, vector unit and memory, and what a launch adds to it.

The L2 cache: a kernel finds its first input there, which the kernel in front of it has just written, and leaves its output
there, each where it takes no more than half of the cache. Such bytes move at the rate of the cache and are no traffic of
the main memory; all others come from there and go there. (Relu of 25 MB in the public sample: 3.2 TB/s, twice what the
memory has.) What is left in the cache is written back when it has to go: see meters.py.

A kernel takes as long as the busiest of its units, at the share of the peak that such kernels reach, plus a start-up
time. Shares are of the order that the public sample of a real 910B shows for its matrix products and element-wise
kernels; nothing here claims to predict a given kernel within a factor of two.
"""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.work import Work

#: Shares of the peak.
CUBE_SHARE, VECTOR_SHARE, MEMORY_SHARE = 0.72, 0.5, 0.65
#: ns from the start of a kernel to its first useful instruction, and from the last one to its end.
START_UP = 1_700
#: ns of an AI CPU kernel, and what each byte adds: scalar code on a few small cores.
AI_CPU_START, AI_CPU_PER_BYTE = 45_000, 0.35
#: ns that CANN takes to compile an operator on first sight (aclop), and to look it up later.
COMPILE, COMPILED = 180_000_000, 260_000
#: A memory copy between host and device: start, and share of the PCIe peak.
COPY_START, COPY_SHARE = 1_900, 0.6


def in_cache(chip: Chip, size: int) -> int:
    """Bytes of a tensor that was just written, or is now, that the L2 cache serves: all or none."""
    return size if size <= chip.cache // 2 else 0


def unit_times(chip: Chip, work: Work, fp32: bool = False) -> tuple[float, float, float, float]:
    """ns that the matrix units and the vector units are busy, and those of reading and writing, which share the memory."""
    cube = work.cube_flops / (chip.cube_flops * CUBE_SHARE) * (4 if fp32 else 1)
    vector = work.vector_flops / (chip.vector_flops * VECTOR_SHARE) * (2 if fp32 else 1)
    from_cache, to_cache = chip.cache_rates
    read = work.main_read / chip.bandwidth + work.cached / from_cache
    written = work.main_written / chip.bandwidth + work.kept / to_cache
    return cube * 1e9, vector * 1e9, read / MEMORY_SHARE * 1e9, written / MEMORY_SHARE * 1e9


def kernel_ns(chip: Chip, core: str, work: Work, fp32: bool = False) -> int:
    """Duration of a kernel."""
    if core == "AI_CPU":
        return AI_CPU_START + int((work.read + work.written) * AI_CPU_PER_BYTE)
    cube, vector, read, written = unit_times(chip, work, fp32)
    return START_UP + int(max(cube, vector, read + written))


def copy_ns(chip: Chip, size: int) -> int:
    """Duration of a copy between host and device."""
    return COPY_START + int(size / (chip.pcie * COPY_SHARE) * 1e9)
