"""What the layers and the ruler of the first source consist of. Not ready until all that they need is read."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.steps.of_span import timed_steps
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.server.timeline.ask import Answer, Ask, IsGone
from tb_npu_plugin.server.timeline.sources import Sources
from tb_npu_plugin.store.timeline.layer import LayerLabelJson, ReplacedTracksJson
from tb_npu_plugin.views.derived import DerivedRowJson

# The steps on the ruler of the Trace view.


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


class LayerJson(TypedDict):
    """Answer to "layer"."""

    rows: list[DerivedRowJson]
    """Rows beside those of the trace, in the order of the page."""
    labels: list[LayerLabelJson]
    """The names of all slices of these rows."""
    replaced: list[ReplacedTracksJson]
    """Rows in place of those of the trace, in the order of the first of their tracks."""


class Layer(Ask, frozen=True, kw_only=True):
    """The rows of the layer of the first source, made once."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        ref = found.refs[0]
        layer = found.service.layer(ref.span, ref.layer, ref.version)
        answer: LayerJson = {
            "rows": layer.rows_json(),
            "labels": layer.labels_json(),
            "replaced": layer.replaced_json(),
        }
        return answer


class Steps(Ask, frozen=True, kw_only=True):
    """The steps on the device of the first source."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        timeline, span = found.service.whole(found.refs[0].span, found.refs[0].version)
        return step_marks(span, timeline.base_ns)
