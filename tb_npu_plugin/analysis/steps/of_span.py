"""Step budgets of a span: recorded, or computed from its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.steps import partition
from tb_npu_plugin.analysis.steps.iterations import groups_of, main_groups, steps_in
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.schema.trace import STEP_MARK


def averaged_of_span(span: SpanData, steps: Sequence[Step]) -> list[Step]:
    """The members of `steps` (all steps of a span) that enter the mean step. Of iterations, all of one phase do: none is
    cut."""
    groups = groups_of(span)
    if groups:
        chosen = steps_in(main_groups(groups))
        return [step for step in steps if step.step in chosen]
    source: partition.StepSource = "computed" if are_computed(span) else "recorded"
    return [steps[at] for at in partition.averaged_steps([step.device_id for step in steps], source)]


def steps_and_source(span: SpanData) -> tuple[list[Step], str | None]:
    """Step budgets and their file: step_trace_time.csv, else computed from the kernels. Sorted by time on a device."""
    trace = span.table("step_trace")
    if trace is not None and len(trace):
        steps = partition.from_step_trace(trace)
        return _with_meant_communication(span, steps) if span.format == KINETO.id else steps, span.source("step_trace")
    kernels = span.table("kernels")
    if kernels is None or not len(kernels):
        return [], None
    if span.rows("iterations") and not (kernels.text("step").codes >= 0).any():
        return [], None  # kernels of single steps only: the budget of the steps is unknown
    return partition.from_kernels(kernels), span.source("kernels")


def _with_meant_communication(span: SpanData, steps: list[Step]) -> list[Step]:
    """The budgets with all kernels that mean communication: the reader, which computed them, knows NCCL's."""
    kernels = span.table("kernels")
    if kernels is None or (is_communication(kernels) == kernels.text("core").isin(COMMUNICATION_CORES)).all():
        return steps
    computed = {(step.step, step.device_id): step for step in partition.from_kernels(kernels)}
    return [
        replace(
            computed[step.step, step.device_id],
            copying=computed[step.step, step.device_id].copying or 0,
            preparing=step.preparing,
            exposed_preparing=step.exposed_preparing,
        )
        for step in steps
    ]


def timed_steps(span: SpanData) -> list[tuple[Step, int, int]]:
    """(step, start, end on the device, ns since the epoch) of the numbered steps whose start and step time are known, by
    start. The end is the start plus the step time."""
    found = [
        (step, step.start_ns, step.start_ns + total)
        for step in steps_and_source(span)[0]
        if step.step is not None and step.start_ns is not None and (total := step.total_ns) is not None
    ]
    return sorted(found, key=lambda one: one[1])


def are_computed(span: SpanData) -> bool:
    """Whether step budgets must be computed: GPU traces have kernels and step marks, but no budgets; nor have iterations."""
    if span.format == KINETO.id or span.rows("engine_iterations"):
        return bool(span.rows("step_trace"))
    return not span.rows("step_trace") and bool(steps_and_source(span)[0])


def elapsed_steps(span: SpanData) -> int | None:
    """Time from the start of the first step to the end of the last, ns, by host marks. Without marks, of the device
    that took longest, including the preparing of its first step. None if unknown."""
    marked = _marked_time(span)
    if marked is not None:
        return marked
    by_device: dict[int | None, int | None] = {}
    for step in steps_and_source(span)[0]:
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
    found = marks_of_timeline(span).values()
    return max(end for _, end in found) - min(start for start, _ in found) if found else None


def marks_of_timeline(span: SpanData) -> dict[str, tuple[int, int]]:
    """Step -> (start, end) of its mark on the host, ns since the epoch; {} without a whole timeline."""
    timeline = span.timeline
    if timeline is None or timeline.partial is not None:
        return {}
    names = dict(enumerate(timeline.names.take(np.arange(len(timeline.names)))))
    names = {code: name[len(STEP_MARK) :] for code, name in names.items() if name.startswith(STEP_MARK)}
    out: dict[str, tuple[int, int]] = {}
    for row in np.flatnonzero(np.isin(timeline.name, list(names))).tolist():
        step, start = names[int(timeline.name[row])], timeline.base_ns + int(timeline.rows.start[row])
        end = start + int(timeline.rows.dur[row])
        first, last = out.get(step, (start, end))
        out[step] = min(first, start), max(last, end)
    return out
