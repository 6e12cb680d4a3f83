"""Time that ranks spend in the matrix products of their experts (MoE), call by call.

The files do not hold the tokens of each expert: behind MoeDistributeDispatch the shapes are the largest that may occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.schema.kernel_meaning import meaning_of_kernel
from tb_npu_plugin.tables import FloatArray, Table, known

#: Meaning of a matrix product of several experts.
_GROUPED = "grouped_matmul"


@dataclass(frozen=True)
class ExpertTimes:
    """Times of the ranks of one pipeline stage, which have the same layers.

    Attributes:
        ranks: Index of each rank in what was given.
        kernels: Type of each call, in order of time.
        time: ns in the mean step: a row a rank, a column a call.
    """

    ranks: Sequence[int]
    kernels: Sequence[Optional[str]]
    time: FloatArray


def expert_times(kernels: Sequence[Optional[Table]], stages: Sequence[Optional[int]]) -> list[ExpertTimes]:
    """Times by pipeline stage, of stages with two ranks or more that make the same calls in each step. kernels: those of the
    steps in question, by rank."""
    found: dict[Optional[int], dict[int, tuple[list[Optional[str]], FloatArray]]] = {}
    for at, table in enumerate(kernels):
        calls = None if table is None else _calls(table)
        if calls is not None:
            found.setdefault(stages[at], {})[at] = calls
    return [
        ExpertTimes(list(ranks), types, np.stack([time for _, time in ranks.values()]))
        for ranks in found.values()
        for types in [next(iter(ranks.values()))[0]]
        if len(ranks) > 1 and all(own == types for own, _ in ranks.values())
    ]


def is_grouped(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the matrix products of experts."""
    types = kernels.text("type")
    meanings = ((text, meaning_of_kernel(None, text)) for text in types.values)
    return types.isin([text for text, meaning in meanings if meaning is not None and meaning.meaning == _GROUPED])


def _calls(kernels: Table) -> Optional[tuple[list[Optional[str]], FloatArray]]:
    """Type and mean time of each call of a step; None without calls, and if steps differ in them."""
    rows = np.flatnonzero(is_grouped(kernels) & known(kernels.ints("dur_ns")) & known(kernels.ints("start_ns")))
    rows = rows[np.argsort(kernels.ints("start_ns")[rows], kind="stable")]
    steps, types = kernels.text("step").take(rows), kernels.text("type").take(rows).tolist()
    by_step = [np.flatnonzero(steps.codes == code) for code in np.unique(steps.codes)]
    calls = [[types[row] for row in own.tolist()] for own in by_step]
    if not calls or any(one != calls[0] for one in calls):
        return None
    dur = kernels.ints("dur_ns")[rows]
    return calls[0], np.mean([dur[own] for own in by_step], axis=0)
