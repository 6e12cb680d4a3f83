"""Idle, by cause: every gap of the steps, cut into intervals with one cause each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.derived.model import DerivedInput, Facts, SliceRow
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.idle.model import CAUSES, LATE, UNKNOWN_LAUNCH, DeviceIdle
from tb_npu_plugin.analysis.idle.places import places_of
from tb_npu_plugin.analysis.parts import IDLE
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Timeline


def rows(source: DerivedInput) -> Sequence[SliceRow]:
    """One row per device with idle time."""
    return [_row(idle, source.timeline) for idle in source.idle]


def _row(idle: DeviceIdle, timeline: Timeline) -> SliceRow:
    title = Message("derived.idle")
    if idle.device_id is not None:
        title = Message("derived.of_device", row=title, device=idle.device_id)
    return SliceRow(
        "idle",
        title,
        Message("derived.idle.help"),
        idle.parts.start,
        idle.parts.end,
        idle.parts.cause.astype(np.int64),
        [IDLE[cause] for cause in CAUSES],
        lambda part: _facts(idle, timeline, part),
        "idle",
    )


def _facts(idle: DeviceIdle, timeline: Timeline, part: int) -> Facts:
    """Launch of the next task, and the slices behind the interval."""
    gap = int(idle.parts.gap[part])
    places = places_of(idle, timeline, np.array([part]))
    related = (
        (Message("derived.idle.shown_by"), int(idle.parts.anchor[part])),
        (Message("derived.idle.operator"), int(places.operator[0])),
        (Message("derived.idle.frame"), int(places.frame[0])),
        (Message("derived.idle.launch"), int(idle.gaps.call[gap])),
        (Message("derived.idle.task"), int(idle.gaps.task[gap])),
    )
    named: dict[int, Message] = {}
    for role, found in related:
        if found >= 0:
            named.setdefault(found, role)
    return Facts(_lines(idle, gap), [(role, found) for found, role in named.items()])


def _lines(idle: DeviceIdle, gap: int) -> list[Message]:
    gaps = idle.gaps
    start, end, launched = (int(column[gap]) for column in (gaps.start, gaps.end, gaps.launched))
    lines = [Message("derived.idle.gap", time=duration(end - start))]
    if gaps.launch[gap] == UNKNOWN_LAUNCH:
        lines.append(Message("derived.idle.unknown_launch"))
    elif gaps.launch[gap] == LATE:
        lines.append(Message("derived.idle.late", time=duration(launched - start)))
    else:
        lines.append(Message("derived.idle.before", time=duration(start - launched)))
    if gaps.is_uncertain[gap]:
        lines.append(Message("derived.idle.uncertain", error=duration(idle.clock_error_ns or 0)))
    if not gaps.is_free[gap]:
        lines.append(Message("derived.idle.between"))
    return lines
