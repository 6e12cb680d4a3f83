"""Finds the idle time of the devices of a span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.causes import cut
from tb_npu_plugin.analysis.idle.gaps import cut_at, free_slices, step_of, tracks_of_device, uncovered
from tb_npu_plugin.analysis.idle.launches import Launches, clock_error, launches_of, queues_of
from tb_npu_plugin.analysis.idle.model import BEFORE, LATE, UNKNOWN_LAUNCH, DeviceIdle, Gaps, code_of
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.model import SpanData, Timeline
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.tables import IntArray


def idle_of(span: SpanData) -> list[DeviceIdle]:
    """Idle time of each device that has steps. Returns [] without a trace, and until it is read completely."""
    timeline = span.timeline
    if timeline is None or timeline.partial is not None:
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


def _of_device(
    span: SpanData, timeline: Timeline, device: Optional[int], steps: Sequence[Step]
) -> Optional[DeviceIdle]:
    """Idle time of a device; None if the span has neither a Free row nor kernels. device: None for the only device."""
    tracks = tracks_of_device(timeline, device)
    is_gpu = span.format == KINETO.id
    times = free_slices(timeline, tracks)
    if times is None:
        times = uncovered(span, device, timeline.base_ns)
    if times is None:
        return None
    launches = launches_of(timeline, tracks)
    start, end = cut_at(*times, launches.start) if is_gpu else times
    step, is_free = step_of(start, end, steps, timeline.base_ns)
    inside = (step >= 0) & (end > start)
    start, end, step, is_free = start[inside], end[inside], step[inside], is_free[inside]
    error = clock_error(launches)
    gaps, track = _launched(launches, error or 0, start, end, step, is_free)
    in_gaps = np.bincount(step[is_free], (end - start)[is_free], len(steps))
    unplaced = [max(0, (one.free or 0) - round(found)) for one, found in zip(steps, in_gaps.tolist())]
    if is_gpu:
        gaps, track, in_call = _around_calls(timeline, launches, gaps, track)
    parts = cut(timeline, tracks, gaps, track)
    if is_gpu:
        parts.cause[in_call[parts.gap] & (parts.cause == code_of("host_late"))] = code_of("launch_call")
    return DeviceIdle(device, steps, gaps, parts, unplaced, error, queues_of(launches, timeline))


def _around_calls(
    timeline: Timeline, launches: Launches, gaps: Gaps, track: IntArray
) -> tuple[Gaps, IntArray, NDArray[np.bool_]]:
    """Cut the gaps of a GPU where the call that launches the next task begins and returns. CUDA has no clock error.

    The launch is late until the call returns; in a replayed graph, until its first task begins.

    Returns:
        The gaps, the track of the next task, and whether the host is inside the call.
    """
    is_known = gaps.call >= 0
    took = np.where(
        is_known & (launches.first_starts(gaps.call) >= gaps.start), timeline.rows.dur[np.maximum(gaps.call, 0)], 0
    )
    called = np.where(is_known, np.clip(gaps.launched, gaps.start, gaps.end), gaps.end)
    returned = np.clip(gaps.launched + took, called, gaps.end)
    bounds = np.stack([gaps.start, called, returned, gaps.end], axis=1)
    start, end = bounds[:, :-1].reshape(-1), bounds[:, 1:].reshape(-1)
    chosen = end > start
    row, place = (np.arange(len(start)) // 3)[chosen], (np.arange(len(start)) % 3)[chosen]
    launch = np.where(is_known[row], np.where(place < 2, LATE, BEFORE), UNKNOWN_LAUNCH).astype(np.int8)
    slices = gaps.task[row], gaps.call[row], gaps.launched[row], np.zeros(len(row), dtype=bool)
    return Gaps(start[chosen], end[chosen], gaps.step[row], gaps.is_free[row], launch, *slices), track[row], place == 1


def _launched(
    launches: Launches, error: int, start: IntArray, end: IntArray, step: IntArray, is_free: NDArray[np.bool_]
) -> tuple[Gaps, IntArray]:
    """The gaps with the launches of their next tasks, and the tracks of these tasks."""
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
