"""Trace: the rows of the timeline. Their slices come from /api/timeline."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.errors import NotReady
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.timeline.meta import MAX_TRACKS
from tb_npu_plugin.views.base import View, ViewInput, ViewResult
from tb_npu_plugin.views.contract import ProcessJson, ThreadJson, TraceJson


def build(source: ViewInput) -> ViewResult:
    """See TraceJson. Offsets, which links keep, count from the timeline's own base: the first slice or counter value of the
    trace."""
    timeline = source.spans[0].timeline
    if timeline is None:
        raise NotReady(Message("error.trace_unread"), Message("hint.again"))
    first, last = timeline.slice_bounds or (None, None)
    data: TraceJson = {
        "version": source.spans[0].trace_version,
        "partial": timeline.partial,
        "zero": source.spans[0].base_ns - timeline.base_ns,
        "utc_offset_minutes": source.spans[0].capture.utc_offset_minutes,
        "processes": _processes(timeline.tracks[:MAX_TRACKS]),
        "start": timeline.start_ns - timeline.base_ns,
        "end": timeline.end_ns - timeline.base_ns,
        "slices_start": first,
        "slices_end": last,
        "steps": [{"step": step, "start": start, "end": end} for step, start, end in timeline.steps],
        "events": timeline.event_count,
        "slices": timeline.slice_count,
        "flow_kinds": timeline.flow_kinds,
        "scanner": timeline.scanner,
        "source": timeline.source,
    }
    return ViewResult(data, {}, timeline.base_ns)


def _processes(tracks: list[dict[str, Any]]) -> list[ProcessJson]:
    """Tracks, which come in display order, under their processes."""
    out: list[ProcessJson] = []
    for number, track in enumerate(tracks):
        if not out or (out[-1]["pid"], out[-1]["name"]) != (track["pid"], track["process"]):
            out.append({"name": track["process"], "pid": track["pid"], "label": track["label"], "threads": []})
        out[-1]["threads"].append(_thread(number, track))
    return out


def _thread(number: int, track: dict[str, Any]) -> ThreadJson:
    return {
        "track": number,
        "name": track["name"],
        "tid": track["tid"],
        "kind": track["kind"],
        "rows": track["rows"],
        "slices": track["slices"],
        "unit": track["unit"],
        "max_value": track["max_value"],
    }


VIEW = View(id="trace", title="Trace", scope="span", needs=(("trace",),), build=build, contract=TraceJson)
