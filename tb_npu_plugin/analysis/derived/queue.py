"""Tasks queued: for each stream, the number of tasks that are launched and have not begun."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.derived.model import CounterRow, DerivedInput
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.idle.launches import queue_series
from tb_npu_plugin.messages import Message


def rows(source: DerivedInput) -> Sequence[CounterRow]:
    """One row per stream with recorded launches."""
    launches, error = source.launches, duration(source.clock_error_ns or 0)
    found = []
    for track in np.unique(launches.track).tolist():
        own = launches.track == track
        time, length = queue_series(launches.launched[own], launches.start[own])
        title = Message("derived.queue", stream=source.timeline.tracks[track]["name"])
        found.append(CounterRow("queue", title, Message("derived.queue.help", error=error), time, length.astype(float)))
    return found
