"""Kernel by rank: the kernels of one rank of a run by those of its peers."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.comparison import kernel_ranks as analysis
from tb_npu_plugin.analysis.comparison.excess import Excess
from tb_npu_plugin.analysis.findings.ledger_sentence import excess_text
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.distributed import NEEDS, RankStateJson


class RankWithKernelsJson(TypedDict):
    """A rank that can be compared."""

    span: str
    """Token of the span."""
    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job."""


class KernelRanksJson(TypedDict):
    """The kernels of a rank by the median of its peers, the other ranks of its pipeline stage, in the mean step.

    Table "types" (type, calls, other_calls, other_ns, ns, excess_ns, factor); /api/table also has "shapes", the same by type and
    input_shapes. Parameter `of`: token of the rank's span; default: the one that computes longest by its peers.
    """

    compared: list[RankWithKernelsJson]
    """The ranks with kernels."""
    of: Optional[str]
    """Token of the compared rank; null with fewer than two ranks."""
    peers: int
    """Ranks that it is compared with."""
    ns: int
    """Its computing kernels, ns: the sum of the table."""
    other_ns: int
    """The same, median of the peers. Medians of types do not sum to it."""
    factor: Optional[float]
    """ns by other_ns."""
    text: str
    """What the ratios mean; "" if it does not compute longer."""
    texts: dict[str, MessageJson]
    """Code and parameters of `text`."""
    ranks: list[RankStateJson]
    """Ranks that are not read, or have no kernels, and why."""


def build(source: ViewInput) -> ViewResult:
    """See KernelRanksJson."""
    ranks = analysis.ranks_of(RunCommunication(source.spans))
    own, peers, excess = _compared(source, ranks)
    text = excess_text(excess)
    data: KernelRanksJson = {
        "compared": [{"span": o.span.token, "worker": o.span.worker_label, "rank": o.span.capture.rank} for o in ranks],
        "of": own.span.token if own else None,
        "peers": peers,
        "ns": excess.whole.ns if excess else 0,
        "other_ns": excess.whole.other_ns if excess else 0,
        "factor": excess.whole.factor if excess else None,
        "text": text,
        "texts": messages_of({"text": text}),
        "ranks": [],
    }
    return ViewResult(data, {} if excess is None else {"types": ViewTable(analysis.table_of_types(excess.types), "ns")})


def _compared(
    source: ViewInput, ranks: list[analysis.RankKinds]
) -> tuple[Optional[analysis.RankKinds], int, Optional[Excess]]:
    """The rank, the number of its peers, and the comparison; None with fewer than two ranks."""
    chosen = next((one for one in ranks if one.span.token == source.params.get("of")), None)
    own = chosen if chosen and len(ranks) > 1 else analysis.slowest(ranks)
    if own is None:
        return None, 0, None
    peers = analysis.peers_of(own, ranks)
    return own, len(peers), analysis.compared(own, peers)


def _shapes(source: ViewInput) -> ViewTable:
    excess = _compared(source, analysis.ranks_of(RunCommunication(source.spans)))[2]
    return ViewTable(analysis.table_of_shapes(excess.computing if excess else ()), "ns")


VIEW = View(
    id="kernel_ranks",
    scope="run",
    needs=(NEEDS,),
    build=build,
    contract=KernelRanksJson,
    params=(Param("of", doc="Token of the span of the rank; default: the slowest one."),),
    extra_tables={"shapes": _shapes},
    is_listed=False,
)
