"""Budget of each rank and step of a run, with the figures that identify stragglers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication import statistics as communication
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_computing, is_copy
from tb_npu_plugin.analysis.kernels.same_kernels import LEAST_RANKS, same_kernels
from tb_npu_plugin.analysis.kernels.statistics import by_step
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.run.step_waits import (
    NO_WAITING,
    LateRank,
    LineWaits,
    StepWaiting,
    waiting_by_step,
    waiting_in,
)
from tb_npu_plugin.analysis.run.strips import PARTS, coverage_of, device_times, exposed_waits, part_times
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import UNKNOWN_PARTS, StepParts, parts_of
from tb_npu_plugin.tables import Table, known

# Counts how often a capture without steps repeats its work, from its kernels.

#: A type of kernels that occurs more often in a step does not separate the steps.
_MOST_A_STEP = 16


def repeats(kernels: Table) -> int:
    """Number of complete, consecutive repetitions in the type sequence of the busiest stream's computing kernels; 1 if
    the sequence does not repeat.

    A training step has forward, backward and parameter update, so that neither a part of it nor the layers of a single
    step count as a repetition. Types are compared, not shapes, which may change with the input.
    """
    codes = _sequence(kernels)
    if not len(codes):
        return 1
    count = np.bincount(codes)
    rarest = np.flatnonzero(codes == np.where(count > 0, count, len(codes) + 1).argmin())
    for number in range(1, min(_MOST_A_STEP, len(rarest) - 1) + 1):
        period = int(rarest[number] - rarest[0])
        if np.array_equal(codes[period:], codes[:-period]):
            return max(len(codes) // period, 1)
    return 1


def _sequence(kernels: Table) -> NDArray[np.int64]:
    """Codes of the types (of the names for unknown types), by start."""
    rows = kernels.take((is_computing(kernels) | is_copy(kernels)) & known(kernels.ints("start_ns")))
    types = rows.text("type")
    words = types if (types.codes >= 0).any() else rows.text("name")
    rows, words = rows.take(words.codes >= 0), words.take(words.codes >= 0)
    streams = Groups([rows.ints("stream_id")], len(rows))
    if not len(streams):
        return np.zeros(0, dtype=np.int64)
    own = streams.of_row == streams.count().argmax()
    order = np.argsort(rows.ints("start_ns")[own], kind="stable")
    return np.asarray(words.codes[own][order], dtype=np.int64)


@dataclass
class RankBudget:
    """One rank and step, in ns. Null: not recorded.

    The first times are those of Step. Communication time: transit + wait + synchronization + idle = elapse.
    """

    span: str
    """Token of the span."""
    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job."""
    device_id: Optional[int]
    """Device; null if the span has one device."""
    step: Optional[str]
    """Step number; null if steps are not marked."""
    computing: Optional[int]
    """As in Step."""
    overlapped: Optional[int]
    """As in Step."""
    communication_not_overlapped: Optional[int]
    """As in Step."""
    copying: Optional[int]
    """As in Step."""
    free: Optional[int]
    """As in Step."""
    stage: Optional[int]
    """As in Step."""
    bubble: Optional[int]
    """Waiting for other pipeline stages: part of `exposed_waiting`. As in Step if unknown."""
    preparing: Optional[int]
    """As in Step."""
    exposed_preparing: Optional[int]
    """As in Step."""
    elapse: Optional[int]
    """Sum of the communication operators."""
    transit: Optional[int]
    """Transfer time."""
    wait: Optional[int]
    """Waiting during the transfer, without synchronization."""
    synchronization: Optional[int]
    """Waiting for peers before the first transfer."""
    idle: Optional[int]
    """Unattributed wait."""
    incomplete: int
    """Operators without one of these times; the sums skip that time."""
    repeats: Optional[int] = None
    """Repetitions of the work in a capture without steps; null with steps, or if unknown."""
    same_kernels: Optional[int] = None
    """Time of the kernels that other ranks ran as well (analysis.kernels.same_kernels); null if ranks can be compared
    by total computing time."""
    same_kernels_expected: Optional[int] = None
    """Median time of these kernels on the other ranks."""
    waiting: Optional[int] = None
    """Waiting for other ranks. waiting + before_transfer + transfer + small_packets + rest = elapse; an unknown part is in
    `rest`. Null if neither the trace nor another rank shows who is late."""
    before_transfer: Optional[int] = None
    """Rest of the time before the first transfer of each operator."""
    transfer: Optional[int] = None
    """`transit` without `small_packets`."""
    small_packets: Optional[int] = None
    """Transfer in packets below 16 MB (RDMA: 1 MB), which do not reach the bandwidth of the link."""
    rest: Optional[int] = None
    """Neither of these."""
    exposed_waiting: Optional[int] = None
    """Part of `communication_not_overlapped` that is `waiting`, as in the ledger; null if unknown."""
    waiting_for: tuple[LateRank, ...] = ()
    """The late ranks, the longest wait first."""
    parts: StepParts = UNKNOWN_PARTS
    """The parts of the bar."""


#: Minimum number of ranks in a stage to compare total computing time; as LEAST_PEERS of findings/outliers.py.
_PEERS = 3

#: Fields of a budget that its step has, too.
_STEP_TIMES = {field.name for field in fields(RankBudget)} & {field.name for field in fields(Step)} - {
    "step",
    "device_id",
}

_Budgets = Sequence[Sequence[RankBudget]]


def budgets_of_ranks(run: RunCommunication, waits: Sequence[LineWaits]) -> list[RankBudget]:
    """All steps of each rank; see RankBudget. waits: see step_waits_of."""
    lines = run.lines
    ranks = [_budgets(line, waiting_by_step(run, at, waits[at])) for at, line in enumerate(lines)]
    _add_repeats(lines, ranks)
    if _have_few_peers(lines, ranks):
        _add_same_kernels(lines, ranks)
    return [budget for budgets in ranks for budget in budgets]


def _add_repeats(lines: Sequence[RankDevice], ranks: _Budgets) -> None:
    """Set repeats for captures without steps: all ranks repeat their work equally often, so the minimum holds for
    all."""
    every = [budget for budgets in ranks for budget in budgets]
    if len(lines) < LEAST_RANKS or any(budget.step is not None for budget in every):
        return
    found = [repeats(kernels) for line in lines if (kernels := line.kernels()) is not None]
    count = min(found, default=1)
    for budget in every:
        budget.repeats = count if count > 1 else None


def _have_few_peers(lines: Sequence[RankDevice], ranks: _Budgets) -> bool:
    """Whether a rank has too few peers in its pipeline stage to compare total computing time, or its stage is
    unknown."""
    stages = [pipeline_stage(line.span.capture) for line in lines]
    if None in stages and any(budget.bubble for budgets in ranks for budget in budgets):
        return len(lines) >= LEAST_RANKS
    return len(lines) >= LEAST_RANKS and min(Counter(stages).values()) < _PEERS


def _add_same_kernels(lines: Sequence[RankDevice], ranks: _Budgets) -> None:
    found = same_kernels([line.kernels() for line in lines])
    for budgets, by_name in zip(ranks, found):
        for budget in budgets:
            if (figures := by_name.get(budget.step)) is not None:
                budget.same_kernels, budget.same_kernels_expected = figures.taken, figures.expected


def _budgets(line: RankDevice, waiting: Mapping[Optional[str], StepWaiting]) -> list[RankBudget]:
    """One per step of the step table, and one per step found only in communication.json."""
    ops = line.comm_ops
    splits = {} if ops is None else {step: communication.split(rows) for step, rows in by_step(ops).items()}
    unknown = communication.UNKNOWN_SPLIT
    out = [
        rank_budget(line, step.step, step, splits.pop(step.step, unknown), waiting.get(step.step, NO_WAITING))
        for step in line.steps
    ]
    return out + [rank_budget(line, step, None, split, waiting.get(step, NO_WAITING)) for step, split in splits.items()]


def rank_budget(
    line: RankDevice, name: str | None, step: Step | None, split: communication.Split, waiting: StepWaiting
) -> RankBudget:
    """What a rank did in the step `name`. step: None if only communication is known."""
    span = line.span
    times: dict[str, Any] = {key: getattr(step, key, None) for key in _STEP_TIMES} | vars(waiting)
    beside = times.pop("bubble_beside")
    if waiting.bubble is None:
        times["bubble"] = getattr(step, "bubble", None)
    return RankBudget(
        span.token,
        span.worker_label,
        span.capture.rank,
        line.device_id,
        name,
        **times,
        elapse=split.elapse,
        transit=split.transit,
        wait=split.wait,
        synchronization=split.synchronization,
        idle=split.idle,
        incomplete=split.incomplete,
        parts=UNKNOWN_PARTS if step is None else parts_of(step, waiting.exposed_waiting, beside),
    )


# The ranks of a run in a time range, by the clock of each rank.

_KEYS = ("step", "kind", "name", "group")


def budgets_in(run: RunCommunication, start: int, end: int) -> list[RankBudget]:
    """One for each line of the run. Communication is that of the operators that overlap [start, end), ns since the epoch, each
    as a whole; `parts` are those of the range itself. What is recorded for whole steps is unknown."""
    return [_budget(run, at, start, end) for at in range(len(run.lines))]


def _budget(run: RunCommunication, at: int, start: int, end: int) -> RankBudget:
    line, rows = run.lines[at], run.rows_in(at, start, end)
    split = communication.UNKNOWN_SPLIT if line.comm_ops is None else communication.split(line.comm_ops.take(rows))
    waiting = waiting_in(run, at, rows)
    budget = rank_budget(line, None, None, split, waiting)
    budget.parts = _parts(run, at, start, end, waiting.waiting is not None)
    return budget


def _parts(run: RunCommunication, at: int, start: int, end: int, has_waiting: bool) -> StepParts:
    """What the device did in the range; unknown without task times, and for a rank of several devices."""
    line = run.lines[at]
    times = None if sum(one.span is line.span for one in run.lines) > 1 else device_times(line)
    if times is None:
        return UNKNOWN_PARTS
    waits = coverage_of(exposed_waits(run, at, times))
    found = part_times(times, waits, np.array([start, end], dtype=np.int64))
    parts = StepParts(**dict(zip(PARTS, found[:, 0].tolist())))
    return parts if has_waiting else replace(parts, waiting=None)


def of_operators(bandwidth: Table, operators: Table) -> Table:
    """The rows of comm_bandwidth of some rows of comm_ops."""
    chosen = set(zip(*(operators.text(key).tolist() for key in _KEYS)))
    keys = zip(*(bandwidth.text(key).tolist() for key in _KEYS))
    return bandwidth.take(np.array([key in chosen for key in keys], dtype=bool))
