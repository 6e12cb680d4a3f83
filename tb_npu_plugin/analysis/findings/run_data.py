"""The figures of a run that rules share, computed once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from statistics import median
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.statistics import Link, links
from tb_npu_plugin.analysis.comparison.excess import Excess, excess_of
from tb_npu_plugin.analysis.findings.late_launches import IdleItems, idle_items
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.rank_totals import RankTotals, totals_of_ranks
from tb_npu_plugin.analysis.findings.recorded import Recorded, device_kind_of, has_device_files, lacks_times
from tb_npu_plugin.analysis.findings.text import rank_name
from tb_npu_plugin.analysis.idle.model import DeviceIdle
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.ledger.chains import Chains, chains_of, with_chains
from tb_npu_plugin.analysis.ledger.judge import Judgement, judge
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ledger.of_rank import ledgers_of
from tb_npu_plugin.analysis.memory import allocator_records
from tb_npu_plugin.analysis.ranks.cluster_figures import courses_of
from tb_npu_plugin.analysis.ranks.world import pipeline_stage, pipeline_stages
from tb_npu_plugin.analysis.run.budgets import RankBudget, budgets_of_ranks
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import rank_order
from tb_npu_plugin.analysis.run.late_peers import LatePeer, late_peers
from tb_npu_plugin.analysis.run.step_waits import LineWaits, step_waits_of
from tb_npu_plugin.analysis.steps.iterations import IterationGroup, groups_of
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span
from tb_npu_plugin.analysis.steps.parts import divide_rounded, longest_by_step, mean_of
from tb_npu_plugin.messages import Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Table, known


class RunData:
    """The ranks of a run. spans: one per rank, in any order."""

    def __init__(self, spans: Sequence[SpanData]) -> None:
        self.spans = sorted(spans, key=rank_order)
        self.recorded = Recorded(self.spans)

    @cached_property
    def budgets(self) -> list[RankBudget]:
        """All steps of all ranks."""
        return budgets_of_ranks(self.communication, self._waits)

    @cached_property
    def has_one_rank(self) -> bool:
        """The job has one rank: recorded so, or the only profiled one never communicates."""
        if self.world_size is not None or len(self.spans) != 1:
            return self.world_size == 1
        steps = [step for line in self.communication.lines for step in line.steps]
        return bool(steps) and all(step.communication == 0 for step in steps) and not self.spans[0].rows("comm_ops")

    @cached_property
    def kernels(self) -> list[RankKernels]:
        """Computing kernels of each NPU that recorded kernels."""
        out = []
        for span in self.spans:
            table = span.table("kernels")
            if table is None or device_kind_of(span) != "NPU":
                continue
            rows = is_computing(table) & known(table.ints("dur_ns"))
            chosen = np.flatnonzero(rows & self.is_averaged(table))
            if len(chosen):
                out.append(RankKernels(span, table.take(chosen), table.take(rows & (table.text("step").codes >= 0))))
        return out

    @cached_property
    def allocators(self) -> dict[str, Table]:
        """Records of the allocator of each NPU that has any, by token of the span; see allocator_records."""
        records = {span.token: span.table("memory_record") for span in self.spans if self.recorded.has_npu}
        found = {token: allocator_records(table) for token, table in records.items() if table is not None}
        return {token: rows for token, rows in found.items() if rows is not None}

    @cached_property
    def lines(self) -> list[RankTotals]:
        """One line per rank and device, in rank order."""
        return totals_of_ranks(self.spans, self.budgets, self.averaged)

    @cached_property
    def stages(self) -> list[Optional[int]]:
        """Pipeline stage of each line. Without known stages all ranks form stage 1, unless they receive from each other: then
        stages exist, and are None."""
        is_pipeline = self.has_pipeline_waits
        return [line.stage if line.stage is not None else None if is_pipeline else 1 for line in self.lines]

    @cached_property
    def has_pipeline_waits(self) -> bool:
        """Whether ranks wait for what others send them."""
        waits = (one for ledger in self.ledgers for one in ledger.entries if one.detail == "p2p")
        return any((line.bubble or 0) > 0 for line in self.lines) or any(one.high_ns > 0 for one in waits)

    @cached_property
    def stage_count(self) -> int:
        """Pipeline stages, those without a profile included; 1 without a pipeline."""
        return pipeline_stages([span.capture for span in self.spans])

    @property
    def has_stages(self) -> bool:
        """True with more than one pipeline stage."""
        return self.stage_count > 1

    @cached_property
    def step_times(self) -> list[tuple[Optional[str], int]]:
        """(step, step time of its longest rank, ns) of all steps in order of time, also of one that is cut; (None, time) if none
        is marked."""
        found = longest_by_step(line.steps for line in self.communication.lines)
        return list((found or self._recorded_points).items())

    @cached_property
    def _recorded_points(self) -> dict[Optional[str], int]:
        """Step time of the longest rank by step, of MindSpore up to 2.2, ns."""
        longest: dict[Optional[str], int] = {}
        for row in (row for course in courses_of(self.spans) for row in course.rows if row.basis == "step"):
            longest[row.step] = max(longest.get(row.step, 0), row.figures.get("total_ns") or 0)
        return longest if any(longest.values()) else {}

    @cached_property
    def averaged(self) -> frozenset[Optional[str]]:
        """Steps that enter the mean: a cut last one is left out."""
        lines = self.communication.lines
        return frozenset(step.step for line in lines for step in averaged_of_span(line.span, line.steps))

    def is_averaged(self, rows: Table) -> NDArray[np.bool_]:
        """Whether rows belong to an averaged step. All do if none of them names such a step."""
        found = rows.text("step").isin({step for step in self.averaged if step is not None})
        return found if found.any() else np.ones(len(rows), dtype=bool)

    @property
    def steps(self) -> list[Optional[str]]:
        """Steps of the run in order of time; [None] if none is marked."""
        return [step for step, _ in self.step_times]

    @property
    def is_marked(self) -> bool:
        """Whether steps are marked."""
        return any(step is not None for step in self.steps)

    @cached_property
    def iterations(self) -> list[IterationGroup]:
        """Groups of the iterations of the first rank that has any; [] if steps are no iterations."""
        return next((found for span in self.spans if (found := groups_of(span))), [])

    @property
    def period(self) -> Period:
        """What the mean is of."""
        if self.iterations:
            return "iteration"
        return "step" if self.is_marked or not self.steps else "repeat" if self.step_count > 1 else "capture"

    @cached_property
    def marked_steps(self) -> int:
        """Number of marked steps; 1 without marks."""
        return sum(step is not None for step in self.steps) or 1

    @cached_property
    def step_count(self) -> int:
        """Number of averaged steps, or of repeats in a capture without step marks; at least 1."""
        if not self.is_marked:
            return max((line.repeats or 1 for line in self.lines), default=1)
        return len(self.averaged - {None}) or self.marked_steps

    @property
    def all_steps(self) -> int:
        """The same with the steps that are not averaged, for host times of the whole capture."""
        return self.marked_steps if self.is_marked else self.step_count

    @cached_property
    def whole_step_times(self) -> list[int]:
        """Step time of the longest rank, ns, of the steps that enter the mean: a cut last one is left out."""
        return list(
            longest_by_step(averaged_of_span(line.span, line.steps) for line in self.communication.lines).values()
        )

    @property
    def mean_steps(self) -> int:
        """Steps in the mean; of recorded points, all but the first, which has no gap before it."""
        rows = [row for course in courses_of(self.spans) if (row := course.row("mean")) is not None]
        return len(self.whole_step_times) or max((row.count or 0 for row in rows), default=0)

    @cached_property
    def step_ns(self) -> int:
        """Mean of `whole_step_times`; without marks, the time of one repeat; of recorded points, the window of the longest rank. 0 if
        unknown. The mean of one rank is the window of its ledger."""
        mean = mean_of(self.whole_step_times)
        if mean is None:
            return max((one.window_ns for one in self.ledgers), default=0)
        return mean if self.is_marked else divide_rounded(mean, self.step_count)

    @cached_property
    def communication(self) -> RunCommunication:
        """What the ranks wait for at collectives."""
        return RunCommunication(self.spans)

    @property
    def world_size(self) -> Optional[int]:
        """Ranks of the job, or a lower bound; None if unknown."""
        return self.communication.world_size

    @cached_property
    def links(self) -> list[Link]:
        """Traffic of all links by step."""
        return [link for span in self.spans for link in links(span, self.communication.ranks)]

    @cached_property
    def late_peers(self) -> list[LatePeer]:
        """Waits of averaged steps for ranks that were not profiled."""
        found = late_peers(self.communication)
        return [one for one in found if one.step in self.averaged] or found

    @cached_property
    def idle(self) -> list[tuple[SpanData, list[DeviceIdle]]]:
        """Idle time of the devices of each span whose trace is read."""
        return [(span, idle) for span in self.spans if (idle := idle_of(span))]

    @cached_property
    def _waits(self) -> list[LineWaits]:
        return step_waits_of(self.communication)

    @cached_property
    def chains(self) -> Chains:
        """Where the waits of the run end."""
        return chains_of(self.communication)

    @cached_property
    def ledgers(self) -> list[RankLedger]:
        """Where the mean step of each rank went."""
        return with_chains(self.communication, self.ledgers_in(None), self.chains)

    def ledgers_in(self, names: Optional[Collection[Optional[str]]]) -> list[RankLedger]:
        """Where the mean of some steps of each rank went, without chains. names: None: the steps that enter the mean step."""
        idle = {span.token: devices for span, devices in self.idle}
        return ledgers_of(self.communication, self._waits, idle, names)

    @property
    def repeats(self) -> int:
        """Repeats of the work in a ledger: 1 with step marks."""
        return 1 if self.is_marked else self.step_count

    def ledger_of(self, line: RankTotals) -> Optional[RankLedger]:
        """The ledger of a line; None without one."""
        place = line.span.token, line.device_id
        return next((one for one in self.ledgers if (one.span.token, one.device_id) == place), None)

    @cached_property
    def unjudged(self) -> list[str]:
        """Names of ranks that have files of steps or kernels, but no usable step times."""
        judged = {one.span.token for one in self.ledgers if one.window_ns > 0}
        return [
            rank_name(span)
            for span in self.spans
            if has_device_files(span) and (span.token not in judged or lacks_times(span))
        ]

    @cached_property
    def judgement(self) -> Judgement:
        """What determines the step, by the ledgers."""
        return judge(self.communication, self.ledgers, self.chains)

    @cached_property
    def excess(self) -> Optional[Excess]:
        """What the ranks or the stage that others wait for run longer than the others; None if nobody profiled is awaited."""
        stage, culprits = self.judgement.stage, self.judgement.culprits
        lines = [(line, pipeline_stage(line.span.capture)) for line in self.communication.lines]
        if stage is not None:
            own, others = ([line for line, of in lines if (of == stage) == is_own] for is_own in (True, False))
        else:
            own = [line for line, _ in lines if line.span.capture.rank in culprits]
            stages = {of for line, of in lines if line.span.capture.rank in culprits}
            others = [line for line, of in lines if line.span.capture.rank not in culprits and of in stages]
        return excess_of(own, others) if own and others else None

    @cached_property
    def idle_items(self) -> list[IdleItems]:
        """Idle time of the averaged steps by item."""
        return [idle_items(span, one, self._are_averaged(one)) for span, devices in self.idle for one in devices]

    def _are_averaged(self, idle: DeviceIdle) -> NDArray[np.bool_]:
        """Whether the parts of idle time belong to averaged steps."""
        kept = np.array([step.step in self.averaged for step in idle.steps], dtype=bool)
        return kept[idle.gaps.step[idle.parts.gap]] if kept.any() else np.ones(len(idle.parts.gap), dtype=bool)


def median_of(values: Sequence[float]) -> float:
    """Median; 0 for none."""
    return float(median(values)) if values else 0.0
