"""Budget of each rank and step of a run, with the figures that identify stragglers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from tb_npu_plugin.analysis.communication import statistics as communication
from tb_npu_plugin.analysis.kernels.same_kernels import LEAST_RANKS, same_kernels
from tb_npu_plugin.analysis.kernels.statistics import by_step
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.run.step_waits import NO_WAITING, LateRank, LineWaits, StepWaiting, waiting_by_step
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import UNKNOWN_PARTS, StepParts, parts_of
from tb_npu_plugin.analysis.steps.repeats import repeats


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
_STEP_TIMES = (
    "computing",
    "overlapped",
    "communication_not_overlapped",
    "copying",
    "free",
    "stage",
    "bubble",
    "preparing",
    "exposed_preparing",
)

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
