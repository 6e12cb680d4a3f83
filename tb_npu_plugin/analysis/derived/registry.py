"""All derived rows, in the order of the page. A new kind of row is a function and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tb_npu_plugin.analysis.derived import communication, idle, launches, peers
from tb_npu_plugin.analysis.derived.model import DerivedInput, Row
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import KINETO

ROWS: tuple[Callable[[DerivedInput], Sequence[Row]], ...] = (
    idle.rows,
    communication.rows,
    peers.rows,
    launches.queue_rows,
    launches.latency_rows,
)


def derived_rows(span: SpanData) -> list[Row]:
    """The derived rows of a span whose trace is read completely; [] for GPUs."""
    if span.format == KINETO.id:
        return []
    source = DerivedInput(span)
    return [row for rows in ROWS for row in rows(source)]
