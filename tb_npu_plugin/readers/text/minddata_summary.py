"""Reads minddata_pipeline_summary, MindSpore's analysis of the pipeline: JSON, or CSV with a key and its values per
line. Source: docs/facts/ascend_ms.md, Data pipeline files."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.csv_rows import MAX_CELL
from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.json_file import load_object, read_text
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import NULL_INT, Column, Data, Kind, Table, from_lists
from tb_npu_plugin.units import TIME_UNITS

#: Intermediate table: figures by operator, for minddata_ops.
FIGURES = "minddata_summary"
_KINDS = ("cpu", "queue", "warning", "suggestion")
_COLUMNS = tuple(
    column
    for column in columns_of("minddata_ops")
    if column.key in ("op_id", *files.SUMMARY_FIGURES, *files.SUMMARY_TIMES)
)
_MS = TIME_UNITS["ms"]


def read_summary(reading: Reading) -> Tables:
    """Return `minddata_remarks`, and the operators' figures, which `with_summary` adds to minddata_ops."""
    report = reading.report
    text = read_text(reading)
    if text is None:
        return {}
    is_csv = ".csv" in reading.path.suffixes
    content = _read_transposed(text, report) if is_csv else load_object(text, report, exact=True)
    if content is None:
        return {}
    report_lost_keys(report, content, files.SUMMARY_KEYS, "")
    remarks = RowBuilder(columns_of("minddata_remarks"))
    for key, kind in sorted(zip(files.REMARKS, _KINDS), key=lambda pair: _KINDS.index(pair[1]) < 2):
        for item in _as_list(content.get(key)):
            if isinstance(item, str) and item.strip():
                remarks.add(kind, item.strip())
    if files.SUMMARY_IDS not in content:
        report.add("unexpected_shape", files.SUMMARY_IDS, found=", ".join(map(str, content)))
        return {"minddata_remarks": remarks.table()} if len(remarks.table()) else {}
    return {"minddata_remarks": remarks.table(), FIGURES: _figures(content, report, not is_csv or _ends_a_line(text))}


def _read_transposed(text: str, report: FileReport) -> dict[str, Any]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    out: dict[str, Any] = {}
    try:
        for row in csv.reader(io.StringIO(text, newline="")):
            if row:
                out[row[0]] = row[1:]
    except csv.Error as error:
        report.add("bad_quotes", found=str(error))
    if not _ends_a_line(text):
        report.add("no_final_line_break", found=text.splitlines()[-1])
    return out


def _ends_a_line(text: str) -> bool:
    return text.endswith(("\n", "\r"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _figures(content: dict[str, Any], report: FileReport, is_whole: bool) -> Table:
    """Return one row per operator. -1 is unknown; a single value belongs to the first operator, the pipeline's end.
    is_whole: the file is not truncated, so a short list is a defect."""
    figures = Figures(report)
    report.count("entries", seen=len(_as_list(content.get(files.SUMMARY_IDS))))
    ids = [figures.whole(item, files.SUMMARY_IDS) for item in _as_list(content.get(files.SUMMARY_IDS))]
    lists: dict[str, list[Any]] = {"op_id": ids}
    for column in _COLUMNS[1:]:
        key = files.SUMMARY_FIGURES.get(column.key) or files.SUMMARY_TIMES[column.key]
        items = _as_list(content.get(key))
        if is_whole and key in content and column.key in files.SUMMARY_FIGURES and len(items) != len(ids):
            report.add(
                "unexpected_shape",
                key,
                expected=Message("expected.figures", count=len(ids)),
                found=str(len(items)),
                kind=key,
            )
            items = []  # their operators are unknown
        values = [_figure(column, item, figures, key) for item in items][: len(ids)]
        lists[column.key] = values + [None] * (len(ids) - len(values))
    table = from_lists(_COLUMNS, lists)
    report.count("entries", shown=len(table))
    return table


def _figure(column: Column, item: Any, figures: Figures, key: str) -> int | float | None:
    value = figures.integer(item, _MS, key) if column.kind is Kind.DURATION else figures.real(item, key)
    return None if value is None or value < 0 else value


def with_summary(tables: Tables) -> Tables:
    """Add the summary's figures to minddata_ops if both exist."""
    summary, ops = tables.get(FIGURES), tables.get("minddata_ops")
    out = {name: table for name, table in tables.items() if name != FIGURES}
    if summary is None or ops is None:
        return out
    place = {op_id: row for row, op_id in enumerate(summary.ints("op_id").tolist()) if op_id != NULL_INT}
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
