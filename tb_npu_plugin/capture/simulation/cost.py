"""What a kernel costs: how long its blocks take to begin and end, and the busiest of matrix unit, vector unit and memory.

The L2 cache: a kernel finds its first input there, which the kernel in front of it has just written, and leaves its output
there, up to half of the cache each. Such bytes move at the rate of the cache and are no traffic of
the main memory; all others come from there and go there. What is left in the cache is written back when it has to go:
see meters.py.

Speed says how close to the peak of the chip (chips.py) kernels of a type come. tests/oracle/test_kernel_costs.py compares
them with the kernels of a real 910B where those are at hand; docs/capture.md has the result.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.work import Work

#: Where the figures of a Speed come from.
FITTED = "fitted on the kernels of AlexNet in FP32 on a 910B2 (4 ranks, 748 kernels, public sample)"
CORRECTED = "corrected by the factor that this kernel was too quick on one real profile, which is not public"
BETWEEN = "estimated: the geometric mean of the factors of RmsNormGrad and ApplyAdamWV2, which were measured"
ASSUMED = "estimated: large products of half precision reach this share; 0.9 of the time on one real profile"


class Speed(NamedTuple):
    """How fast kernels are. start: ns of a kernel of many blocks that moves and computes nothing; one: of a kernel of one
    block; read, write: share of the peak of memory and cache; cube: share of the peak of the matrix units."""

    start: int
    read: float
    write: float
    cube: float = 0.72
    one: int = 1_400
    source: str = FITTED


def _moving(start: int, share: float, source: str = FITTED, one: int = 1_400) -> Speed:
    """Of a kernel that reads and writes alike."""
    return Speed(start, share, share, one=one, source=source)


#: Kernels of the vector units, where SPEEDS has none; those of reductions.
_VECTOR, _REDUCTION = _moving(5_000, 1.0), _moving(18_000, 0.23, one=5_000)
_MATMUL = Speed(12_000, 0.33, 1.0)
_NORM = _moving(9_000, 0.2, BETWEEN)
SPEEDS: dict[str, Speed] = {
    **dict.fromkeys(("MatMulV2", "MatMulV3", "BatchMatMulV2", "GroupedMatmul"), _MATMUL),
    "Conv2D": Speed(2_000, 1.0, 1.0, 0.52),
    "Conv2DBackpropInput": Speed(15_000, 1.0, 1.0, 0.6),
    "Conv2DBackpropFilter": Speed(15_000, 1.0, 1.0, 0.8),
    **dict.fromkeys(
        ("FlashAttentionScore", "FlashAttentionScoreGrad"), Speed(12_000, 0.65, 0.65, 0.576, source=ASSUMED)
    ),  # 0.72 and a quarter more for the softmax between the products
    "TransData": _moving(13_000, 0.75),
    "TransDataFilter": _moving(12_000, 0.045),  # TransData to and from FRACTAL_Z
    "Transpose": _moving(20_000, 0.15),
    "TensorMove": _moving(6_200, 0.6),
    "Equal": _moving(5_000, 1.0, one=2_600),
    "ReluGrad": _moving(9_000, 1.0),
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAny"), _REDUCTION),
    "MaxPoolWithArgmaxV1": _moving(50_000, 0.065),
    "MaxPoolGradWithArgmaxV1": _moving(100_000, 1.0),
    "AdaptiveAvgPool3d": _moving(12_500, 0.12),
    "AdaptiveAvgPool3dGrad": _moving(9_000, 0.4),
    "DropOutDoMask": _moving(8_000, 0.1),
    "DSAGenBitMask": _moving(1_100, 0.0044, one=1_100),
    "LogSoftmaxV2": _moving(17_000, 0.3),
    "LogSoftmaxGrad": _moving(11_000, 0.5),
    "NLLLoss": _moving(12_500, 0.3),
    "NLLLossGrad": _moving(10_500, 0.5),
    "TopKV2": _moving(11_000, 0.2),
    **dict.fromkeys(("ForeachMulScalar", "ForeachMulList"), _moving(5_000, 0.9)),
    **dict.fromkeys(("ForeachAddList", "ForeachAddScalar"), _moving(5_000, 0.68)),
    "RmsNormGrad": _moving(9_000, 0.23, CORRECTED),
    "ApplyAdamWV2": _moving(9_000, 0.37, CORRECTED),
    **dict.fromkeys(
        ("RmsNorm", "AddRmsNorm", "LayerNormV3", "LayerNormGradV3", "RotaryPositionEmbedding", "BNTrainingUpdate"),
        _NORM,
    ),
    "BNTrainingReduceGrad": _NORM,
}
#: Share of the peak that vector units reach.
VECTOR_SHARE = 0.5
#: ns of an AI CPU kernel, and what each byte adds: scalar code on a few small cores.
AI_CPU_START, AI_CPU_PER_BYTE = 45_000, 0.35
#: ns that CANN takes to compile an operator on first sight (aclop), and to look it up later.
COMPILE, COMPILED = 180_000_000, 260_000
#: A memory copy between host and device: start, and share of the PCIe peak.
COPY_START, COPY_SHARE = 1_900, 0.6


def speed_of(type_: str) -> Speed:
    """How fast kernels of this type are."""
    return SPEEDS.get(type_, _VECTOR)


def unit_times(chip: Chip, speed: Speed, work: Work) -> tuple[float, float, float, float]:
    """ns that the matrix units and the vector units are busy, and those of reading and writing, which share the memory."""
    cube = work.cube_flops * work.slower / (chip.cube_flops * speed.cube)
    vector = work.vector_flops * min(2.0, work.slower) / (chip.vector_flops * VECTOR_SHARE)
    from_cache, to_cache = chip.cache_rates
    read = work.main_read / chip.bandwidth + work.cached / from_cache
    written = work.main_written / chip.bandwidth + work.kept / to_cache
    return cube * 1e9, vector * 1e9, read / speed.read * 1e9, written / speed.write * 1e9


def kernel_ns(chip: Chip, speed: Speed, core: str, blocks: int, work: Work) -> int:
    """Duration of a kernel on this many blocks."""
    if core == "AI_CPU":
        return AI_CPU_START + int((work.read + work.written) * AI_CPU_PER_BYTE)
    cube, vector, read, written = unit_times(chip, speed, work)
    one = min(speed.start, speed.one)
    start = one + (speed.start - one) * min(1.0, 2 * max(0, blocks - 1) / chip.cube_cores)
    return int(start + max(cube, vector, read + written))


def copy_ns(chip: Chip, size: int) -> int:
    """Duration of a copy between host and device."""
    return COPY_START + int(size / (chip.pcie * COPY_SHARE) * 1e9)
