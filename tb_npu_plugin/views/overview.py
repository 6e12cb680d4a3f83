"""Overview: step budgets, capture settings, the top kernels and operators."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.grouping import largest_first
from tb_npu_plugin.analysis.idle.input_bound import InputBoundSteps, input_bound_steps
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.analysis.kernels import statistics as kernel_analysis
from tb_npu_plugin.analysis.operators import statistics as operator_analysis
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.step_waits import waiting_of_span
from tb_npu_plugin.analysis.steps.of_span import are_computed, steps_and_source
from tb_npu_plugin.analysis.steps.step_trace import StepTimes
from tb_npu_plugin.messages import Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.trace_events import HARDWARE
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.capture import CaptureJson, capture_json
from tb_npu_plugin.views.step_trace import mean_course
from tb_npu_plugin.views.steps import StepJson, period_of, sent_steps, step_json


class DeviceWork(TypedDict):
    """Streams and tasks of the trace, without communication operators and their planes."""

    streams: int
    """Streams with tasks."""
    tasks: int
    """Tasks on them."""


class OverviewJson(TypedDict):
    """Steps, capture and largest consumers of time.

    Tables: "kernels" (the ten largest by type and core, or by name and core where types are unknown; without
    communication; of the parameter `step`, if kernels name theirs), "operators" (the ten largest by device self time; by host self time where nothing ran on a device).
    """

    steps: list[StepJson]
    """The first MOST_STEPS steps and that of the parameter `step`; view step_trace has all."""
    step_count: int
    """Number of all steps."""
    steps_source: Optional[str]
    """File of the steps."""
    steps_computed: bool
    """Whether steps are computed from kernels (analysis.steps.partition); bubble and preparing are unknown then."""
    period: Period
    """What the steps are; "capture" without marks."""
    course: Optional[StepTimes]
    """The mean step, if only points of the steps were recorded."""
    course_steps: int
    """Number of steps in `course`."""
    capture: CaptureJson
    """Capture settings."""
    input_bound: Optional[InputBoundSteps]
    """Input-bound steps; null before the trace is read, or if it does not show it."""
    device_work: Optional[DeviceWork]
    """What ran on the device; null before the trace is read, or if it does not show it."""


#: Rows of the tables "kernels" and "operators".
TOP = 10


def build(source: ViewInput) -> ViewResult:
    """See OverviewJson."""
    span = source.spans[0]
    steps, steps_source = steps_and_source(span)
    sent = sent_steps([step.step for step in steps], source.params.get("step"))
    waiting = waiting_of_span(span, RunCommunication(source.ranks_of(0)))
    course, course_steps = (None, 0) if steps else mean_course(span)
    data: OverviewJson = {
        "steps": [step_json(step, waiting) for step in steps if step.step in sent],
        "step_count": len(steps),
        "steps_source": steps_source,
        "steps_computed": are_computed(span),
        "period": period_of(span, (step.step for step in steps)),
        "course": course,
        "course_steps": course_steps,
        "capture": capture_json(span),
        "input_bound": input_bound_steps(idle_of(span)),
        "device_work": _device_work(span),
    }
    tables = {}
    kernels, operators = _top_kernels(span, source.params.get("step")), span.table("operators")
    if kernels is not None:
        tables["kernels"] = ViewTable(kernels, "total_ns")
    if operators is not None:
        tables["operators"] = _top_operators(operators)
    return ViewResult(data, tables, span.base_ns)


def _device_work(span: SpanData) -> Optional[DeviceWork]:
    timeline = span.timeline
    if timeline is None or timeline.partial is not None:
        return None
    tasks = [track["slices"] for track in timeline.tracks if track["process"] == HARDWARE and track["slices"]]
    return {"streams": len(tasks), "tasks": sum(tasks)} if tasks else None


def _top_kernels(span: SpanData, step: Optional[str]) -> Table | None:
    kernels = span.table("kernels")
    if kernels is not None:
        of_step = kernels.text("step").equals(step or "")
        kernels = kernels.take(of_step) if of_step.any() else kernels
        return kernel_analysis.top_computing(kernels, TOP)
    statistic = span.table("op_statistic")
    return None if statistic is None else statistic.take(largest_first(statistic.ints("total_ns"))[:TOP])


def _top_operators(operators: Table) -> ViewTable:
    """By device self time, or by host self time if nothing ran on a device."""
    table = operator_analysis.by_name(operators)
    sort = "device_self_ns" if (table.ints("device_self_ns") > 0).any() else "host_self_ns"
    return ViewTable(table.take(largest_first(table.ints(sort))[:TOP]), sort)


VIEW = View(
    id="overview",
    scope="span",
    needs=(),
    build=build,
    contract=OverviewJson,
    params=(Param("step", doc="A step to send as well, whatever its number; `kernels` are its kernels."),),
    early=True,
    from_trace=(("step_trace", "kernels"),),
    with_trace=True,
    with_ranks=True,
)
