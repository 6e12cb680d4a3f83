"""The steps on the ruler of the Trace view."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.steps.of_span import timed_steps
from tb_npu_plugin.model import SpanData


class StepMarkJson(TypedDict):
    """A step on a device."""

    step: str
    """Its number."""
    device: Optional[int]
    """Device; null if the result has one device."""
    start: int
    """Start on the device."""
    end: int
    """Start plus step time."""


class StepMarksJson(TypedDict):
    """Answer of /api/timeline/steps."""

    steps: list[StepMarkJson]
    """Steps with a known time, by start."""


def step_marks(span: SpanData, base_ns: int) -> StepMarksJson:
    """The steps of all views. base_ns: origin of the times, ns since the epoch."""
    return {
        "steps": [
            {"step": str(step.step), "device": step.device_id, "start": start - base_ns, "end": end - base_ns}
            for step, start, end in timed_steps(span)
        ]
    }
