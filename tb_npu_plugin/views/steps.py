"""Step budgets of a span, used by several views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Optional, TypedDict, cast

import numpy as np

from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.schema.trace import STEP_MARK


class StepJson(TypedDict):
    """Times of a step on a device, in ns. Null: not recorded.

    computing + communication_not_overlapped + copying + free = stage + bubble, within the rounding of the files.
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
    """Waiting for another pipeline stage."""
    preparing: Optional[int]
    """From the step's start on the host to its first device task."""
    exposed_preparing: Optional[int]
    """Part of `preparing` in which no other step runs on the device."""


def steps_of(span: SpanData) -> tuple[list[StepJson], str | None]:
    """Step budgets and their file: step_trace_time.csv, else computed from the kernels."""
    steps, source = _steps(span)
    return [_step_json(step) for step in steps], source


def budgets_of_span(span: SpanData) -> list[analysis.Step]:
    """Step budgets; those of a device are sorted by time."""
    return _steps(span)[0]


def averaged_of_span(span: SpanData, steps: Sequence[analysis.Step]) -> list[analysis.Step]:
    """The members of `steps` (all steps of a span) that enter the mean step."""
    source: analysis.StepSource = "computed" if are_computed(span) else "recorded"
    return [steps[at] for at in analysis.averaged_steps([step.device_id for step in steps], source)]


def _steps(span: SpanData) -> tuple[list[analysis.Step], str | None]:
    trace = span.table("step_trace")
    if trace is not None and len(trace):
        return analysis.from_step_trace(trace), span.source("step_trace")
    kernels = span.table("kernels")
    if kernels is None or not len(kernels):
        return [], None
    if span.rows("iterations") and not (kernels.text("step").codes >= 0).any():
        return [], None  # kernels of single steps only: the budget of the steps is unknown
    return analysis.from_kernels(kernels), span.source("kernels")


def are_computed(span: SpanData) -> bool:
    """Whether step budgets must be computed: GPU traces have kernels and step marks, but no budgets."""
    if span.format == KINETO.id:
        return bool(span.rows("step_trace"))
    return not span.rows("step_trace") and bool(_steps(span)[0])


def elapsed_steps(span: SpanData) -> int | None:
    """Time from the start of the first step to the end of the last, ns, by host marks. Without marks, of the device
    that took longest, including the preparing of its first step. None if unknown."""
    marked = _marked_time(span)
    if marked is not None:
        return marked
    by_device: dict[int | None, int | None] = {}
    for step in _steps(span)[0]:
        before, total = by_device.get(step.device_id, 0), step.total_ns
        is_known = before is not None and total is not None
        by_device[step.device_id] = (before or 0) + (total or 0) + (step.exposed_preparing or 0) if is_known else None
    times = list(by_device.values())
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _marked_time(span: SpanData) -> int | None:
    """Time from the first mark to the end of the last, from the table of marks, else from the timeline."""
    marks = span.table("step_marks")
    if marks is not None and len(marks):
        return int(marks.ints("end_ns").max() - marks.ints("start_ns").min())
    timeline = span.timeline
    if timeline is None or timeline.partial is not None:
        return None
    names = [code for code, name in enumerate(timeline.names) if name is not None and name.startswith(STEP_MARK)]
    slices = np.flatnonzero(np.isin(timeline.name, names))
    if not len(slices):
        return None
    start, dur = timeline.rows.start[slices], timeline.rows.dur[slices]
    return int((start + dur).max() - start.min())


def _step_json(step: analysis.Step) -> StepJson:
    found = asdict(step)
    return cast(StepJson, {key: found[key] for key in StepJson.__annotations__})
