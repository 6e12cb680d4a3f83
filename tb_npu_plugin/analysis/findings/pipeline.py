"""Stages and micro-batches of a pipeline, and the rules about them: the bubble, and stages of different times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.communication.statistics import traffic_of
from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.rank_totals import RankTotals
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts, saved_by_batches, saved_by_equal_stages, split_bubble
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.cluster import BATCH, RECEIVE
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import Table, known

#: Operators between two ranks.
_BETWEEN_TWO = COMM_KINDS[0]
#: Kernel of the first stage that runs once for each micro-batch, as a part of its name.
_ONCE = "EmbeddingDenseGrad"
#: Kernel of each layer that runs once for each micro-batch, as a part of its type.
_ATTENTION_GRAD = re.compile("flash_?attention.*grad", re.IGNORECASE)


@dataclass(frozen=True)
class StageTimes:
    """Mean step of a stage, ns: medians of its ranks."""

    computing: float
    work: float
    """Computing, and the communication of its layers: without waiting."""
    bubble: float
    """Waiting for other stages."""


def stage_times(run: RunData) -> dict[int, StageTimes]:
    """The profiled stages with known computing."""
    lines: dict[int, list[RankTotals]] = {}
    for line in run.lines:
        if line.stage is not None and line.computing is not None:
            lines.setdefault(line.stage, []).append(line)
    count, out = run.step_count, {}
    for stage, own in sorted(lines.items()):
        computing = median_of([(line.computing or 0) / count for line in own])
        work = median_of([_work(run, line) for line in own])
        out[stage] = StageTimes(computing, work, median_of([bubble_of(run, line) for line in own]))
    return out


def _work(run: RunData, line: RankTotals) -> float:
    count = run.step_count
    ledger = run.ledger_of(line)
    waits = (ledger.total("waiting") if ledger is not None else 0) or (line.bubble or 0) // count
    return (line.computing or 0) / count + max((line.communication_not_overlapped or 0) / count - waits, 0)


def layers_of(run: RunData, stage: int) -> int:
    """Layers of a stage with attention, by the runs of its backward kernel; 0 if unknown."""
    batches, found = micro_batches(run), set()
    for line in run.communication.lines:
        kernels = line.kernels() if pipeline_stage(line.span.capture) == stage else None
        if kernels is not None and batches:
            chosen = kernels.take(kernels.text("type").matching(_ATTENTION_GRAD.search))
            found.add(int(Groups([chosen.text("step")], len(chosen)).count().max(initial=0)) // batches)
    return found.pop() if len(found) == 1 else 0


def bubble_of(run: RunData, line: RankTotals) -> float:
    """Waiting for other stages in the mean step, ns."""
    return (line.bubble or 0) / run.step_count


def bubbles_of(run: RunData) -> dict[tuple[str, Optional[int]], BubbleParts]:
    """Why each rank waits for other stages in the mean step: (token of its span, device) -> parts. Without ranks that do not wait
    so; empty if micro-batches or stages are unknown."""
    batches = micro_batches(run)
    times = stage_times(run) if batches else {}
    if not times or len(times) < run.stage_count:
        return {}
    computing, out = {stage: one.computing for stage, one in times.items()}, {}
    for line in run.lines:
        ledger = run.ledger_of(line)
        waiting = 0 if ledger is None else min(round(bubble_of(run, line)), ledger.total("waiting"))
        if waiting and line.stage in computing:
            parts = split_bubble(waiting, computing[line.stage], list(computing.values()), batches)
            out[line.span.token, line.device_id] = parts
    return out


def micro_batches(run: RunData) -> int:
    """Micro-batches of a step, by what ranks receive, else by a kernel of the first stage; 0 if unknown."""
    if not run.has_stages:
        return 0
    lines = [(at, line, pipeline_stage(line.span.capture)) for at, line in enumerate(run.communication.lines)]
    tables = run.communication.collectives
    received = [
        count
        for at, line, stage in lines
        if stage is not None and (count := _received(line, tables[at], 1 if stage in (1, run.stage_count) else 2))
    ]
    first = [line for _, line, stage in lines if stage == 1]
    return min(received or [count for line in first if (count := _launched(line))], default=0)


def _received(line: RankDevice, ops: Table | None, neighbours: int) -> int:
    """Micro-batches that a rank receives in a step from the same neighbour; 0 if unknown.

    A batch of sends and receives has bytes only if it receives. Neighbours have a group each, or share one.
    """
    if ops is None or not ops.has("kind"):
        return 0
    ops = ops.take(ops.text("kind").equals(_BETWEEN_TWO))
    names = ops.text("name")
    is_batch, is_receive = names.matching(BATCH.search), names.matching(RECEIVE.search)
    if is_batch.any():
        size, _ = traffic_of(ops, line.span.table("comm_bandwidth"))
        is_receive = is_batch & known(size) & (size > 0)
        if is_receive.sum() == is_batch.sum():
            return 0
    chosen = ops.take(is_receive)
    groups = chosen.text("group")
    count = int(Groups([chosen.text("step"), groups], len(chosen)).count().max(initial=0))
    return count if len({*groups.tolist()}) >= neighbours else count // neighbours


def _launched(line: RankDevice) -> int:
    """Runs of the kernel _ONCE in a step."""
    kernels = line.kernels()
    if kernels is None:
        return 0
    chosen = kernels.take(kernels.text("name").matching(lambda name: _ONCE in name))
    return int(Groups([chosen.text("step")], len(chosen)).count().max(initial=0))


# The bubble of a pipeline with few micro-batches: stages wait while it fills and drains.

#: Micro-batches for each stage from which on the bubble is small (GPipe, Huang et al. 2019: four times the stages).
_ENOUGH = 4
#: Least share of step time that is reported.
_LEAST_SHARE = 0.01
_BUBBLE_FIX = Fix(
    "fix.bubble", torch="fix.bubble.torch", megatron="fix.bubble.megatron", mindspore="fix.bubble.mindspore"
)


def _find_bubble(run: RunData) -> list[Finding]:
    """The time that as many micro-batches as suit the stages would save."""
    stages, batches = run.stage_count, micro_batches(run)
    enough = _ENOUGH * stages
    if not 0 < batches < enough or not run.step_ns:
        return []
    times = stage_times(run).values()
    works = [min(one.work, run.step_ns - one.bubble) for one in times]
    bubble = max(one.bubble for one in times)
    works += [sum(works) / len(works)] * (stages - len(works))  # stages that were not profiled
    cost = round(min(saved_by_batches(works, batches, enough), bubble))
    if cost < _LEAST_SHARE * run.step_ns:
        return []
    return [
        Finding(
            rule=BUBBLE.id,
            category=BUBBLE.category,
            subject=Subject(),
            message=Message(
                "finding.bubble",
                count=batches,
                stages=stages,
                time=duration(bubble),
                share=percent(bubble / run.step_ns),
                enough=enough,
            ),
            cost_ns=cost,
            part="bubble",
            confidence=Confidence("inferred", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=_BUBBLE_FIX.of(run, count=enough),
            check=Message("check.bubble"),
        )
    ]


def _missing_bubble(run: RunData) -> Optional[Unchecked]:
    """The stages of the ranks with their computing, and what they receive."""
    if not run.has_stages:
        return Unchecked(BUBBLE.id, Message("unchecked.no_stages"), "") if run.has_pipeline_waits else None
    if not stage_times(run):
        return Unchecked(BUBBLE.id, Message("unchecked.no_step_times"), "")
    waits = any(one.bubble >= _LEAST_SHARE * run.step_ns for one in stage_times(run).values())
    return Unchecked(BUBBLE.id, Message("unchecked.no_batches"), "") if waits and not micro_batches(run) else None


BUBBLE = Rule("bubble", "ranks", _find_bubble, _missing_bubble, needs_ranks=True, needs_training=True)

# Stages that compute for different times: the others wait for the slowest.

#: Least relative distance of the slowest stage to the mean of the others.
_LEAST_EXCESS = 0.05
#: By the place of the stage in the pipeline.
_FIRST, _LAST, _MIDDLE = (
    Fix("fix.stage_imbalance", megatron=code, mindspore="fix.stage_imbalance.mindspore")
    for code in ("fix.stage_imbalance.first", "fix.stage_imbalance.last", "fix.stage_imbalance.middle")
)
_LAYERS = Fix("fix.stage_imbalance.layers")


def _find_imbalance(run: RunData) -> list[Finding]:
    """The stage that computes longest, if it exceeds the others."""
    times = stage_times(run)
    if len(times) < 2:
        return []
    slowest = max(times, key=lambda stage: times[stage].computing)
    others = [one for stage, one in times.items() if stage != slowest]
    mean = sum(one.computing for one in others) / len(others)
    if mean <= 0 or times[slowest].computing <= mean * (1 + _LEAST_EXCESS):
        return []
    cost = _imbalance_cost(times, slowest, micro_batches(run))
    if cost < _LEAST_SHARE * run.step_ns:
        return []
    return [
        Finding(
            rule=STAGE_IMBALANCE.id,
            category=STAGE_IMBALANCE.category,
            subject=Subject(stage=slowest),
            message=Message(
                "finding.stage_imbalance",
                stage=slowest,
                time=duration(times[slowest].computing),
                share=percent(times[slowest].computing / mean - 1),
                mean=duration(mean),
            ),
            cost_ns=cost,
            part="bubble",
            confidence=Confidence("confirmed", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=advice(run, slowest, times),
            check=Message("check.stage_imbalance"),
        )
    ]


def _imbalance_cost(times: Mapping[int, StageTimes], slowest: int, batches: int) -> int:
    """What equal stages would save, ns: layers that move take their communication along. 0 if another stage works longer."""
    works = [one.work for one in times.values()]
    if times[slowest].work < max(works):
        return 0
    computing = saved_by_equal_stages([one.computing for one in times.values()], batches)
    with_layers = computing * times[slowest].work / times[slowest].computing
    return round(min(with_layers, saved_by_equal_stages(works, batches)))


def advice(run: RunData, stage: int, times: Mapping[int, StageTimes]) -> tuple[Message, ...]:
    """Which layers to move: so many that the stage computes as long as the mean. A layer takes as long as on the stage where it
    takes least: embeddings and the loss are no layers."""
    place = _FIRST if stage == 1 else _LAST if stage == run.stage_count else _MIDDLE
    layers = {one: layers_of(run, one) for one in times}
    if not all(layers.values()):
        return place.of(run, stage=stage)
    taken = min(one.computing / layers[other] for other, one in times.items())
    mean = sum(one.computing for one in times.values()) / len(times)
    count = min(round((times[stage].computing - mean) / taken), layers[stage] - 1)
    if count < 1:
        return place.of(run, stage=stage)
    return (*_LAYERS.of(run, stage=stage, count=count, layers=layers[stage]), *place.of(run, stage=stage))


def _missing_stages(run: RunData) -> Optional[Unchecked]:
    """Ranks of two stages or more."""
    if len(stage_times(run)) > 1 or not run.has_pipeline_waits:
        return None
    return Unchecked(STAGE_IMBALANCE.id, Message("unchecked.no_stages"), "")


STAGE_IMBALANCE = Rule("stage_imbalance", "ranks", _find_imbalance, _missing_stages, needs_ranks=True)
