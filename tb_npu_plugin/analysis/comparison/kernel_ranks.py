"""The kernels of one rank by those of the others: kernel by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Optional

from tb_npu_plugin.analysis.comparison.excess import Excess, KernelExcess, Kinds, compare, kinds_of, summed
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Column, Kind, Table, column_texts, from_lists

TYPE = Column("type", Kind.TEXT, *column_texts("operator_type"), "identity")
SHAPES = Column("input_shapes", Kind.TEXT, *column_texts("input_shapes"), "shape")
_FIGURES = (
    Column("calls", Kind.FLOAT, *column_texts("kernel_ranks.calls"), ""),
    Column("other_calls", Kind.FLOAT, *column_texts("kernel_ranks.other_calls"), ""),
    Column("other_ns", Kind.DURATION, *column_texts("kernel_ranks.other_ns"), "time"),
    Column("ns", Kind.DURATION, *column_texts("kernel_ranks.ns"), "time"),
    Column("excess_ns", Kind.DURATION, *column_texts("kernel_ranks.excess_ns"), "time"),
    Column("factor", Kind.FLOAT, *column_texts("kernel_ranks.factor"), ""),
)


@dataclass(frozen=True)
class RankKinds:
    """The kernels of a span, one entry for each of its devices."""

    span: SpanData
    kinds: list[Kinds]

    @property
    def ns(self) -> float:
        """Its computing kernels in the mean step, ns: mean of its devices."""
        return sum(ns for kinds in self.kinds for _, ns in summed(kinds, lambda _: None).values()) / len(self.kinds)


def ranks_of(run: RunCommunication) -> list[RankKinds]:
    """The spans with kernels, in rank order."""
    found: dict[str, RankKinds] = {}
    for line in run.lines:
        kinds = kinds_of(line)
        if kinds is not None:
            found.setdefault(line.span.token, RankKinds(line.span, [])).kinds.append(kinds)
    return list(found.values())


def peers_of(own: RankKinds, ranks: Sequence[RankKinds]) -> list[RankKinds]:
    """The ranks that do the same work: the others of its pipeline stage; all others if there are none."""
    others = [one for one in ranks if one is not own]
    stage = pipeline_stage(own.span.capture)
    return [one for one in others if pipeline_stage(one.span.capture) == stage] or others


def slowest(ranks: Sequence[RankKinds]) -> Optional[RankKinds]:
    """The rank that computes longest by the median of its peers; None without two ranks."""

    def factor(one: RankKinds) -> float:
        other = median(peer.ns for peer in peers_of(one, ranks))
        return one.ns / other if other else 0.0

    return max(ranks, key=factor) if len(ranks) > 1 else None


def compared(own: RankKinds, peers: Sequence[RankKinds]) -> Excess:
    """The kernels of a rank by those of its peers."""
    rank = own.span.capture.rank
    return compare([] if rank is None else [rank], own.kinds, [kinds for one in peers for kinds in one.kinds])


def table_of_types(rows: Sequence[KernelExcess]) -> Table:
    """One row per type. They sum to the computing of the rank; medians do not sum."""
    return _table((TYPE, *_FIGURES), rows)


def table_of_shapes(rows: Sequence[KernelExcess]) -> Table:
    """One row per type and shapes."""
    return _table((TYPE, SHAPES, *_FIGURES), rows)


def _table(columns: Sequence[Column], rows: Sequence[KernelExcess]) -> Table:
    names = {column.key: {"input_shapes": "shapes"}.get(column.key, column.key) for column in columns}
    return from_lists(columns, {key: [getattr(row, name) for row in rows] for key, name in names.items()})
