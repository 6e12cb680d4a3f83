"""Idle: why the device computed and communicated nothing."""

from __future__ import annotations

from typing import Optional, TypedDict

import numpy as np

from tb_npu_plugin.analysis.idle import tables
from tb_npu_plugin.analysis.idle.model import CauseTime, DeviceIdle, StreamQueue
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message, Period
from tb_npu_plugin.model import timeline_of
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.steps import period_of
from tb_npu_plugin.views.time_range import unknown_step


class IdleJson(TypedDict):
    """Causes of the idle time of a device.

    Tables: "causes" (Free by cause and launch), "places" (idle time by cause, operator and Python function), "intervals" (every gap, cut into intervals with one
    cause each). The last two include the time between steps. Parameters: `device`, `step`.
    """

    devices: list[Optional[int]]
    """Devices with idle time; null if the span has one device. Empty: the trace has no steps on an NPU."""
    device: Optional[int]
    """The chosen device."""
    steps: list[Optional[str]]
    """Steps of the device; null: not marked."""
    period: Period
    """What the steps are; "capture" without marks."""
    step_ns: int
    """Step time of the chosen steps."""
    free_ns: int
    """Free of the chosen steps: the sum of `causes`."""
    gaps: int
    """Number of gaps in the chosen steps."""
    causes: list[CauseTime]
    """Free by cause and launch."""
    between: list[CauseTime]
    """The same for the time before the chosen steps that belongs to no step."""
    clock_error_ns: Optional[int]
    """Error of the clocks of host and device, ns, a lower bound; null if no launch is recorded."""
    uncertain_ns: int
    """Free in gaps whose launch is closer to their start than the clock error."""
    queues: list[StreamQueue]
    """Launches of each stream, of all steps."""


def build(source: ViewInput) -> ViewResult:
    """See IdleJson."""
    span = source.spans[0]
    found = idle_of(span)
    idle = _chosen(found, source.params.get("device", ""))
    if idle is None:
        return ViewResult(_nothing(), {}, span.base_ns)
    step = _step(idle, source.params.get("step", ""))
    gaps = idle.gaps
    own = np.ones(len(gaps.step), dtype=bool) if step is None else gaps.step == step
    steps = idle.steps if step is None else [idle.steps[step]]
    causes = idle.by_cause if step is None else idle.of_step(step)
    data: IdleJson = {
        "devices": [one.device_id for one in found],
        "device": idle.device_id,
        "steps": [one.step for one in idle.steps],
        "period": period_of(span, (one.step for one in idle.steps)),
        "step_ns": sum(one.total_ns or 0 for one in steps),
        "free_ns": sum(one.time_ns for one in causes),
        "gaps": int((gaps.is_free & own).sum()),
        "causes": causes,
        "between": idle.between_steps if step is None else idle.before_step(step),
        "clock_error_ns": idle.clock_error_ns,
        "uncertain_ns": int((gaps.end - gaps.start)[gaps.is_free & gaps.is_uncertain & own].sum()),
        "queues": list(idle.queues),
    }
    rows = tables.intervals(idle, timeline_of(span), np.flatnonzero(own[idle.parts.gap]))
    shown = {
        "causes": ViewTable(tables.by_cause(causes), "time_ns"),
        "places": ViewTable(tables.by_place(rows), "time_ns"),
        "intervals": ViewTable(rows, "dur_ns"),
    }
    return ViewResult(data, shown, span.base_ns)


def _chosen(found: list[DeviceIdle], device: str) -> Optional[DeviceIdle]:
    if not device:
        return found[0] if found else None
    chosen = next((one for one in found if str(one.device_id) == device), None)
    if chosen is None:
        raise BadRequest(Message("error.device", device=repr(device[:80])), Message("hint.device_all"))
    return chosen


def _step(idle: DeviceIdle, step: str) -> Optional[int]:
    """Index of the chosen step; None for all."""
    if not step:
        return None
    found = next((at for at, one in enumerate(idle.steps) if one.step == step), None)
    if found is None:
        raise unknown_step(step)
    return found


def _nothing() -> IdleJson:
    return {
        "devices": [],
        "device": None,
        "steps": [],
        "period": "capture",
        "step_ns": 0,
        "free_ns": 0,
        "gaps": 0,
        "causes": [],
        "between": [],
        "clock_error_ns": None,
        "uncertain_ns": 0,
        "queues": [],
    }


VIEW = View(
    id="idle",
    scope="span",
    needs=(("trace",), ("step_trace", "kernels")),
    build=build,
    contract=IdleJson,
    params=(
        Param("device", doc="Only this device; default: the first."),
        Param("step", doc="Only this step; empty: all."),
    ),
)
