"""Host time of a capture: without the computation of the CPU in place of the NPU."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.capture.mindspore.raw_data import RawData
from tb_npu_plugin.capture.recording.host_clock import HostClock

#: Events in which a thread waits for another one.
_WAITS = re.compile("Wait|Asnumpy|SyncStream")
_Spans = list[tuple[int, int]]


def host_clock(data: RawData, computed: _Spans) -> HostClock:
    """A clock that stands still while what was `computed` ((start, end), in ns) held up the main thread."""
    return HostClock(*np.array(_held_up(data, computed) or [(0, 0)], dtype=np.int64).T)


def _held_up(data: RawData, computed: _Spans) -> _Spans:
    """When the CPU's computation held up the main thread: it computed by itself, or waited for a thread that did. Elsewhere
    it went on beside the computation, as it does beside an NPU."""
    main = data.capture["pid"]
    if {launch.tid for launch in data.launches} <= {main, 0}:
        return computed
    waits = _union([(one.start, one.end) for one in data.events if one.tid == main and _WAITS.search(one.name)])
    out, place = [], 0
    for start, end in _union(computed):
        while place < len(waits) and waits[place][1] <= start:
            place += 1
        for since, until in waits[place:]:
            if since >= end:
                break
            out.append((max(start, since), min(end, until)))
    return out


def _union(spans: _Spans) -> _Spans:
    """Spans that do not overlap, by start."""
    out: _Spans = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return out
