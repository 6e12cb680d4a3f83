"""Finds the gaps of each step of a device: the Free row of Overlap Analysis, else what no kernel covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.model import SpanData, Timeline
from tb_npu_plugin.schema.trace_events import OVERLAP, OVERLAPS
from tb_npu_plugin.tables import IntArray, known

FREE = OVERLAPS[-1]


def tracks_of_device(timeline: Timeline, device_id: Optional[int]) -> list[int]:
    """Tracks of a device, by the label of their process; all tracks if device_id is None."""
    label = "" if device_id is None else f" {device_id}"
    return [number for number in timeline.tracks_of("slices") if timeline.tracks[number]["label"].endswith(label)]


def free_slices(timeline: Timeline, tracks: Sequence[int]) -> Optional[tuple[IntArray, IntArray]]:
    """(start, end) of the slices of the Free row; None without such a row."""
    for track in tracks:
        if timeline.tracks[track]["process"] == OVERLAP and timeline.tracks[track]["name"] == FREE:
            rows = timeline.rows
            low, high = (int(rows.first[rows.track_row[at]]) for at in (track, track + 1))
            start = np.asarray(rows.start[low:high])
            order = np.argsort(start, kind="stable")
            return start[order], (start + rows.dur[low:high])[order]
    return None


def uncovered(span: SpanData, device_id: Optional[int], base_ns: int) -> Optional[tuple[IntArray, IntArray]]:
    """(start, end) of the times between the kernels of a device, ns after base_ns; None without kernels."""
    kernels = span.table("kernels")
    if kernels is None:
        return None
    start, took = kernels.ints("start_ns"), kernels.ints("dur_ns")
    chosen = known(start) & known(took)
    if device_id is not None:
        chosen &= kernels.ints("device_id") == device_id
    busy = intervals.union(start[chosen], (start + took)[chosen])
    return busy.end[:-1] - base_ns, busy.start[1:] - base_ns


def cut_at(start: IntArray, end: IntArray, tasks: IntArray) -> tuple[IntArray, IntArray]:
    """Stretches, cut where a task begins. tasks: starts of all tasks, those without a duration too."""
    inside = np.unique(tasks)
    place = np.searchsorted(start, inside, side="right") - 1
    inside = inside[(place >= 0) & (inside > start[place]) & (inside < end[place])] if len(start) else inside[:0]
    return np.sort(np.concatenate([start, inside])), np.sort(np.concatenate([inside, end]))


def step_of(start: IntArray, end: IntArray, steps: Sequence[Step], base_ns: int) -> tuple[IntArray, NDArray[np.bool_]]:
    """(index of the step of each gap, whether the gap belongs to its Free). A gap belongs to one step as a whole, and a
    step ends where its step time does; gaps between two steps belong to no Free, and have the index of the later one. -1
    for gaps outside all steps."""
    if len(steps) == 1 and (steps[0].start_ns is None or steps[0].step is None):
        return np.zeros(len(start), dtype=np.int64), np.ones(len(start), dtype=bool)
    windows = sorted(
        (step.start_ns - base_ns, step.total_ns, at)
        for at, step in enumerate(steps)
        if step.start_ns is not None and step.total_ns is not None
    )
    if not windows:
        return np.full(len(start), -1, dtype=np.int64), np.zeros(len(start), dtype=bool)
    starts, lengths, places = (np.array(values, dtype=np.int64) for values in zip(*windows))
    middle = (start + end) // 2  # files round the bounds
    at = np.searchsorted(starts, middle, side="right") - 1
    is_free = (at >= 0) & (middle < (starts + lengths)[at])
    later = np.append(places, -1)[at + 1]
    return np.where(is_free, places[at], np.where(at >= 0, later, -1)), is_free
