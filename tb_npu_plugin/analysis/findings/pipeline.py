"""Stages and micro-batches of a pipeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.communication.statistics import traffic_of
from tb_npu_plugin.analysis.findings.rank_totals import RankTotals
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts, split_bubble
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.devices import RankDevice
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
