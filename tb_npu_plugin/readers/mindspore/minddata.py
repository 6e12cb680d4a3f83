"""The files of the data pipeline that are no tables with a header. Source: specs/mindspore.md 2.6, 3.1."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.figures import Figures, Rows
from tb_npu_plugin.readers.json_file import load_object, read_text
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.schema import minddata as names
from tb_npu_plugin.tables import Column, Kind, Table
from tb_npu_plugin.units import TIME_UNITS

_MS = TIME_UNITS["ms"]
#: What stands for unknown in the summary. A parent of -1 is none, and an operator of -1 the other threads.
_UNKNOWN = "-1"
#: Columns that have no parts in the summary.
_LISTS = frozenset({"children_ids"})


def read_summary(path: Path, relative: str, log: ProblemLog, progress: Progress) -> dict[str, Table]:
    """minddata_summary and minddata_facts, from the JSON file or from the CSV file, which is transposed: a line is a
    key and its values."""
    report = FileReport(log, relative)
    text = read_text(path, report, progress)
    if text is None:
        return {}
    content = _lists(text, report) if _is_csv(path) else load_object(text, report, exact=True)
    if content is None:
        return {}
    figures = Figures(report)
    columns = [_column(column, content.get(column.headers[0]), figures, report) for column in names.SUMMARY_COLUMNS]
    count = max(map(len, columns))
    rows = Rows(names.SUMMARY_COLUMNS)
    for values in zip(*(column + [None] * (count - len(column)) for column in columns)):
        rows.add(*values)
    facts = Rows(names.FACTS_COLUMNS)
    for key in (names.PIPELINE_TIME, names.PUSH_TIME, names.BATCH_TIME):
        for value in _listed(content.get(key), key, report):
            facts.add(key, _unless_unknown(figures.integer(value, _MS, key)), None)
    for key in names.REMARKS:
        for value in _listed(content.get(key), key, report):
            facts.add(key, None, str(value))
    return {"minddata_summary": rows.table(), "minddata_facts": facts.table()}


def _is_csv(path: Path) -> bool:
    return ".csv" in path.suffixes


def _lists(text: str, report: FileReport) -> dict[str, Any]:
    """The lines of the transposed CSV."""
    out: dict[str, Any] = {}
    try:
        for row in csv.reader(text.splitlines()):
            if row:
                out[row[0]] = row[1:]
    except csv.Error as error:
        report.add("bad_quotes", found=str(error))
    return out


def _listed(value: Any, key: str, report: FileReport) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    report.add("unexpected_shape", key, expected="a list", found=str(value), kind=key)
    return []


def _column(column: Column, value: Any, figures: Figures, report: FileReport) -> list[Any]:
    key = column.headers[0]
    return [_cell(column, item, figures, key) for item in _listed(value, key, report)]


def _cell(column: Column, item: Any, figures: Figures, key: str) -> Any:
    """One value; -1 is unknown but in ids."""
    if column.kind is Kind.TEXT:
        return _joined(item)
    if column.group != "identity" and str(item) in (_UNKNOWN, _UNKNOWN + ".0"):
        return None
    return figures.integer(item, 1, key) if column.kind.is_int else figures.real(item, key)


def _joined(item: Any) -> str:
    """A list as a text, as CSV and raw file have it."""
    return "[" + ", ".join(map(str, item)) + "]" if isinstance(item, list) else str(item)


def _unless_unknown(value: int | None) -> int | None:
    return None if value is not None and value < 0 else value


def read_batches(path: Path, relative: str, log: ProblemLog, progress: Progress) -> dict[str, Table]:
    """minddata_batches of a device_queue_profiling or dataset_iterator_profiling file."""
    report = FileReport(log, relative)
    text = read_text(path, report, progress)
    if text is None:
        return {}
    found: dict[int, dict[str, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 5 or not all(cell.lstrip("-").isdecimal() for cell in cells):
            report.add("unexpected_shape", f"line {number}", expected="five whole numbers", found=line)
            continue
        kind, extra, batch, value, time = map(int, cells)
        entry = found.setdefault(batch, {})
        entry["time_ns"] = time * _MS
        if kind == names.QUEUE_RECORD:
            entry["queue_capacity"], entry["queue_size"] = extra, value
        elif kind == names.TIME_RECORD and extra in _TIMES:
            entry[_TIMES[extra]] = value * _MS
    rows = Rows(names.BATCHES.columns)
    for batch, entry in sorted(found.items()):
        rows.add(batch, *(entry.get(column.key) for column in names.BATCHES.columns[1:]))
    return {names.BATCHES.id: rows.table()}


_TIMES = {names.GET: "get_ns", names.PUSH: "push_ns", names.TOTAL: "total_ns"}


def read_cpu(path: Path, relative: str, log: ProblemLog, progress: Progress) -> dict[str, Table]:
    """minddata_cpu of a minddata_cpu_utilization file: one row a sample of the device, the process and each
    operator."""
    report = FileReport(log, relative)
    text = read_text(path, report, progress)
    content = None if text is None else load_object(text, report, exact=True)
    if content is None:
        return {}
    figures = Figures(report)
    stamps = [
        figures.integer(item, _MS, names.CPU_STAMPS) for item in _listed(content.get(names.CPU_STAMPS), "", report)
    ]
    rows = Rows(names.CPU.columns)
    for of, id_, lists in _cpu_parts(content, figures, report):
        columns = [
            _column(column, lists.get(column.headers[0]), figures, report)
            for column in names.CPU.columns
            if column.headers and column.key not in ("time_ns", "op_id")
        ]
        for place, stamp in enumerate(stamps):
            rows.add(stamp, of, id_, *(column[place] if place < len(column) else None for column in columns))
    return {names.CPU.id: rows.table()}


def _cpu_parts(
    content: Mapping[str, Any], figures: Figures, report: FileReport
) -> Sequence[tuple[str, int | None, Mapping[str, Any]]]:
    """(device, process or op; id of the operator; its lists)."""
    out: list[tuple[str, int | None, Mapping[str, Any]]] = []
    for of, key in (("device", names.CPU_DEVICE), ("process", names.CPU_PROCESS)):
        value = content.get(key)
        if isinstance(value, dict):
            out.append((of, None, value))
    for item in _listed(content.get(names.CPU_OPS), names.CPU_OPS, report):
        lists = item.get(names.CPU_METRICS) if isinstance(item, dict) else None
        if isinstance(lists, dict):
            out.append(("op", figures.integer(item.get("op_id"), 1, "op_id"), lists))
        else:
            report.add("unexpected_shape", names.CPU_OPS, expected="an object with metrics", found=str(item))
    return out
