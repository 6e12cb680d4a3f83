"""Compares the time of the same kernels on each rank, for ranks that do different work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, concat, group_rows, text_key
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import is_fused
from tb_npu_plugin.analysis.kernels.statistics import CALLS, TOTAL
from tb_npu_plugin.schema.torch_npu_csv import KERNELS
from tb_npu_plugin.tables import FloatArray, GroupByQuery, Table

#: Kernels are the same if all of these are equal. Names are not used: graphs number theirs.
_KEYS = ("step", "type", "core", "input_shapes", "input_types", "input_formats", "output_shapes")
#: Columns without which kernels cannot be compared.
_NEEDED = ("type", "input_shapes")
_COLUMNS = (*(column for column in KERNELS.columns if column.key in _KEYS), CALLS, TOTAL)
#: Minimum number of ranks that run a kernel, for a comparison.
LEAST_RANKS = 2


@dataclass(frozen=True)
class SameKernels:
    """Kernels of one rank and step that other ranks ran as well. taken: their total time, ns; expected: the same number
    of each kind at the median time of the other ranks, ns."""

    taken: int
    expected: int


def same_kernels(ranks: Sequence[Optional[Table]]) -> list[dict[Optional[str], SameKernels]]:
    """For each rank, by step. ranks: kernels of each rank, None without kernels. A step without comparable kernels is
    absent.

    Pipeline stages hold different layers, but most are of the same kind. Layers that differ by design (embedding, head,
    loss) have other shapes and are not compared.
    """
    kinds = [None if kernels is None else _kinds(kernels) for kernels in ranks]
    rows = concat(_COLUMNS, [found for found in kinds if found is not None])
    owner = np.repeat(np.arange(len(ranks)), [0 if found is None else len(found) for found in kinds])
    calls, total = rows.ints(CALLS.key), rows.ints(TOTAL.key)
    groups = Groups([rows.text(key) for key in _KEYS], len(rows))
    mean = total / np.maximum(calls, 1)
    expected = _medians_of_others(groups, mean) * calls
    judged = np.flatnonzero((groups.count() >= LEAST_RANKS)[groups.of_row])
    steps = rows.text("step").take(judged)
    by_step = Groups([owner[judged], steps], len(judged))
    sums = by_step.sum(total[judged]), by_step.sum(np.rint(expected[judged]).astype(np.int64))
    out: list[dict[Optional[str], SameKernels]] = [{} for _ in ranks]
    places = zip(owner[judged][by_step.first].tolist(), steps.take(by_step.first).tolist())
    for (rank, step), *figures in zip(places, *(values.tolist() for values in sums)):
        out[rank][step] = SameKernels(*figures)
    return out


def _kinds(kernels: Table) -> Table:
    """One row per step and kind of computing kernel."""
    kernels = kernels.take(is_computing(kernels) & ~is_fused(kernels))  # these wait for other ranks
    found = group_rows(kernels, GroupByQuery(_KEYS, ranges=("dur_ns",)))
    texts = {key: text_key(found, key) for key in _KEYS}
    rows = found.known["dur_ns"] > 0
    for key in _NEEDED:
        rows &= texts[key].codes >= 0
    return Table(_COLUMNS, {**texts, CALLS.key: found.known["dur_ns"], TOTAL.key: found.total["dur_ns"]}).take(rows)


def _medians_of_others(groups: Groups, values: FloatArray) -> FloatArray:
    """Median of the other rows of each row's group; for an even number the mean of the middle two. The row's own value
    if there is no other."""
    order, count = np.lexsort((values, groups.of_row)), groups.count()
    first = (np.cumsum(count) - count)[groups.of_row[order]]
    place, others = np.arange(len(order)) - first, count[groups.of_row[order]] - 1
    ordered, out = values[order], np.zeros(len(values))
    for middle in (np.maximum(others - 1, 0) // 2, others // 2):
        # After the row itself, the others are shifted by one.
        at = np.minimum(middle + (middle >= place), others)
        out[order] += ordered[first + at] / 2
    return out
