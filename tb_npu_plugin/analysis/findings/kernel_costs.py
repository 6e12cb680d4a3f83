"""What rules about kernels share: computing kernels by rank, the rank with the highest cost, and findings about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.meaning import FOLDED
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import StringColumn, Table

#: Least share of step time of a finding.
LEAST_SHARE = 0.01
#: Kernels shorter than this start and end for most of their time, ns: msprof-analyze's advisor ignores them, too.
LEAST_KERNEL_NS = 20_000
#: Kernel types that a sentence names.
_NAMED = 3
#: What records kernels, and their types and shapes.
NPU = "activities=[ProfilerActivity.NPU, ...]"
LEVEL_1 = "profiler_level=ProfilerLevel.Level1"


@dataclass(frozen=True)
class Costs:
    """Cost of kernels on the rank that has most of it, ns per step.

    items: by kernel type, the highest first; calls: kernels of each type per step; ranks: ranks that show it.
    """

    rank: RankKernels
    items: dict[str, int]
    calls: dict[str, float]
    ranks: int

    @property
    def total(self) -> int:
        """Sum of all types."""
        return sum(self.items.values())

    @property
    def top(self) -> str:
        """The type with the highest cost."""
        return next(iter(self.items))

    def listed(self) -> str:
        """ "57 × TransData 1.42 ms, 1 × Cast 0.20 ms", calls and time per step; at most three types."""
        named = [f"{self.calls[type]:.3g} × {type} {duration(cost)}" for type, cost in self.items.items()]
        return ", ".join(named[:_NAMED]) + (", …" if len(named) > _NAMED else "")


def labels(kernels: Table) -> StringColumn:
    """Type of each kernel; its name, without what differs by call, where no type is known."""
    types = kernels.text("type")
    return types if (types.codes >= 0).any() else kernels.text(FOLDED.key)


def costs(
    run: RunData, cost_of: Callable[[RankKernels], NDArray[np.float64]], least_share: float = LEAST_SHARE
) -> Optional[Costs]:
    """The rank with the highest cost. cost_of: ns of each kernel of a rank, 0 for kernels that cost nothing. None below
    `least_share` of step time."""
    found: list[tuple[float, RankKernels, NDArray[np.float64]]] = []
    least = least_share * run.step_ns * run.step_count
    for rank in run.kernels:
        cost = cost_of(rank)
        if cost.sum() >= least > 0 and cost.sum() > 0:
            found.append((float(cost.sum()), rank, cost))
    if not found:
        return None
    _, rank, cost = max(found, key=lambda one: one[0])
    rows = np.flatnonzero(cost > 0)
    types = labels(rank.table).take(rows)
    groups = Groups([types], len(rows))
    sums = np.bincount(groups.of_row, cost[rows], len(groups)) / run.step_count
    names = [name or "–" for name in types.take(groups.first).tolist()]
    order = np.argsort(-sums, kind="stable").tolist()
    counts = groups.count().tolist()
    items = {names[at]: round(float(sums[at])) for at in order}
    return Costs(rank, items, {names[at]: counts[at] / run.step_count for at in order}, len(found))


def kernel_finding(
    run: RunData, rule: Rule, found: Costs, message: Message, fix: Sequence[Message], is_loss: bool = True
) -> Finding:
    """A finding about kernels of the rank with the highest cost. is_loss: False if the time is no loss by itself; the
    finding then costs nothing."""
    costs = dict(found.items) if is_loss else {}
    return Finding(
        rule=rule.id,
        category=rule.category,
        subject=Subject.of(found.rank.span, kernel=found.top),
        message=message,
        cost_ns=sum(costs.values()),
        part="computing",
        confidence=Confidence("confirmed" if found.ranks > 1 else "measured", found.ranks),
        evidence=(Evidence("kernel", found.rank.span.token, "types", found.top),),
        fix=tuple(fix),
        check=Message("check.kernel", kernel=found.top),
        costs=costs,
    )


def kernel_rule(
    id: str,
    columns: Sequence[str],
    cost_of: Callable[[RankKernels], NDArray[np.float64]],
    conclude: Callable[[RunData, Costs], Optional[tuple[Message, Sequence[Message]]]],
    is_loss: bool = True,
) -> Rule:
    """The rule about the rank on which some kernels cost most.

    Args:
        columns: It needs one of these columns of the kernels.
        cost_of: See `costs`.
        conclude: The sentence about that rank, and what to do; None if there is nothing to say.
        is_loss: See `kernel_finding`.
    """

    def find(run: RunData) -> list[Finding]:
        found = costs(run, cost_of)
        conclusion = None if found is None else conclude(run, found)
        if found is None or conclusion is None:
            return []
        return [kernel_finding(run, made, found, *conclusion, is_loss=is_loss)]

    made = Rule(id, "compute", find, lambda run: missing_column(run, id, *columns), device="NPU")
    return made


def missing_column(run: RunData, rule: str, *keys: str) -> Optional[Unchecked]:
    """What a rule lacks that needs one of these columns of the kernels; None if a rank has one, or without an NPU."""
    if not run.recorded.has_npu or any(rank.table.has(key) for rank in run.kernels for key in keys):
        return None
    if not run.kernels:
        return Unchecked(rule, Message("unchecked.no_kernels"), NPU)
    if keys[0] in ("type", "core", "input_shapes", "block_dim"):
        return Unchecked(rule, Message("unchecked.no_types"), LEVEL_1)
    return Unchecked(rule, Message("unchecked.no_counters"), pipe_utilization(run))


def pipe_utilization(run: RunData) -> str:
    """The option that records counters of the units, as the framework spells it."""
    return f"aic_metrics={'AiCMetrics' if run.recorded.is_torch else 'AicoreMetrics'}.PipeUtilization"


def share_of_step(run: RunData, cost_ns: float) -> float:
    """Share of step time of a cost per step; 0 if it is unknown."""
    return cost_ns / run.step_ns if run.step_ns else 0.0
