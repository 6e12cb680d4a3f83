"""For each stream with recorded launches: how many tasks are queued, and the latency of the launches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.derived.model import CounterRow, DerivedInput
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.idle.launches import queue_series
from tb_npu_plugin.messages import Message


def queue_rows(source: DerivedInput) -> Sequence[CounterRow]:
    """Tasks that are launched and have not begun."""
    launches, error = source.launches, duration(source.clock_error_ns or 0)
    found = []
    for track in np.unique(launches.track).tolist():
        own = launches.track == track
        time, length = queue_series(launches.launched[own], launches.start[own])
        title = Message("derived.queue", stream=source.timeline.tracks[track]["name"])
        found.append(CounterRow("queue", title, Message("derived.queue.help", error=error), time, length.astype(float)))
    return found


def latency_rows(source: DerivedInput) -> Sequence[CounterRow]:
    """Time from the start of a launch to that of its task, in us. The value holds from the launch of a task; below 0
    counts as 0."""
    launches, error = source.launches, duration(source.clock_error_ns or 0)
    found = []
    for track in np.unique(launches.track).tolist():
        own = np.flatnonzero(launches.track == track)
        own = own[np.argsort(launches.launched[own], kind="stable")]
        latency = np.maximum(launches.start[own] - launches.launched[own], 0) / 1000
        title = Message("derived.latency", stream=source.timeline.tracks[track]["name"])
        help = Message("derived.latency.help", error=error)
        found.append(CounterRow("latency", title, help, launches.launched[own], latency, "µs"))
    return found
