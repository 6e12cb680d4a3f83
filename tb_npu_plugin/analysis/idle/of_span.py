"""Idle time of the devices of a span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.causes import cut
from tb_npu_plugin.analysis.idle.gaps import free_slices, step_of, tracks_of_device, uncovered
from tb_npu_plugin.analysis.idle.launches import Launches, clock_error, launches_of, queues_of
from tb_npu_plugin.analysis.idle.model import BEFORE, LATE, UNKNOWN_LAUNCH, DeviceIdle, Gaps
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.tables import IntArray


def idle_of(span: SpanData) -> list[DeviceIdle]:
    """Idle time of each device of an NPU span with steps; [] until its trace is read completely, and without one."""
    timeline = span.timeline
    if timeline is None or timeline.partial is not None or span.format == KINETO.id:
        return []
    steps, _ = steps_and_source(span)
    devices = list(dict.fromkeys(step.device_id for step in steps))
    found = []
    for device in devices:
        own = [step for step in steps if step.device_id == device and step.free is not None]
        idle = _of_device(span, timeline, device if len(devices) > 1 else None, own) if own else None
        if idle is not None:
            found.append(idle)
    return found


def _of_device(span: SpanData, timeline: Any, device: Optional[int], steps: Sequence[Step]) -> Optional[DeviceIdle]:
    tracks = tracks_of_device(timeline, device)
    times = free_slices(timeline, tracks)
    if times is None:
        times = uncovered(span, device, timeline.base_ns)
    if times is None:
        return None
    start, end = times
    step, is_free = step_of(start, end, steps, timeline.base_ns)
    inside = (step >= 0) & (end > start)
    start, end, step, is_free = start[inside], end[inside], step[inside], is_free[inside]
    launches = launches_of(timeline, tracks)
    error = clock_error(launches)
    gaps, track = _launched(launches, error or 0, start, end, step, is_free)
    placed = np.bincount(step[is_free], (end - start)[is_free], len(steps))
    unplaced = [max(0, (one.free or 0) - round(found)) for one, found in zip(steps, placed.tolist())]
    parts = cut(timeline, tracks, gaps, track)
    return DeviceIdle(device, steps, gaps, parts, unplaced, error, queues_of(launches, timeline))


def _launched(
    launches: Launches, error: int, start: IntArray, end: IntArray, step: IntArray, is_free: NDArray[np.bool_]
) -> tuple[Gaps, IntArray]:
    """The gaps with the launch of the next task, and the track of that task."""
    row = launches.ending(end)
    is_known = row >= 0

    def value(column: IntArray, unknown: IntArray) -> IntArray:
        out = unknown.copy()
        out[is_known] = column[row[is_known]]
        return out

    none = np.full(len(start), -1, dtype=np.int64)
    launched = value(launches.launched, start)
    after = launched - start
    launch = np.where(is_known, np.where(after > 0, LATE, BEFORE), UNKNOWN_LAUNCH).astype(np.int8)
    near = is_known & (np.abs(after) <= error)
    slices = value(launches.task, none), value(launches.call, none)
    return Gaps(start, end, step, is_free, launch, *slices, launched, near), value(launches.track, none)
