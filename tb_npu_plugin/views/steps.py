"""Step budgets of a span, used by several views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Optional, TypedDict, cast

from tb_npu_plugin.analysis.run.step_waits import NO_WAITING, LateRank, StepPlace, StepWaiting
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import StepParts, parts_of
from tb_npu_plugin.model import SpanData


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


def steps_of(
    span: SpanData, waiting: Optional[Mapping[StepPlace, StepWaiting]] = None
) -> tuple[list[StepJson], str | None]:
    """Step budgets and their file: step_trace_time.csv, else computed from the kernels. waiting: of the steps, if known."""
    steps, source = steps_and_source(span)
    return [_step_json(step, (waiting or {}).get((step.step, step.device_id), NO_WAITING)) for step in steps], source


def _step_json(step: Step, waiting: StepWaiting) -> StepJson:
    bubble = step.bubble if waiting.bubble is None else waiting.bubble
    found = asdict(step) | {
        "bubble": bubble,
        "exposed_waiting": waiting.exposed_waiting,
        "waiting_for": list(waiting.waiting_for),
        "parts": parts_of(step, waiting.exposed_waiting, waiting.bubble_beside),
    }
    return cast(StepJson, {key: found[key] for key in StepJson.__annotations__})
