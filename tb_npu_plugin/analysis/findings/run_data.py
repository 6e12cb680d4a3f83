"""The figures of a run that rules share, computed once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from statistics import median
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.statistics import Link, links
from tb_npu_plugin.analysis.comparison.excess import Excess, excess_of
from tb_npu_plugin.analysis.findings.late_launches import idle_items
from tb_npu_plugin.analysis.idle.model import DeviceIdle
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.kernels.roofline import Device, clocks, device
from tb_npu_plugin.analysis.ledger.chains import Chains, chains_of, with_chains
from tb_npu_plugin.analysis.ledger.judge import Judgement, judge
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ledger.of_rank import ledgers_of
from tb_npu_plugin.analysis.memory import AllocatorPeak, allocator_peak
from tb_npu_plugin.analysis.ranks.cluster_figures import courses_of
from tb_npu_plugin.analysis.ranks.world import pipeline_stage, pipeline_stages
from tb_npu_plugin.analysis.run.budgets import RankBudget, budgets_of_ranks
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import rank_order
from tb_npu_plugin.analysis.run.late_peers import LatePeer, late_peers
from tb_npu_plugin.analysis.run.step_waits import LineWaits, step_waits_of
from tb_npu_plugin.analysis.steps.iterations import IterationGroup, groups_of
from tb_npu_plugin.analysis.steps.mean import divide_rounded, longest_by_step, mean_of
from tb_npu_plugin.analysis.steps.of_span import are_computed, averaged_of_span
from tb_npu_plugin.messages import Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.mindspore_cpu import CPU
from tb_npu_plugin.tables import FloatArray, IntArray, Table, known

#: Part of the names of operators and kernels of a training step.
_TRAINS = re.compile("backward|backprop|grad|bwd|optimizer", re.IGNORECASE)
#: Tables that show what a device did.
_OF_DEVICE = frozenset(("step_trace", "kernels", "iterations", "parallel_times"))
#: Share of kernels without times from which steps that are computed from kernels are not judged.
_MOST_UNTIMED = 0.1
_NOT_SUMMED = ("span", "worker", "rank", "device_id", "step", "waiting_for", "parts")
_SUMMED = tuple(field.name for field in fields(RankBudget) if field.name not in _NOT_SUMMED)


@dataclass(frozen=True)
class RankLine:
    """Figures of a rank, or of one of its devices, summed over the averaged steps, ns. None: not recorded."""

    span: SpanData
    stage: Optional[int]
    sums: RankBudget

    @property
    def name(self) -> str:
        """ "rank 3"; the worker's name if the rank is unknown; with several devices "rank 3 · device 1"."""
        rank = self.span.capture.rank
        name = self.span.worker_label if rank is None else f"rank {rank}"
        return name if self.sums.device_id is None else f"{name} · device {self.sums.device_id}"

    @property
    def title(self) -> str:
        """The name at the start of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def whole_ns(self) -> int:
        """Sum of the known parts of the steps."""
        return _whole(self.sums)


@dataclass(frozen=True)
class RankKernels:
    """Computing kernels of a rank.

    Attributes:
        table: Those of the averaged steps; all if none is marked.
        marked: Those of all steps, for what changes from step to step.
    """

    span: SpanData
    table: Table
    marked: Table

    @property
    def name(self) -> str:
        """ "rank 3"; the worker's name if the rank is unknown."""
        rank = self.span.capture.rank
        return self.span.worker_label if rank is None else f"rank {rank}"

    @cached_property
    def device(self) -> Device:
        """The device and its peaks."""
        return device(self.table, self.span.capture.device_name)

    @cached_property
    def clocks(self) -> FloatArray:
        """Clock of the cores during each kernel, MHz; NaN if unknown."""
        return clocks(self.table)

    def are(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Mask of the kernels of these classes."""
        return np.isin(self._classes, [CLASSES.index(name) for name in names])

    @cached_property
    def _classes(self) -> IntArray:
        return classes(self.table)


@dataclass(frozen=True)
class IdleItems:
    """Idle time of a device. rows: of `idle.parts`, by item (late_launches.py)."""

    span: SpanData
    idle: DeviceIdle
    rows: Mapping[str, IntArray]

    def cost_of(self, item: str) -> int:
        """Idle time of an item in and between the averaged steps, ns."""
        parts, rows = self.idle.parts, self.rows[item]
        return int((parts.end[rows] - parts.start[rows]).sum())


class RunData:
    """The ranks of a run. spans: one per rank, in any order."""

    def __init__(self, spans: Sequence[SpanData]) -> None:
        self.spans = sorted(spans, key=rank_order)

    @cached_property
    def budgets(self) -> list[RankBudget]:
        """All steps of all ranks."""
        return budgets_of_ranks(self.communication, self._waits)

    @cached_property
    def has_npu(self) -> bool:
        """False for profiles of a GPU or a CPU alone."""
        return any(device_kind_of(span) == "NPU" for span in self.spans)

    @property
    def has_trace_alone(self) -> bool:
        """The tables of all ranks were rebuilt from their traces."""
        codes = [{problem.code for problem in span.problems} for span in self.spans]
        return bool(codes) and all("trace_alone" in own for own in codes)

    @property
    def is_of_cpu(self) -> bool:
        """All ranks ran on a CPU."""
        return bool(self.spans) and all(device_kind_of(span) == CPU for span in self.spans)

    @cached_property
    def device_kinds(self) -> set[str]:
        """Kinds of the devices that were profiled."""
        return {device_kind_of(span) for span in self.spans}

    @property
    def is_of_gpu(self) -> bool:
        """A GPU was profiled."""
        return "GPU" in self.device_kinds

    @cached_property
    def is_simulated(self) -> bool:
        """The device was simulated by the machine whose host times were recorded."""
        return any(span.capture.simulated and not span.capture.simulated_host for span in self.spans)

    @cached_property
    def has_one_rank(self) -> bool:
        """The job has one rank: recorded so, or the only profiled one never communicates."""
        if self.world_size is not None or len(self.spans) != 1:
            return self.world_size == 1
        steps = [step for line in self.communication.lines for step in line.steps]
        return bool(steps) and all(step.communication == 0 for step in steps) and not self.spans[0].rows("comm_ops")

    @cached_property
    def may_train(self) -> bool:
        """False if operators of the host were recorded, and neither they nor the kernels belong to a backward pass."""
        found = [table for span in self.spans if (table := span.table("operators")) is not None]
        if not found:
            return True
        found += [table for span in self.spans if (table := span.table("kernels")) is not None]
        return any(table.text("name").matching(lambda name: bool(_TRAINS.search(name))).any() for table in found)

    @cached_property
    def framework(self) -> str:
        """ "PyTorch" or "MindSpore"; "" if unknown, or if ranks differ."""
        found = {FORMATS[span.format].framework for span in self.spans}
        return found.pop() if len(found) == 1 else ""

    @property
    def is_torch(self) -> bool:
        """The framework is PyTorch, or unknown."""
        return self.framework != "MindSpore"

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
    def lines(self) -> list[RankLine]:
        """One line per rank and device, in rank order."""
        by_line: dict[tuple[str, Optional[int]], list[RankBudget]] = {}
        for budget in self.budgets:
            by_line.setdefault((budget.span, budget.device_id), []).append(budget)
        spans = {span.token: span for span in self.spans}
        return [
            RankLine(spans[span], pipeline_stage(spans[span].capture), _sum(budgets, self.averaged))
            for (span, _), budgets in by_line.items()
        ]

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
        return any((line.sums.bubble or 0) > 0 for line in self.lines) or any(one.high_ns > 0 for one in waits)

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
            return max((line.sums.repeats or 1 for line in self.lines), default=1)
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
        return [
            link
            for span in self.spans
            if (table := span.table("comm_links")) is not None
            for link in links(table, self.communication.ranks, span.table("comm_ops"))
        ]

    @cached_property
    def late_peers(self) -> list[LatePeer]:
        """Waits of averaged steps for ranks that were not profiled."""
        found = late_peers(self.communication)
        return [one for one in found if one.step in self.averaged] or found

    @cached_property
    def allocator_peaks(self) -> list[tuple[SpanData, AllocatorPeak]]:
        """Peak of the allocators on each NPU."""
        records = [(span, span.table("memory_record")) for span in self.spans if self.has_npu]
        found = [(span, allocator_peak(table)) for span, table in records if table is not None]
        return [(span, peak) for span, peak in found if peak is not None]

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
        idle = {span.token: devices for span, devices in self.idle}
        return with_chains(self.communication, ledgers_of(self.communication, self._waits, idle), self.chains)

    @property
    def repeats(self) -> int:
        """Repeats of the work in a ledger: 1 with step marks."""
        return 1 if self.is_marked else self.step_count

    def ledger_of(self, line: RankLine) -> Optional[RankLedger]:
        """The ledger of a line; None without one."""
        place = line.span.token, line.sums.device_id
        return next((one for one in self.ledgers if (one.span.token, one.device_id) == place), None)

    @cached_property
    def unjudged(self) -> list[str]:
        """Names of ranks that have files of steps or kernels, but no usable step times."""
        judged = {one.span.token for one in self.ledgers if one.window_ns > 0}
        return [
            span.worker_label if span.capture.rank is None else f"rank {span.capture.rank}"
            for span in self.spans
            if _has_device_files(span) and (span.token not in judged or _lacks_times(span))
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
        return [
            IdleItems(span, one, {item: rows[kept[rows]] for item, rows in idle_items(span, one).items()})
            for span, devices in self.idle
            for one in devices
            for kept in [self._are_averaged(one)]
        ]

    def _are_averaged(self, idle: DeviceIdle) -> NDArray[np.bool_]:
        """Whether the parts of idle time belong to averaged steps."""
        kept = np.array([step.step in self.averaged for step in idle.steps], dtype=bool)
        return kept[idle.gaps.step[idle.parts.gap]] if kept.any() else np.ones(len(idle.parts.gap), dtype=bool)


def device_kind_of(span: SpanData) -> str:
    """ "NPU", "GPU" or "CPU", by the format of a span; "" for a data pipeline alone."""
    return FORMATS[span.format].device


def _has_device_files(span: SpanData) -> bool:
    """Whether files of steps or kernels were recorded, usable or not."""
    if device_kind_of(span) not in ("NPU", "GPU"):
        return False
    files = (FORMATS[span.format].file(kind) for kind in span.kinds.values())
    return any(_OF_DEVICE.intersection(file.tables) for file in files if file is not None)


def _lacks_times(span: SpanData) -> bool:
    """Whether steps are computed from kernels, and a good part of these has no times."""
    kernels = span.table("kernels")
    if kernels is None or not len(kernels) or not are_computed(span):
        return False
    timed = known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns"))
    lost = sum(
        one.count for one in span.problems if one.file.endswith(span.source("kernels")) and one.severity == "error"
    )
    return bool((~timed).sum() + lost > _MOST_UNTIMED * (len(kernels) + lost))


def median_of(values: Sequence[float]) -> float:
    """Median; 0 for none."""
    return float(median(values)) if values else 0.0


def _whole(budget: RankBudget) -> int:
    """Sum of the known parts of a step."""
    parts = (budget.computing, budget.communication_not_overlapped, budget.copying, budget.free)
    return sum(part or 0 for part in parts)


def _sum(budgets: Sequence[RankBudget], averaged: Collection[Optional[str]]) -> RankBudget:
    """Sums of the known values over the averaged steps; None if no step has the value."""
    budgets = [budget for budget in budgets if budget.step in averaged] or budgets
    sums: dict[str, Any] = {}
    for name in _SUMMED:
        known = [value for budget in budgets if (value := getattr(budget, name)) is not None]
        sums[name] = sum(known) if known else None
    return replace(budgets[0], step=None, **sums)
