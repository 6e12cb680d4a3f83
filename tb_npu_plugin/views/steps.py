"""Step budgets of a span, used by several views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Optional, TypedDict, cast

from tb_npu_plugin.analysis.run.step_waits import NO_WAITING, LateRank, StepPlace, StepWaiting
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import StepParts, parts_of
from tb_npu_plugin.messages import Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.serving import ITERATION
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import ViewTable


class StepJson(TypedDict):
    """Times of a step on a device, in ns. Null: not recorded.

    computing + communication_not_overlapped + copying + free is the step time: Stage + Bubble of the files, within their rounding.
    """

    step: Optional[str]
    """Step number; null if steps are not marked."""
    device_id: Optional[int]
    """Device; null if the result has one device."""
    computing: Optional[int]
    """Device time in compute kernels."""
    communication_not_overlapped: Optional[int]
    """Exposed communication."""
    overlapped: Optional[int]
    """Communication hidden behind computing."""
    communication: Optional[int]
    """All communication: exposed and overlapped."""
    copying: Optional[int]
    """Time in which only copies run."""
    free: Optional[int]
    """Nothing runs on the device."""
    stage: Optional[int]
    """Step time as recorded, without the bubble."""
    bubble: Optional[int]
    """Waiting for other pipeline stages: part of `exposed_waiting`. The recorded Bubble if unknown."""
    preparing: Optional[int]
    """From the step's start on the host to its first device task."""
    exposed_preparing: Optional[int]
    """Part of `preparing` in which no other step runs on the device."""
    exposed_waiting: Optional[int]
    """Part of `communication_not_overlapped` that waits for other ranks, as in the ledger; null if neither the trace nor the
    other ranks of the run show it."""
    waiting_for: list[LateRank]
    """These ranks, the longest wait first."""
    parts: StepParts
    """The parts of the bar."""


#: Steps that are sent at most.
MOST_STEPS = 1000


def sent_steps(
    names: Sequence[Optional[str]], wanted: Optional[str], most: int = MOST_STEPS
) -> frozenset[Optional[str]]:
    """Names of the first `most` steps, and the wanted one. names: of each step and device."""
    return frozenset(names[:most]) | ({wanted} & set(names[most:]))


def period_of(span: SpanData, steps: Iterable[Optional[str]]) -> Period:
    """What `steps` of a span are: iterations of a serving engine, steps, or the whole capture where none is marked."""
    if span.rows("engine_iterations"):
        return "iteration"
    return "step" if any(step is not None for step in steps) else "capture"


def in_period(table: ViewTable, spans: Iterable[SpanData]) -> ViewTable:
    """The table; its column "step" is called iteration if the spans have those of a serving engine."""
    if not any(span.rows("engine_iterations") for span in spans):
        return table
    columns = tuple(ITERATION if one.key == ITERATION.key else one for one in table.table.columns)
    return replace(table, table=Table(columns, table.table.data))


def step_json(step: Step, waiting: Mapping[StepPlace, StepWaiting]) -> StepJson:
    """A step as the contract has it. waiting: of the steps where it is known."""
    own = waiting.get((step.step, step.device_id), NO_WAITING)
    bubble = step.bubble if own.bubble is None else own.bubble
    found = asdict(step) | {
        "bubble": bubble,
        "exposed_waiting": own.exposed_waiting,
        "waiting_for": list(own.waiting_for),
        "parts": parts_of(step, own.exposed_waiting, own.bubble_beside),
    }
    return cast(StepJson, {key: found[key] for key in StepJson.__annotations__})
