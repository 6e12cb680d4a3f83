"""Trace: the tracks of the timeline. Slices come from /api/timeline."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict, cast

from tb_npu_plugin.errors import NotReady
from tb_npu_plugin.messages import Message, Period
from tb_npu_plugin.store.timeline.meta import MAX_TRACKS
from tb_npu_plugin.views.base import View, ViewInput, ViewResult, fields_of
from tb_npu_plugin.views.steps import period_of


class ThreadJson(TypedDict):
    """A track of the timeline: the slices of a thread, or a counter."""

    track: int
    """Track number in requests."""
    name: str
    """Display name."""
    tid: str
    """Thread id of the file."""
    kind: Literal["slices", "counter"]
    """Kind of the track."""
    rows: int
    """Depth of nested slices; 1 for a counter."""
    slices: int
    """Number of slices, or of values of a counter."""
    unit: str
    """Unit of a counter."""
    max_value: Optional[float]
    """Largest value of a counter."""


class ProcessJson(TypedDict):
    """A process of the timeline."""

    name: str
    """Display name."""
    pid: str
    """Process id of the file."""
    label: str
    """Label of the file, such as "NPU"."""
    threads: list[ThreadJson]
    """Tracks in display order."""


class TraceStepJson(TypedDict):
    """A step as the training loop marks it on the host (ProfilerStep#)."""

    step: str
    """Step number."""
    start: int
    """ns after `base_ns`."""
    end: int
    """ns after `base_ns`."""


class TraceJson(TypedDict):
    """Tracks of the timeline; /api/timeline has the slices. Times are ns after `base_ns`, below 2^53."""

    version: str
    """Version of the reading. While the trace is read, each preview of its beginning has a version."""
    partial: Optional[int]
    """Bytes of the file covered by a preview; null: all."""
    zero: int
    """Origin of displayed times, here and in the other views."""
    utc_offset_minutes: int
    """See CaptureJson."""
    processes: list[ProcessJson]
    """In display order."""
    start: int
    """First slice or counter value."""
    end: int
    """End of the last slice or counter value."""
    slices_start: Optional[int]
    """First slice; null without slices."""
    slices_end: Optional[int]
    """End of the last slice. Counters may run longer."""
    steps: list[TraceStepJson]
    """Steps, by time."""
    period: Period
    """What the steps are; "capture" without marks."""
    events: int
    """Events that the timeline shows."""
    slices: int
    """Slices in the file."""
    flow_kinds: list[str]
    """Kinds of flows; their positions are the numbers in requests."""
    scanner: str
    """Implementation that read the trace."""
    source: str
    """File name."""


def build(source: ViewInput) -> ViewResult:
    """See TraceJson. Offsets, also those in links, count from the timeline's base: the first slice or counter value."""
    timeline = source.spans[0].timeline
    if timeline is None:
        raise NotReady(Message("error.trace_unread"), Message("hint.again"))
    first, last = timeline.slice_bounds or (None, None)
    data = fields_of(
        TraceJson,
        timeline,
        version=source.spans[0].trace_version,
        zero=source.spans[0].base_ns - timeline.base_ns,
        utc_offset_minutes=source.spans[0].capture.utc_offset_minutes,
        processes=_processes(timeline.tracks[:MAX_TRACKS]),
        start=timeline.start_ns - timeline.base_ns,
        end=timeline.end_ns - timeline.base_ns,
        slices_start=first,
        slices_end=last,
        steps=[{"step": step, "start": start, "end": end} for step, start, end in timeline.steps],
        period=period_of(source.spans[0], (step for step, _, _ in timeline.steps)),
        events=timeline.event_count,
        slices=timeline.slice_count,
    )
    return ViewResult(data, {}, timeline.base_ns)


def _processes(tracks: list[dict[str, Any]]) -> list[ProcessJson]:
    """Group the tracks, given in display order, by process."""
    out: list[ProcessJson] = []
    for number, track in enumerate(tracks):
        if not out or (out[-1]["pid"], out[-1]["name"]) != (track["pid"], track["process"]):
            out.append({"name": track["process"], "pid": track["pid"], "label": track["label"], "threads": []})
        out[-1]["threads"].append(thread_json(number, track))
    return out


def thread_json(number: int, track: dict[str, Any]) -> ThreadJson:
    """A track of a timeline. number: in requests."""
    fields = {"track": number, **track}
    return cast(ThreadJson, {key: fields[key] for key in ThreadJson.__annotations__})


VIEW = View(id="trace", scope="span", needs=(("trace",),), build=build, contract=TraceJson)
