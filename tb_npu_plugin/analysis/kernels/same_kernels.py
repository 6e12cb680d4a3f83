"""How long the same kernels take on each rank: like with like, where ranks do not do the same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, summed, summed_text
from tb_npu_plugin.analysis.joining import concat
from tb_npu_plugin.analysis.kernels.statistics import CALLS, TOTAL
from tb_npu_plugin.schema.torch_npu_csv import KERNELS
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import FloatArray, GroupByQuery, Table

#: Kernels are the same where all of these are. Names are not among them: graphs number theirs.
_KEYS = ("step", "type", "core", "input_shapes", "input_types", "input_formats", "output_shapes")
#: Without them nothing tells what a kernel works on.
_NEEDED = ("type", "input_shapes")
_COLUMNS = (*(column for column in KERNELS.columns if column.key in _KEYS), CALLS, TOTAL)
#: That run a kernel: one of them has nothing that it could differ from.
LEAST_RANKS = 2


@dataclass(frozen=True)
class SameKernels:
    """Kernels of one rank and step that others ran, too. taken: what they took, ns; expected: what as many of each kind take
    on the median of the other ranks that ran it, ns."""

    taken: int
    expected: int


def same_kernels(ranks: Sequence[Optional[Table]]) -> list[dict[Optional[str], SameKernels]]:
    """For each rank, by step. ranks: kernels of each, None where there are none. A step of which no kernel can be compared is
    absent.

    Stages of a pipeline hold other layers, but most of these are of the same kind: what differs by nature (embedding, head,
    loss) has other shapes, and does not count.
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
    """One row a step and kind of computing kernel."""
    found = summed(kernels, GroupByQuery(_KEYS, ranges=("dur_ns",)))
    texts = {key: summed_text(found, key) for key in _KEYS}
    rows = ~texts["core"].isin(COMMUNICATION_CORES) & (found.known["dur_ns"] > 0)
    for key in _NEEDED:
        rows &= texts[key].codes >= 0
    return Table(_COLUMNS, {**texts, CALLS.key: found.known["dur_ns"], TOTAL.key: found.total["dur_ns"]}).take(rows)


def _medians_of_others(groups: Groups, values: FloatArray) -> FloatArray:
    """For each row, of the other rows of its group; of an even number the mean of the two in the middle. Its own value where
    there is no other."""
    order, count = np.lexsort((values, groups.of_row)), groups.count()
    first = (np.cumsum(count) - count)[groups.of_row[order]]
    place, others = np.arange(len(order)) - first, count[groups.of_row[order]] - 1
    ordered, out = values[order], np.zeros(len(values))
    for middle in (np.maximum(others - 1, 0) // 2, others // 2):
        # Behind the row itself all others are one place further.
        at = np.minimum(middle + (middle >= place), others)
        out[order] += ordered[first + at] / 2
    return out
