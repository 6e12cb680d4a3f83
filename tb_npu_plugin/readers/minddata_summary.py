"""minddata_pipeline_summary: what MindSpore itself made of the pipeline, as JSON, or as CSV where a line is a key and
its values. Source: specs/mindspore.md 2.6."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.figures import Figures, Rows
from tb_npu_plugin.readers.json_file import load_object, read_text
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema import minddata_tables as names
from tb_npu_plugin.tables import Column, Data, Kind, Table, from_lists
from tb_npu_plugin.units import TIME_UNITS

Tables = dict[str, Table]
#: Figures by operator on their way into minddata_ops; no logical table.
_FIGURES = "minddata_summary"
_KINDS = ("cpu", "queue", "warning", "suggestion")
_COLUMNS = tuple(
    column
    for column in names.MINDDATA_OPS_COLUMNS
    if column.key in ("op_id", *files.SUMMARY_FIGURES, *files.SUMMARY_TIMES)
)
_MS = TIME_UNITS["ms"]


def read_summary(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """`minddata_remarks`, and figures of operators that `with_summary` puts into minddata_ops."""
    report = FileReport(log, relative)
    text = read_text(path, report, progress)
    if text is None:
        return {}
    content = _transposed(text, report) if ".csv" in path.suffixes else load_object(text, report, exact=True)
    if content is None:
        return {}
    remarks = Rows(names.MINDDATA_REMARKS_COLUMNS)
    for key, kind in sorted(zip(files.REMARKS, _KINDS), key=lambda pair: _KINDS.index(pair[1]) < 2):
        for item in _listed(content.get(key)):
            if isinstance(item, str) and item.strip():
                remarks.add(kind, item.strip())
    return {"minddata_remarks": remarks.table(), _FIGURES: _figures(content, Figures(report))}


def _transposed(text: str, report: FileReport) -> dict[str, Any]:
    out: dict[str, Any] = {}
    try:
        for row in csv.reader(text.splitlines()):
            if row:
                out[row[0]] = row[1:]
    except csv.Error as error:
        report.add("bad_quotes", found=str(error))
    return out


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _figures(content: dict[str, Any], figures: Figures) -> Table:
    """One row an operator. -1 is unknown; what is said once is said of the end of the pipeline, the first operator."""
    ids = [figures.integer(item, 1, files.SUMMARY_IDS) for item in _listed(content.get(files.SUMMARY_IDS))]
    lists: dict[str, list[Any]] = {"op_id": ids}
    for column in _COLUMNS[1:]:
        key = files.SUMMARY_FIGURES.get(column.key) or files.SUMMARY_TIMES[column.key]
        values = [_figure(column, item, figures, key) for item in _listed(content.get(key))][: len(ids)]
        lists[column.key] = values + [None] * (len(ids) - len(values))
    return from_lists(_COLUMNS, lists)


def _figure(column: Column, item: Any, figures: Figures, key: str) -> int | float | None:
    value = figures.integer(item, _MS, key) if column.kind is Kind.DURATION else figures.real(item, key)
    return None if value is None or value < 0 else value


def with_summary(tables: Tables) -> Tables:
    """The tables with what the summary says of operators in minddata_ops, where both were read."""
    summary, ops = tables.get(_FIGURES), tables.get("minddata_ops")
    out = {name: table for name, table in tables.items() if name != _FIGURES}
    if summary is None or ops is None:
        return out
    place = {op_id: row for row, op_id in enumerate(summary.ints("op_id").tolist())}
    rows = [place.get(op_id, -1) for op_id in ops.ints("op_id").tolist()]
    there = np.flatnonzero(np.asarray(rows) >= 0)
    picked = np.asarray(rows, dtype=np.int64)[there]
    data: dict[str, Data] = dict(ops.data)
    for column in _COLUMNS[1:]:
        if column.kind.is_int:
            times = ops.ints(column.key).copy()
            times[there] = summary.ints(column.key)[picked]
            data[column.key] = times
        else:
            figures = ops.floats(column.key).copy()
            figures[there] = summary.floats(column.key)[picked]
            data[column.key] = figures
    out["minddata_ops"] = Table(ops.columns, data)
    return out
