"""Step trace: gap, forward and backward, parameter update and all-reduces of each step, and their means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Literal, Optional, TypedDict, cast

import numpy as np

from tb_npu_plugin.analysis.grouping import group_rows
from tb_npu_plugin.analysis.steps import step_trace as analysis
from tb_npu_plugin.analysis.steps.iterations import TimeBetween, groups_of, main_groups, steps_in, time_between
from tb_npu_plugin.analysis.steps.of_span import are_computed
from tb_npu_plugin.analysis.steps.step_trace import Reduce, StepTimes
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import NULL_INT, Column, GroupByQuery, IntArray, Kind, Table, column_texts, from_lists
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable


class AveragedJson(TypedDict):
    """Steps that enter a mean."""

    count: int
    """Their number."""
    first: Optional[str]
    """The first; null if it is not marked, and without steps."""
    last: Optional[str]
    """The last."""
    gaps: int
    """Those whose gap is known."""


class StepTraceJson(TypedDict):
    """Phases of the steps. Table "steps" has the columns of StepTimes. Of iterations of a serving engine, it has those of
    engine_iterations, and table "groups" their percentiles by phase and number of requests.

    Parameters: `step` (empty: the mean), `device` (empty: the first).
    """

    source: str
    """File of the steps."""
    devices: list[int]
    """Devices with known steps, if there are several."""
    device: Optional[int]
    """The device shown; null if there is one."""
    method: Literal["points", "kernels", "figures", "iterations"]
    """ "points": recorded, the gap comes first. "kernels": forward and backward end with the last compute kernel, the gap
    comes last. "figures": from step_trace_time.csv. "iterations": of a serving engine, from the first to the last kernel."""
    steps: list[StepTimes]
    """The steps by time: all, or of more than MOST_STEPS the shortest and the longest of each stretch, and the one shown."""
    mean: StepTimes
    """Mean of the steps in the field `averaged`."""
    averaged: AveragedJson
    """What enters the mean."""
    recorded: Optional[StepTimes]
    """The mean in the file, for comparison."""
    chosen: Optional[str]
    """The step shown; null for the mean."""
    reduces: list[Reduce]
    """Communication operators of the step shown."""
    between: Optional[TimeBetween]
    """Time between iterations; null for steps, and for one iteration."""
    fp_point: Optional[str]
    """Operator at the start of the forward pass."""
    bp_point: Optional[str]
    """Operator at the end of the backward pass."""


#: Steps of the trend that are sent at most; the table pages through all of them.
MOST_STEPS = 2000
COLUMNS = columns_of("step_times")
GROUP_COLUMNS = columns_of("iteration_groups")


def build(source: ViewInput) -> ViewResult:
    """See StepTraceJson."""
    span = source.spans[0]
    devices = _devices(span)
    asked = source.params.get("device", "")
    if asked and asked not in map(str, devices):
        raise BadRequest(Message("error.device_steps", device=repr(asked[:80])), Message("hint.device_first"))
    device = None if len(devices) < 2 else int(asked or devices[0])
    trace, file = _trace(span, device)
    groups = groups_of(span)
    averaged = steps_in(main_groups(groups))
    counted = [step for step in trace.steps if step.step in averaged] if groups else trace.averaged
    wanted = source.params.get("step", "")
    chosen = next((step for step in trace.steps if wanted and step.step == wanted), None)
    if wanted and chosen is None:
        raise BadRequest(Message("error.trace_step", step=repr(wanted[:80])), Message("hint.step_mean"))
    reduces = analysis.mean_reduces(trace, counted) if chosen is None else trace.reduces.get(chosen.step, [])
    fp_point, bp_point = _points(span, None if chosen is None else chosen.step)
    data: StepTraceJson = {
        "source": file,
        "devices": devices,
        "device": device,
        "method": trace.method,
        "steps": [_times(step, span.base_ns) for step in _thinned(trace.steps, chosen)],
        "mean": _times(analysis.mean_step(counted), 0),
        "averaged": _averaged_json(counted),
        "recorded": None if trace.recorded is None else _times(trace.recorded, 0),
        "chosen": None if chosen is None else chosen.step,
        "reduces": list(reduces),
        "between": time_between(_bounds(trace.steps)) if groups else None,
        "fp_point": fp_point,
        "bp_point": bp_point,
    }
    tables = {"steps": ViewTable(_table(trace.steps), "start_ns", desc=False)}
    iterations = span.table("engine_iterations")
    if iterations is not None and groups:
        rows = [{**asdict(one), "count": len(one.steps)} for one in groups]
        tables["steps"] = ViewTable(_iterations_table(iterations, trace.steps), "start_ns", desc=False)
        tables["groups"] = ViewTable(
            from_lists(GROUP_COLUMNS, {column.key: [row[column.key] for row in rows] for column in GROUP_COLUMNS}),
            "total_ns",
        )
    return ViewResult(data, tables, span.base_ns)


def _bounds(steps: Sequence[StepTimes]) -> Iterator[tuple[int, int]]:
    for step in steps:
        if step.start_ns is not None and step.total_ns is not None:
            yield step.start_ns, step.start_ns + step.total_ns


def _averaged_json(counted: Sequence[StepTimes]) -> AveragedJson:
    first, last = (counted[0].step, counted[-1].step) if counted else (None, None)
    gaps = sum(step.gap_ns is not None for step in counted)
    return {"count": len(counted), "first": first, "last": last, "gaps": gaps}


def _thinned(steps: Sequence[StepTimes], chosen: Optional[StepTimes]) -> list[StepTimes]:
    """At most MOST_STEPS of the steps, and the chosen one: the shortest and the longest of each stretch."""
    if len(steps) <= MOST_STEPS:
        return list(steps)
    kept = set() if chosen is None else {steps.index(chosen)}
    for stretch in np.array_split(np.arange(len(steps)), MOST_STEPS // 2):
        times = [steps[at].total_ns or 0 for at in stretch]
        kept |= {int(stretch[times.index(edge(times))]) for edge in (min, max)}
    return [steps[at] for at in sorted(kept)]


def _iterations_table(iterations: Table, steps: list[StepTimes]) -> Table:
    """The iterations of a device, with their times."""
    row_of = {name: row for row, name in enumerate(iterations.text("step").tolist())}
    known = [step for step in steps if step.step in row_of]
    found = iterations.take(np.array([row_of[step.step] for step in known], dtype=np.int64))
    times = from_lists(
        COLUMNS[1:3], {"start_ns": [one.start_ns for one in known], "total_ns": [one.total_ns for one in known]}
    )
    time = Column("total_ns", Kind.DURATION, *column_texts("iteration.total_ns"), COLUMNS[2].group)
    return Table((*found.columns, COLUMNS[1], time), {**found.data, **times.data})


def mean_course(span: SpanData) -> tuple[StepTimes | None, int]:
    """The mean step of a span with recorded points, and the number of its steps; None without points."""
    iterations = span.table("iterations")
    if iterations is None or not len(iterations):
        return None, 0
    trace = analysis.from_iterations(iterations, span.table("iteration_reduces"))
    return (_times(analysis.mean_step(trace.averaged), 0) if trace.steps else None), len(trace.averaged)


def _devices(span: SpanData) -> list[int]:
    """Physical ids of devices with step marks in kernels or figures. Recorded points name their device in the steps."""
    iterations = span.table("iterations")
    if iterations is not None and len(iterations):
        return []
    for name in ("kernels", "step_trace"):
        table = span.table(name)
        if table is not None and len(table):
            if not table.has("device_id"):
                return []
            ids = cast(IntArray, group_rows(table, GroupByQuery(("device_id",))).keys["device_id"]).tolist()
            return sorted(one for one in ids if one != NULL_INT)
    return []


def _trace(span: SpanData, device: int | None) -> tuple[analysis.StepTrace, str]:
    """The steps of a device (None: of all data), and their file."""
    iterations, kernels, figures = span.table("iterations"), span.table("kernels"), span.table("step_trace")
    if iterations is not None and len(iterations):
        return analysis.from_iterations(iterations, span.table("iteration_reduces")), span.source("iterations")
    kernels, figures = (_of_device(table, device) for table in (kernels, figures))
    if figures is not None and span.rows("engine_iterations"):
        return replace(analysis.from_figures(figures), method="iterations"), span.source("step_trace")
    if kernels is not None and len(kernels):
        return analysis.from_kernels(kernels, figures, are_computed(span)), span.source("kernels")
    if figures is not None:
        return analysis.from_figures(figures), span.source("step_trace")
    return analysis.StepTrace("figures", "recorded", [], {}), span.source("step_trace")


def _of_device(table: Table | None, device: int | None) -> Table | None:
    return table if table is None or device is None else table.take(table.ints("device_id") == device)


def _times(step: StepTimes, base_ns: int) -> StepTimes:
    return step if step.start_ns is None else replace(step, start_ns=step.start_ns - base_ns)


def _points(span: SpanData, step: str | None) -> tuple[str | None, str | None]:
    """FP_POINT and BP_POINT of a step, or of the first step if they are the same for all; else those of the metadata, where
    MindSpore's `Profiler` on the simulated NPU writes them."""
    table = span.table("step_points")
    if table is None or not len(table):
        first, last = (span.capture.metadata.get(name) for name in ("FP_POINT", "BP_POINT"))
        return first if isinstance(first, str) else None, last if isinstance(last, str) else None
    steps = table.text("step").tolist()
    row = steps.index(step) if step in steps else 0
    return table.text("fp_point")[row], table.text("bp_point")[row]


def _table(steps: list[StepTimes]) -> Table:
    return from_lists(COLUMNS, {column.key: [getattr(step, column.key) for step in steps] for column in COLUMNS})


VIEW = View(
    id="step_trace",
    scope="span",
    needs=(("iterations", "kernels", "step_trace"),),
    with_trace=True,
    build=build,
    contract=StepTraceJson,
    params=(
        Param("step", doc="The step whose communication is given; empty: the mean."),
        Param("device", doc="Of several devices the one whose steps are given; empty: the first."),
    ),
)
