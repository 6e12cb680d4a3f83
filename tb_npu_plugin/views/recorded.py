"""Tables shown as recorded by the profiler, next to the computed tables of a view: one line each."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.model import SpanData
from tb_npu_plugin.views.base import ViewTable


@dataclass(frozen=True)
class Recorded:
    """A logical table and the view that shows it under the same id. sort: column of the default order."""

    table: str
    view: str
    sort: str
    desc: bool = True


RECORDED = (
    Recorded("api_statistic", "operator", "total_ns"),
    Recorded("task_time", "kernel", "start_ns", desc=False),
    Recorded("communication_statistic", "kernel", "total_ns"),
    Recorded("fusion_op", "kernel", "total_bytes"),
)


def recorded_tables(view: str, span: SpanData) -> dict[str, ViewTable]:
    """Recorded tables of a view that have rows in the span."""
    found = ((entry, span.table(entry.table)) for entry in RECORDED if entry.view == view)
    return {
        entry.table: ViewTable(table, entry.sort, entry.desc)
        for entry, table in found
        if table is not None and len(table)
    }
