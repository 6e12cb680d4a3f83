"""Launch latency: for each stream, the time from the start of a launch to that of its task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.derived.model import CounterRow, DerivedInput
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.messages import Message


def rows(source: DerivedInput) -> Sequence[CounterRow]:
    """One row per stream with recorded launches, in us. The value holds from the launch of a task; below 0 counts as 0."""
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
