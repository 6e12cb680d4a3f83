"""What the ranks that others wait for run longer than the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Optional, TypedDict

from tb_npu_plugin.analysis.comparison.excess import Excess, KernelExcess
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.views.base import fields_of

#: Most kernels that ExcessJson lists.
MOST_KERNELS = 100


class ExcessJson(TypedDict):
    """What the awaited ranks run longer than the others."""

    ranks: list[int]
    """The awaited ranks."""
    stage: Optional[int]
    """Their pipeline stage, if it is awaited as a whole."""
    kind: Literal["clock", "kernel", "work", ""]
    """"clock": all kernels take longer by about the same factor. "kernel": the first one takes longer. "work": other kernels, or
    more of them. "": they do not compute longer."""
    factor: Optional[float]
    """Time by that of the others, of all kernels or of the first one."""
    kernels: list[KernelExcess]
    """The largest excess first; at most 100."""
    left_out: int
    """Kernels that are left out."""
    ns: int
    """All computing kernels in a step, mean of the awaited ranks, ns."""
    other_ns: int
    """The same, median of the others for each kernel."""


def excess_json(excess: Optional[Excess], ledgers: Sequence[RankLedger]) -> Optional[ExcessJson]:
    """See ExcessJson."""
    if excess is None:
        return None
    rows = list(excess.rows[:MOST_KERNELS])
    stages = {pipeline_stage(one.span.capture) for one in ledgers if one.rank in excess.ranks}
    whole = [one.rank for one in ledgers if pipeline_stage(one.span.capture) in stages]
    return fields_of(
        ExcessJson,
        excess,
        stage=stages.pop() if len(stages) == 1 and {*whole} == {*excess.ranks} else None,
        kernels=rows,
        left_out=len(excess.rows) - len(rows),
        ns=sum(row.ns for row in excess.computing),
        other_ns=sum(row.other_ns for row in excess.computing),
    )
