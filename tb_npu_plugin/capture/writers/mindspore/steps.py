"""Steps as MindSpore's parser cuts them, step_trace_time.csv and what depends on them.
Source: docs/facts/ascend_ms.md, step_trace_time.csv of MindSpore."""

from __future__ import annotations

from dataclasses import dataclass, field

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.overlap import ALONE, COMMUNICATION, COMPUTING, FREE, OverlapRows, Windows
from tb_npu_plugin.capture.writers.steps_csv import figures_of
from tb_npu_plugin.capture.writers.text import decimals
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.trace_events import OLD_COMMUNICATION

_EVER = 1 << 63
Event = tuple[int, int, str]  # start, duration, name


class HostWindows(Windows):
    """Steps are the marks on the host, ends included."""

    def add(self, segment: Segment) -> None:
        """The window of the segment's step."""
        if segment.step is not None:
            self.known.append((segment.step.start, segment.step.end + 1, segment.step))


@dataclass
class _Sums:
    """One step. first, last: (start, duration) of communication events; busy: first device task."""

    id: int
    start: int
    end: int
    sums: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    bubble: int = 0
    first: int = _EVER
    last: tuple[int, int] = (-1, 0)
    busy: int | None = None


class StepTrace:
    """step_trace_time.csv: events count whole in the step in which they begin; only Free is clipped."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._steps: list[_Sums] = [] if output.process.marks else [_Sums(0, 0, _EVER)]
        self._pending: list[Event] = []
        self._first_event: int | None = None

    def add(self, segment: Segment) -> None:
        """Take the step and the communication of one segment."""
        if segment.step is not None:
            self._steps.append(_Sums(segment.step.id, segment.step.start, segment.step.end))
        if self._first_event is None and segment.ops:
            self._first_event = segment.ops[0].start
        if self._output.dialect.communication == OLD_COMMUNICATION:  # the parser finds no other name
            for op in segment.comm:
                self._add_communication(op.start, op.dur, op.name)
                for plane in op.planes if self._output.options.level >= 1 else ():
                    self._add_communication(plane.start, plane.dur, plane.name)

    def _add_communication(self, start: int, dur: int, name: str) -> None:
        step = self._step_at(start)
        if step is not None:
            step.bubble += dur if names.BUBBLE.match(name) else 0
            step.first = min(step.first, start)
            step.last = max(step.last, (start, dur))

    def _step_at(self, start: int) -> _Sums | None:
        return next((step for step in reversed(self._steps) if step.start <= start <= step.end), None)

    def overlap(self, rows: OverlapRows, before: int) -> None:
        """Take overlap rows in file order."""
        for start, end, kind in rows.tolist():
            if kind == FREE:
                for step in reversed(self._steps):
                    if step.end < start:
                        break
                    step.sums[FREE] += max(0, min(end, step.end) - max(start, step.start))
                continue
            step_ = self._step_at(start)
            if step_ is not None:
                step_.sums[kind] += end - start
            if kind in (COMPUTING, COMMUNICATION):
                for step in reversed(self._steps):
                    if step.busy is not None:
                        break
                    if step.start <= start:
                        step.busy = start

    def close(self) -> None:
        """Write the file."""
        file, keys = self._output.csv(schema.STEP_TRACE), self._output.columns(schema.STEP_TRACE)
        for step in self._steps:
            texts = self._figures(step)
            file.add([",".join(texts[key] for key in keys)])
        file.close()

    def _figures(self, step: _Sums) -> dict[str, str]:
        whole = step.last[0] + step.last[1] - step.first if step.last[0] >= 0 else step.bubble
        host = step.start or self._first_event or 0
        known = step.busy is not None and self._output.options.cpu
        preparing = (step.busy or 0) - host if known else 0
        figures = {
            **figures_of(step.sums, whole, step.bubble, preparing),
            "communication_not_overlapped_and_exclude_receive": step.sums[ALONE] - step.bubble,
        }
        return {"step": str(step.id), **{key: decimals(ns) for key, ns in figures.items()}}
