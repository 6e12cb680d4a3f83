"""Analyses the MindSpore data pipeline: queue usage, CPU of its operators, queue lengths per batch.

Source: docs/facts/mindinsight.md, Data preparation, Rules with thresholds. Rules skip unknown values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Optional, get_args

import numpy as np

from tb_npu_plugin.analysis.grouping import known_sum
from tb_npu_plugin.schema.minddata import QUEUE_DEVICE, QUEUE_HOST, SCOPE_MACHINE, QueueName
from tb_npu_plugin.tables import NULL_INT, FloatArray, Table, known

#: Minimum number of batches for a verdict, without the first, which waits for the pipeline to fill.
MIN_BATCHES = 10
#: Share of batches that found the host queue empty, from which the pipeline is the bottleneck.
EMPTY_SHARE = 0.30
#: Limit of: usage of an operator's input queue minus usage of its output queue. Above it the operator is a bottleneck.
HELD_UP = 0.10
#: Output queue usage below which an operator that reads data is too slow.
LOW_USAGE = 0.60
#: Output queue usage from which no operator before the queue is a bottleneck.
HIGH_USAGE = 0.80
#: CPU of one worker in percent: busy above, idle below.
BUSY_WORKER, IDLE_WORKER = 75.0, 20.0
#: CPU of the machine in percent, above which more workers do not help.
BUSY_MACHINE = 80.0

#: Most important rule first.
PipelineRule = Literal["held_up", "slow_source", "busy_machine", "busy_workers", "idle_workers"]
PIPELINE_RULES: tuple[PipelineRule, ...] = get_args(PipelineRule)

#: Operators that only pass rows on and are never bottlenecks. Without the "Op" of older versions.
PASS_THROUGH_OPS = frozenset(
    ("Barrier", "Concat", "DeviceQueue", "EpochCtrl", "Project", "Rename", "Repeat", "Shuffle", "Skip", "Take", "Zip")
)


@dataclass(frozen=True)
class PipelineOp:
    """An operator of a dataset pipeline. None: not recorded."""

    op_id: int
    """0 is the end of the pipeline."""
    name: str
    """Type of the operator."""
    workers: Optional[int]
    """Worker threads or processes."""
    parent_id: Optional[int]
    """The operator that consumes its output."""
    children: tuple[int, ...]
    """The operators that it consumes."""
    capacity: Optional[int]
    """Size of its output queue."""
    average: Optional[float]
    """Mean length of its output queue."""
    usage: Optional[float]
    """average / capacity, 0 to 1."""
    input_usage: Optional[float]
    """Usage of the nearest queue before it; None for an operator that reads the source data."""
    empty: Optional[float]
    """Percent of the samples in which its output queue was empty."""
    cpu: Optional[float]
    """Percent of one core."""
    score: Optional[float]
    """Degree to which it delays the others, 0 to 1."""

    @property
    def kind(self) -> str:
        """Type without "Op": Map and MapOp are the same, by version."""
        return self.name[:-2] if self.name.endswith("Op") else self.name


@dataclass(frozen=True)
class PipelineQueue:
    """Batches taken from a queue, without the first."""

    queue: QueueName
    """Which of the two queues."""
    batches: int
    """Batches whose queue length is known."""
    empty: int
    """Batches that found the queue empty."""

    @property
    def share(self) -> float | None:
        """Share of batches that found the queue empty."""
        return self.empty / self.batches if self.batches else None


@dataclass(frozen=True)
class PipelineFinding:
    """A rule whose condition holds."""

    rule: PipelineRule
    """held_up, slow_source: usages, 0 to 1. busy_workers, idle_workers, busy_machine: percent of CPU."""
    op_id: Optional[int]
    """The operator; None for the whole pipeline."""
    value: float
    """Measured value."""
    limit: float
    """Limit that the value exceeds."""


@dataclass(frozen=True)
class Pipeline:
    """`verdict`: "processing" (the pipeline is too slow), "transfer" (to the device), "compute" (data arrive in time),
    "unknown". `bottleneck`: the operator that delays the others most."""

    ops: Sequence[PipelineOp]
    queues: Sequence[PipelineQueue]
    verdict: str
    bottleneck: Optional[int]
    machine_cpu: Optional[float]
    findings: Sequence[PipelineFinding] = field(default_factory=tuple)


def analyse_pipeline(ops: Table | None, batches: Table | None, cpu: Table | None) -> Pipeline:
    """Analyse the logical tables minddata_ops, minddata_batches, minddata_cpu; any may be missing."""
    found = [] if ops is None else operators(ops, {} if cpu is None else _cpu_of_ops(cpu))
    ends = [] if batches is None else queues(batches)
    machine = None if cpu is None else _machine(cpu)
    slow = bottlenecks(found)
    worst = max(slow, key=lambda op: op.score or 0.0, default=None)
    bottleneck = None if worst is None else worst.op_id
    return Pipeline(found, ends, verdict(ends), bottleneck, machine, _findings(found, slow, machine))


def operators(table: Table, cpu: Mapping[int, float]) -> list[PipelineOp]:
    """Rows of minddata_ops with derived fields. `cpu`: percent of one core by operator, for operators without it in the
    table."""
    ids, parents = table.ints("op_id").tolist(), table.ints("parent_id").tolist()
    usage = dict(zip(ids, table.floats("queue_usage").tolist()))
    children: dict[int, list[int]] = {op_id: [] for op_id in ids}
    for op_id, parent in zip(ids, parents):
        if parent in children:
            children[parent].append(op_id)
    out = []
    names = table.text("name").tolist()
    workers, capacity = table.ints("workers").tolist(), table.ints("queue_capacity").tolist()
    average, empty = table.floats("queue_average").tolist(), table.floats("queue_empty").tolist()
    percent = table.floats("cpu").tolist()
    for row, op_id in enumerate(ids):
        before = _input(op_id, children, usage)
        own, own_cpu = _float(usage[op_id]), _float(percent[row])
        name = names[row] or ""
        out.append(
            PipelineOp(
                op_id,
                name,
                _int(workers[row]),
                _int(parents[row]),
                tuple(children[op_id]),
                _int(capacity[row]),
                _float(average[row]),
                own,
                before,
                _float(empty[row]),
                cpu.get(op_id) if own_cpu is None else own_cpu,
                _score(name, own, before, bool(children[op_id])),
            )
        )
    return out


def queues(batches: Table) -> list[PipelineQueue]:
    """Host and device queue, with the lengths that batches found."""
    sizes, numbers, of = batches.ints("size"), batches.ints("batch"), batches.text("queue")
    out = []
    names: tuple[QueueName, ...] = (QUEUE_HOST, QUEUE_DEVICE)
    for name in names:
        counted = of.equals(name) & known(sizes) & (numbers > 1)
        if counted.any():
            out.append(PipelineQueue(name, int(counted.sum()), int((sizes[counted] == 0).sum())))
    return out


def verdict(ends: Sequence[PipelineQueue]) -> str:
    """See Pipeline."""
    by_name = {queue.queue: queue for queue in ends}
    host, device = by_name.get(QUEUE_HOST), by_name.get(QUEUE_DEVICE)
    if host is None or host.batches < MIN_BATCHES:
        return "unknown"
    if host.empty > EMPTY_SHARE * host.batches:
        return "processing"
    return "transfer" if device is not None and device.empty else "compute"


def _input(op_id: int, children: Mapping[int, Sequence[int]], usage: Mapping[int, float]) -> float | None:
    """Usage of the nearest queue before an operator, following first children."""
    seen = {op_id}
    below = children[op_id]
    while below and below[0] not in seen:
        first = below[0]
        if not np.isnan(usage[first]):
            return usage[first]
        seen.add(first)  # a damaged file may contain a cycle
        below = children[first]
    return None


def _score(name: str, own: float | None, before: float | None, has_children: bool) -> float | None:
    kind = name[:-2] if name.endswith("Op") else name
    if own is None or kind in PASS_THROUGH_OPS:
        return None
    if not has_children:
        return 1.0 - own
    return None if before is None else max(0.0, before - own)


def bottlenecks(ops: Sequence[PipelineOp]) -> list[PipelineOp]:
    """Bottlenecks: operators whose score exceeds the limit, with no full queue between them and the device. A full
    queue shows that all operators before it are fast enough."""
    by_id = {op.op_id: op for op in ops}

    def full_behind(op: PipelineOp) -> bool:
        seen: set[int] = set()  # a damaged file may contain a cycle
        at: PipelineOp | None = op
        while at is not None and at.op_id not in seen:
            if at.usage is not None and at.usage >= HIGH_USAGE:
                return True
            seen.add(at.op_id)
            at = None if at.parent_id is None else by_id.get(at.parent_id)
        return False

    def limit(op: PipelineOp) -> float:
        return HELD_UP if op.children else 1.0 - LOW_USAGE

    return [op for op in ops if op.score is not None and op.score > limit(op) and not full_behind(op)]


def _findings(ops: Sequence[PipelineOp], slow: Sequence[PipelineOp], machine: float | None) -> list[PipelineFinding]:
    out = []
    for op in ops:
        if op in slow:
            rule: PipelineRule = "held_up" if op.children else "slow_source"
            value, limit = (op.score, HELD_UP) if op.children else (op.usage, LOW_USAGE)
            out.append(PipelineFinding(rule, op.op_id, value or 0.0, limit))
        each = op.cpu / op.workers if op.cpu is not None and op.workers else None
        if each is not None and each > BUSY_WORKER:
            out.append(PipelineFinding("busy_workers", op.op_id, each, BUSY_WORKER))
        elif each is not None and each < IDLE_WORKER and (op.workers or 0) > 1:
            out.append(PipelineFinding("idle_workers", op.op_id, each, IDLE_WORKER))
    if machine is not None and machine > BUSY_MACHINE:
        out.append(PipelineFinding("busy_machine", None, machine, BUSY_MACHINE))
    return sorted(out, key=lambda finding: PIPELINE_RULES.index(finding.rule))


def _cpu_of_ops(cpu: Table) -> dict[int, float]:
    """Mean of user and system time by operator, percent of one core."""
    ids, both = cpu.ints("op_id"), _busy_percent(cpu)
    counted = known(ids) & ~np.isnan(both)
    return {int(op): float(both[counted & (ids == op)].mean()) for op in np.unique(ids[counted])}


def _machine(cpu: Table) -> float | None:
    """Mean CPU of the whole machine in percent."""
    idle = cpu.floats("idle")[cpu.text("scope").equals(SCOPE_MACHINE)]
    idle = idle[~np.isnan(idle)]
    return float(100.0 - idle.mean()) if len(idle) else None


def _busy_percent(cpu: Table) -> FloatArray:
    return cpu.floats("user") + cpu.floats("sys")


def _int(value: int) -> int | None:
    return None if value == NULL_INT else int(value)


def _float(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True)
class Loader:
    """Time that the host waited for the PyTorch DataLoader: calls, sum and longest, ns."""

    calls: int
    total_ns: int
    longest_ns: int


#: Name of taking a batch in PyTorch, and of the range that torch_npu puts around it.
LOADER_NAMES = ("enumerate(DataLoader)", "dataloader")


def loader(operators_table: Table) -> Loader | None:
    """Waits for a DataLoader, by names of host operators; None without one. The range of torch_npu contains PyTorch's
    operator: if both exist, only PyTorch's counts."""
    names = operators_table.text("name")
    inner = [value for value in names.values if value.startswith(LOADER_NAMES[0])]
    wanted = inner or [LOADER_NAMES[1]]
    times = operators_table.ints("host_total_ns")[names.isin(wanted)]
    times = times[known(times)]
    return Loader(len(times), known_sum(times) or 0, int(times.max())) if len(times) else None
