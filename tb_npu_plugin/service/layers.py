"""The rows that a page shows of a trace: its own, and those made from it. A new layer is a class and a line
in LAYERS; CONTRIBUTING.md says what the page needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tb_npu_plugin.analysis.derived.registry import derived_rows
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.repacked import merged_streams, repack, without_frames
from tb_npu_plugin.views.derived import open_derived

#: Id of the rows of the trace itself.
TRACE = "trace"


@dataclass(frozen=True)
class LayerKind:
    """How a layer is made of a trace that is read to its end. needs_tables: the tables of the span are read before."""

    build: Callable[[Timeline, Span], Layer]
    needs_tables: bool = False


#: By id in requests.
LAYERS: Mapping[str, LayerKind] = {
    "streams": LayerKind(lambda timeline, _: repack(timeline, merged_streams(timeline))),
    "frames": LayerKind(lambda timeline, _: repack(timeline, without_frames(timeline))),
    "derived": LayerKind(lambda timeline, span: open_derived(derived_rows(span), timeline), needs_tables=True),
}
