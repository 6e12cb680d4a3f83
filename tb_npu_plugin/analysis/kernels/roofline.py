"""Roofline of the kernels of a span: peaks of the device, FLOPs utilisation (MFU), and points of the plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.bound import BOUND
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import FOLDED, is_fused
from tb_npu_plugin.analysis.kernels.work import GFLOPS
from tb_npu_plugin.schema.chips import CHIPS, MACS_PER_CYCLE, bandwidth_of, chip_of
from tb_npu_plugin.tables import Column, FloatArray, IntArray, Kind, StringColumn, Table, column_texts, known

MFU = Column("mfu", Kind.RATIO, *column_texts("mfu"), "metric")
#: "recorded": from PMU counters. "assumed": from a table of chips. "given": by the user.
Origin = Literal["recorded", "assumed", "given", ""]
#: Most points of the plot.
MOST_POINTS = 1000
#: The clock of the device: the share of the kernels whose clock is lower. Throttled kernels are below it, rounding above.
_CLOCK_QUANTILE = 0.9
#: Combinations of the keys of groups that have an array entry, used or not, for each row.
_MOST_NUMBERS = 8
#: Largest number of cores of any chip: a kernel with more blocks runs several on one core.
_MOST_CORES = max(chip.vector_cores for chip in CHIPS.values())
#: (cycles, time) of each group of cores; the last for chips whose cores are not split.
_CYCLES = (("aic_total_cycles", "aicore_time"), ("aiv_total_cycles", "aiv_time"), ("total_cycles", "aicore_time"))


@dataclass(frozen=True)
class Device:
    """What the device can do at most. None: unknown."""

    chip: Optional[str]
    """Device name, such as "Ascend910B2"."""
    cube_cores: Optional[int]
    """Cores with a matrix unit."""
    vector_cores: Optional[int]
    """Cores with a vector unit."""
    clock_mhz: Optional[float]
    """Clock of the cores."""
    peak_flops: Optional[float]
    """Floating-point operations per second of the matrix units with FP16 or BF16."""
    peak_origin: Origin
    """Where the peak comes from; "" if it is unknown."""
    bandwidth: Optional[float]
    """Bytes per second of the device memory."""
    bandwidth_origin: Origin
    """Where the bandwidth comes from; "" if it is unknown."""


def device(
    kernels: Table,
    device_name: Optional[str],
    peak_flops: float | None = None,
    bandwidth: float | None = None,
    usual_peak: float | None = None,
    usual_bandwidth: float | None = None,
) -> Device:
    """The device of a span. peak_flops, bandwidth: given by the user; usual_…: given for devices whose figure is unknown."""
    chip, clock, cores = chip_of(device_name), _clock(kernels), None
    recorded = clock is not None
    if clock is not None:
        cores = _cube_cores(kernels, clock)
        recorded = cores is not None
    cores = cores or (chip.cube_cores if chip else None)
    clock = clock or (chip.clock if chip else None)
    is_split = kernels.has("aic_total_cycles") if chip is None else chip.split
    peak = 2.0 * cores * MACS_PER_CYCLE * clock * 1e6 if cores and clock else None
    origin: Origin = ("given" if usual_peak else "") if peak is None else "recorded" if recorded else "assumed"
    of_chip = chip.bandwidth if chip else bandwidth_of(cores)
    known_bandwidth = float(of_chip) if of_chip else usual_bandwidth
    return Device(
        chip=device_name,
        cube_cores=cores,
        vector_cores=None if cores is None else cores * 2 if is_split else cores,
        clock_mhz=clock,
        peak_flops=peak_flops or peak or usual_peak,
        peak_origin="given" if peak_flops else origin,
        bandwidth=bandwidth or known_bandwidth,
        bandwidth_origin="assumed" if of_chip and not bandwidth else "given" if bandwidth or known_bandwidth else "",
    )


def clocks(kernels: Table) -> FloatArray:
    """Clock of the cores during each kernel, MHz: cycles of all blocks / blocks / time. NaN if unknown, or where some
    cores ran several blocks."""
    blocks = kernels.ints("block_dim")
    out = np.full(len(kernels), np.nan)
    single = (blocks > 0) & (blocks <= _MOST_CORES)
    for cycles_key, time_key in _CYCLES:
        if not kernels.has(cycles_key):
            continue
        cycles, time = kernels.floats(cycles_key), kernels.ints(time_key)
        rows = single & (cycles > 0) & (time > 0) & np.isnan(out)
        out[rows] = 1e3 * cycles[rows] / blocks[rows] / time[rows]
    return out


def _clock(kernels: Table) -> float | None:
    """Clock of the device, MHz; None without counters."""
    found = clocks(kernels)
    found = found[~np.isnan(found)]
    return float(round(np.quantile(found, _CLOCK_QUANTILE))) if len(found) else None


def _cube_cores(kernels: Table, clock: float) -> int | None:
    """Cores with a matrix unit, from cube_utilization = 100 x cycles / (clock x cores x duration); None if unknown."""
    share, dur = kernels.floats("cube_utilization"), kernels.ints("dur_ns")
    cycles = kernels.floats("aic_total_cycles" if kernels.has("aic_total_cycles") else "total_cycles")
    rows = (share > 0) & (dur > 0) & (cycles > 0)
    if not rows.any():
        return None
    return round(float(np.median(1e3 * cycles[rows] * 100 / share[rows] / dur[rows] / clock))) or None


def utilisation(kernels: Table, peak_flops: Optional[float]) -> FloatArray:
    """MFU of each kernel; NaN without FLOPs, time or peak."""
    out = np.full(len(kernels), np.nan)
    flops, dur = kernels.floats("gflops"), kernels.ints("dur_ns")
    rows = ~np.isnan(flops) & (dur > 0)
    if peak_flops:
        out[rows] = flops[rows] * 1e18 / dur[rows] / (peak_flops * _factor(kernels)[rows])
    return out


def _factor(kernels: Table) -> FloatArray:
    """Peak of each kernel by that of FP16: INT8 runs at twice the rate."""
    types = kernels.text("input_types")
    int8 = [text.removeprefix("DT_").startswith("INT8") for text in types.values]
    return np.asarray([2.0 if one else 1.0 for one in (*int8, False)])[types.codes]


@dataclass(frozen=True)
class StepWork:
    """Work of a step."""

    step: Optional[str]
    """Step number; null outside steps."""
    gflops: float
    """1e9 floating-point operations of the kernels with known FLOPs."""
    mfu: Optional[float]
    """Their share of what the device could do in the step time; null if that or the peak is unknown."""


@dataclass(frozen=True)
class RooflinePoint:
    """Kernels of one name, with the same shapes and types."""

    name: str
    """Kernel name, without what differs by call."""
    type: Optional[str]
    """Operator type."""
    input_shapes: Optional[str]
    """Shapes of the inputs."""
    input_types: Optional[str]
    """Data types of the inputs."""
    bound: Optional[str]
    """What limits the longest; see the column."""
    calls: int
    """Number of kernels."""
    total_ns: int
    """Sum of their durations."""
    gflops: float
    """1e9 floating-point operations of one."""
    least_bytes: int
    """Sizes of inputs and outputs of one."""
    mfu: Optional[float]
    """FLOPs per second by the peak; null without peak."""


@dataclass(frozen=True)
class Roofline:
    """Work of the kernels of a span by what the device could do."""

    device: Device
    """The device and its peaks."""
    known_share: Optional[float]
    """Share of computing time in kernels with known FLOPs, 0 to 1."""
    mfu: Optional[float]
    """MFU of these kernels, by their time; null without peak."""
    steps: list[StepWork]
    """All steps that compute."""
    points: list[RooflinePoint]
    """Those that take longest, at most 1000; the longest first."""
    kinds: int
    """Number of kinds of kernels with known FLOPs and bytes; `points` holds all or the longest of them."""


def roofline(kernels: Table, found: Device, step_times: Mapping[Optional[str], int]) -> Optional[Roofline]:
    """The roofline of a span, without kernels that wait for other ranks inside. step_times: step time by step, ns. None if no kernel
    has known FLOPs."""
    flops = kernels.floats("gflops")
    rows = ~np.isnan(flops) & ~is_fused(kernels)
    if not rows.any():
        return None
    dur = np.maximum(kernels.ints("dur_ns"), 0)
    computing = int(dur[is_computing(kernels)].sum())
    time = int(dur[rows].sum())
    mfu = _mean_utilisation(utilisation(kernels, found.peak_flops)[rows], dur[rows])
    chosen = kernels.take(rows)
    points, kinds = _points(chosen, found)
    return Roofline(
        found, time / computing if computing else None, mfu, _steps(chosen, found, step_times), points, kinds
    )


@dataclass(frozen=True)
class RooflineDistance:
    """How close the kernels with known FLOPs come to what the device can do.

    Attributes:
        known_share: Their share of computing time, 0 to 1.
        mfu: Their MFU.
        share: Time that those with known bytes would take at the roofline by the time that they took, 0 to 1; None if the
            bandwidth is unknown. A kernel that beats the roofline (its data are in a cache) counts as at it.
    """

    known_share: float
    mfu: float
    share: Optional[float]


def distance_of(kernels: Table, found: Device) -> Optional[RooflineDistance]:
    """Distance of computing kernels from the roofline. None if the FLOPs of all of them, or the peak, are unknown."""
    dur = np.maximum(kernels.ints("dur_ns"), 0)
    mfu = utilisation(kernels, found.peak_flops)
    mfu[is_fused(kernels)] = np.nan  # these wait for other ranks
    rows = ~np.isnan(mfu)
    mean, computing = _mean_utilisation(mfu, dur), int(dur.sum())
    if mean is None:
        return None
    moved = kernels.ints("least_bytes")
    rows_at_roof, share = rows & known(moved), None
    if found.bandwidth and rows_at_roof.any():
        own = dur[rows_at_roof]
        least = np.maximum(mfu[rows_at_roof] * own, moved[rows_at_roof] * 1e9 / found.bandwidth)
        share = float(np.minimum(least, own).sum() / own.sum())
    return RooflineDistance(int(dur[rows].sum()) / computing, mean, share)


def _mean_utilisation(mfu: FloatArray, dur: IntArray) -> float | None:
    """Mean MFU by time; None if none is known."""
    rows = ~np.isnan(mfu)
    time = int(dur[rows].sum())
    return float((mfu[rows] * dur[rows]).sum() / time) if time else None


def _steps(kernels: Table, found: Device, times: Mapping[Optional[str], int]) -> list[StepWork]:
    steps, flops = kernels.text("step"), kernels.floats("gflops")
    groups = Groups([steps], len(kernels))
    sums = np.bincount(groups.of_row, flops, len(groups)).tolist()
    # In operations of FP16: INT8 counts half.
    equal = np.bincount(groups.of_row, flops / _factor(kernels), len(groups)).tolist()
    out = []
    for step, whole, scaled in zip(steps.take(groups.first).tolist(), sums, equal):
        time = times.get(step)
        out.append(
            StepWork(step, whole, scaled * 1e18 / time / found.peak_flops if time and found.peak_flops else None)
        )
    return out


def _points(kernels: Table, found: Device) -> tuple[list[RooflinePoint], int]:
    kernels = kernels.take(known(kernels.ints("least_bytes")) & (kernels.ints("dur_ns") > 0))
    keys = [kernels.text(key) for key in (FOLDED.key, "type", "input_shapes", "input_types")]
    groups = Groups([*keys, kernels.text("output_shapes")], len(kernels))
    total, count = groups.sum(kernels.ints("dur_ns")), groups.count()
    order = np.argsort(-total, kind="stable")[:MOST_POINTS]
    first = groups.first[order]
    heads = kernels.loaded(first)
    peak = found.peak_flops
    rate = heads.floats("gflops") * 1e18 * count[order] / total[order] / _factor(heads)
    columns = (
        *(key.take(first).tolist() for key in keys),
        heads.text("bound").tolist(),
        count[order].tolist(),
        total[order].tolist(),
        heads.floats("gflops").tolist(),
        heads.ints("least_bytes").tolist(),
        (rate / peak).tolist() if peak else [None] * len(first),
    )
    return [RooflinePoint(name or "", *rest) for name, *rest in zip(*columns)], len(groups)


def with_mfu(kernels: Table, peak_flops: Optional[float]) -> Table:
    """The kernels with MFU, if known."""
    values = utilisation(kernels, peak_flops)
    return kernels if np.isnan(values).all() else kernels.with_columns([(MFU, values)])


def with_group_figures(
    groups_table: Table, keys: Mapping[str, str], kernels: Table, peak_flops: Optional[float]
) -> Table:
    """A table of groups of kernels with the bound of most of each group's time, its GFLOPs, and its MFU.

    groups_table: One row for each combination of some text columns of `kernels`. keys: its columns by these.
    """
    place = _places(groups_table, keys, kernels)
    rows, count = place >= 0, len(groups_table)
    dur = np.maximum(kernels.ints("dur_ns"), 0)
    extra: list[tuple[Column, StringColumn | FloatArray]] = []
    if kernels.has("bound"):
        labels = kernels.text("bound")
        extra.append((BOUND, StringColumn(_most(place, labels.codes, dur, count), labels.values)))
    flops = kernels.floats("gflops")
    rows &= ~np.isnan(flops)
    if rows.any():
        sums = np.bincount(place[rows], flops[rows], count)
        has = np.bincount(place[rows], minlength=count) > 0
        extra.append((GFLOPS, np.where(has, sums, np.nan)))
        if peak_flops:
            mfu = utilisation(kernels, peak_flops)
            rows &= ~np.isnan(mfu)
            time = np.bincount(place[rows], dur[rows], count)
            means = np.bincount(place[rows], mfu[rows] * dur[rows], count)
            extra.append((MFU, np.divide(means, time, out=np.full(count, np.nan), where=time > 0)))
    return groups_table.with_columns(extra)


def _places(groups_table: Table, keys: Mapping[str, str], kernels: Table) -> NDArray[np.int32]:
    """Row of `groups_table` of each kernel; -1 for none."""
    count = len(groups_table)
    numbers, width = np.zeros(count + len(kernels), dtype=np.int64), 1
    for key, own in keys.items():
        column = _one_column(groups_table.text(key), kernels.text(own))
        numbers *= len(column.values) + 1
        numbers += column.codes
        numbers += 1
        width *= len(column.values) + 1
        if width > _MOST_NUMBERS * len(numbers):
            distinct, numbers = np.unique(numbers, return_inverse=True)
            width = len(distinct)
    rows = np.full(width, -1, dtype=np.int32)
    rows[numbers[:count]] = np.arange(count, dtype=np.int32)
    return rows[numbers[count:]]


def _one_column(above: StringColumn, below: StringColumn) -> StringColumn:
    """The rows of two columns, with equal codes for equal texts. Few texts, or the same dictionary for both."""
    codes, texts = above.codes, below.values
    if above.values is not texts:
        known_codes = {text: code for code, text in enumerate(texts)}
        new = [known_codes.setdefault(text, len(known_codes)) for text in above.values]
        codes, texts = np.asarray([*new, -1], dtype=np.int32)[codes], list(known_codes)
    return StringColumn(np.concatenate([codes, below.codes]), texts)


def _most(place: NDArray[np.int32], codes: NDArray[np.int32], dur: IntArray, count: int) -> NDArray[np.int32]:
    """The code with the most time in each group; -1 without one."""
    out, most = np.full(count, -1, dtype=np.int32), np.zeros(count)
    for code in range(int(codes.max(initial=-1)) + 1):  # one after the other: there may be millions of groups
        rows = (place >= 0) & (codes == code)
        time = np.bincount(place[rows], dur[rows] + 1, count)
        out[time > most] = code
        np.maximum(most, time, out=most)
    return out
