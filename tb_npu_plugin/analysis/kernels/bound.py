"""What limits a kernel, from its PMU counters (aic_metrics PipeUtilization).

A unit that is busy for most of the kernel's cycles is its bound. Limits: msprof-analyze's advisor (operator no-bound, cube,
flash attention and vector performance), docs/kernel.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.kernels.work import multiplies
from tb_npu_plugin.tables import Column, FloatArray, Kind, StringColumn, Table, column_texts

BOUND = Column("bound", Kind.TEXT, *column_texts("bound"), "metric")
#: Labels of `bound`, by the unit that is busy.
LABELS = {
    "mac": "Cube",
    "vec": "Vector",
    "scalar": "Scalar",
    "mte1": "MTE1",
    "mte2": "MTE2",
    "mte3": "MTE3",
    "fixpipe": "FixPipe",
    "icache_miss": "ICache miss",
}
NO_BOUND = "No bound"
_UNITS = tuple(LABELS)
#: Prefixes of the counters: cube cores, vector cores, unified cores.
_GROUPS = ("aic_", "aiv_", "")
#: Counters, of which a capture with PipeUtilization has one.
COUNTERS = tuple(f"{group}mte2_ratio" for group in _GROUPS)
#: Columns that a bound is computed from: what a kernel is, and its counters.
_KEYS = ("name", "type", "core", "dur_ns", "aic_total_cycles", "aiv_total_cycles")
_COUNTED = tuple(f"{group}{unit}_{kind}" for group in _GROUPS for unit in LABELS for kind in ("ratio", "rate"))
#: Rows computed at a time: their figures take 64 bytes a row, several times.
_ROWS_AT_ONCE = 1 << 17
#: Units that are the bound wherever they reach their limit, except in vector kernels; elsewhere the busiest is.
_FIRST = ("mac", "mte2")
_CUBE_CORES, _VECTOR_CORES = ("AI_CORE", "MIX_AIC"), ("AI_VECTOR_CORE", "MIX_AIV")
#: Kernels shorter than this without a bound have none: they start and end for most of the time. ns
_LEAST_NS = 20_000
#: Least busy share of a bound, of all kernels.
_GENERAL = 0.8
#: The same by kind of kernel and unit, where it differs.
_LIMITS = {
    "cube": {"mte2": 0.95},
    "vector": {"vec": 0.7, "mte2": 0.7, "mte3": 0.7},
    "flash": {"vec": 0.75},
    "flash_grad": {"vec": _GENERAL, "fixpipe": 0.75},
    "general": {},
}
_KINDS = tuple(_LIMITS)
#: Units of the vector cores that together bound a vector kernel, and their least busy share.
#: Digits of comparisons: ratios have three, and 0.3 + 0.35 + 0.25 is below 0.9 in floats.
_DIGITS = 9
_VECTOR_UNITS, _VECTOR_SUM = ("vec", "mte2", "mte3"), 0.9


@dataclass(frozen=True)
class Bounds:
    """What limits each kernel.

    labels: of LABELS, or NO_BOUND; unknown without counters.
    utilisation: busy share of the busiest unit by its limit, 0 to 1; NaN without counters.
    busy: busy share of the busiest unit, 0 to 1; NaN without counters.
    """

    labels: StringColumn
    utilisation: FloatArray
    busy: FloatArray


def bounds(kernels: Table) -> Bounds:
    """What limits each kernel; communication has no bound."""
    kinds, busy = _kinds(kernels), _busy(kernels)
    limits = np.asarray([[_LIMITS[kind].get(unit, _GENERAL) for unit in _UNITS] for kind in _KINDS])[kinds]
    share = np.round(np.where(np.isnan(busy), 0.0, busy) / limits, _DIGITS)
    best = share.argmax(axis=1)
    for unit in reversed(_FIRST):  # transfers inside the core keep pace with the matrix unit
        place = _UNITS.index(unit)
        best[(share[:, place] >= 1) & (kinds != _KINDS.index("vector"))] = place
    utilisation = share.max(axis=1)
    vector = kinds == _KINDS.index("vector")
    three = [_UNITS.index(unit) for unit in _VECTOR_UNITS]
    together = np.round(np.nansum(busy[:, three], axis=1) / _VECTOR_SUM, _DIGITS)
    is_together = vector & (utilisation < 1) & (together >= 1)
    best[is_together] = np.asarray(three)[np.nan_to_num(busy[is_together][:, three]).argmax(axis=1)]
    utilisation = np.where(vector, np.maximum(utilisation, together), utilisation)
    counted = (np.nan_to_num(busy) > 0).any(axis=1) & ~is_communication(kernels)
    codes = np.where(utilisation >= 1, best, len(_UNITS))
    codes[(codes == len(_UNITS)) & (kernels.ints("dur_ns") < _LEAST_NS)] = -1
    codes[~counted] = -1
    labels = StringColumn(codes.astype(np.int32), [*LABELS.values(), NO_BOUND])
    most = np.nan_to_num(busy).max(axis=1)
    return Bounds(labels, *(np.where(counted, np.minimum(one, 1.0), np.nan) for one in (utilisation, most)))


def with_bound(kernels: Table) -> Table:
    """The kernels with BOUND, if counters are recorded."""
    if not len(kernels) or not any(kernels.has(key) for key in COUNTERS):
        return kernels
    columns = tuple(column for column in kernels.columns if column.key in _KEYS or column.key in _COUNTED)
    needed = Table(columns, {column.key: kernels.data[column.key] for column in columns})
    parts = [
        bounds(needed.take(np.arange(first, min(first + _ROWS_AT_ONCE, len(kernels))))).labels
        for first in range(0, len(kernels), _ROWS_AT_ONCE)
    ]
    labels = StringColumn(np.concatenate([part.codes for part in parts]), parts[0].values)
    return kernels.with_columns([(BOUND, labels)]) if (labels.codes >= 0).any() else kernels


def _busy(kernels: Table) -> FloatArray:
    """Busy share of each unit (columns: _UNITS): the larger of those of the cube and the vector cores. NaN: unknown.

    The cores that a kernel does not run on count 0.
    """
    out = np.full((len(kernels), len(_UNITS)), np.nan)
    for place, unit in enumerate(_UNITS):
        suffix = "rate" if unit == "icache_miss" else "ratio"
        for group in _GROUPS:
            if kernels.has(f"{group}{unit}_{suffix}"):
                out[:, place] = np.fmax(out[:, place], kernels.floats(f"{group}{unit}_{suffix}"))
    return out


def _kinds(kernels: Table) -> NDArray[np.int64]:
    """Index into _KINDS of each kernel."""
    cores, types = kernels.text("core"), kernels.text("type")
    is_split = kernels.has("aic_total_cycles") or kernels.has("aiv_total_cycles")
    out = np.full(len(kernels), _KINDS.index("general"), dtype=np.int64)
    out[types.matching(multiplies)] = _KINDS.index("cube")
    if is_split:
        out[cores.isin(_CUBE_CORES)] = _KINDS.index("cube")
        out[cores.isin(_VECTOR_CORES)] = _KINDS.index("vector")
    flash = types.matching(lambda type: "flash" in type.lower())
    backward = types.matching(lambda type: "grad" in type.lower())
    out[flash] = _KINDS.index("flash")
    out[flash & backward] = _KINDS.index("flash_grad")
    return out
