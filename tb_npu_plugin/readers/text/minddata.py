"""Reads the files of MindSpore's data pipeline, for legacy results and those of 2.5 and later.
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import int64_or_none, member, objects, report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.text_rows import CsvRows, open_rows, text
from tb_npu_plugin.readers.text.minddata_batches import DEVICE, HOST, read_device_queue, read_device_wait, with_batches
from tb_npu_plugin.readers.text.minddata_cpu import read_cpu
from tb_npu_plugin.readers.text.minddata_summary import read_summary, with_summary
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

_MS = TIME_UNITS["ms"]
#: Number of columns of minddata_ops that only the summary fills.
_SUMMARY_ONLY = 5


def read_pipeline_raw(reading: Reading) -> Tables:
    """Return `minddata_ops` and `minddata_queues` of minddata_pipeline_raw. Rows without a unique operator number are
    skipped and reported."""
    ops, queues = RowBuilder(columns_of("minddata_ops")), RowBuilder(columns_of("minddata_queues"))
    seen: set[int] = set()
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        place = {
            column.key: rows.first_position(column.headers) for column in columns_of("minddata_ops") if column.headers
        }
        sizes_position = rows.first_position((files.RAW_SIZES,))
        if place["op_id"] is None or place["name"] is None:
            rows.report_missing("op_id, op_type")
            return {}
        rows.report_unknown_headers(files.RAW_HEADER)
        rows.report_lost_headers(files.RAW_HEADER)
        for line, cells in rows.lines:
            op_id, capacity = (rows.whole(cells, place[key], line) for key in ("op_id", "queue_capacity"))
            if not _is_new(op_id, seen):
                where, found = f"line {line}, {files.OP_ID}", cells[place["op_id"]]
                rows.report.leave_out("rows", "bad_required_cell", where, expected=_EXPECTED_NUMBER, found=found)
                continue
            interval = rows.integer(cells, place["sample_interval_ns"], _MS, line)
            sizes = _sizes(rows, text(cells, sizes_position), line)
            average = rows.real(cells, place["queue_average"], line)
            workers, parent = (rows.whole(cells, place[key], line) for key in ("workers", "parent_id"))
            queue = (capacity, *_usage(sizes, capacity, average), interval)
            ops.add(op_id, text(cells, place["name"]), workers, parent, *queue, *[None] * _SUMMARY_ONLY)
            _add_queue(queues, op_id, interval, sizes)
    reading.report.count("rows", shown=len(ops.table()))
    return _pipeline(ops, queues)


#: Expected operator number, for problems.
_EXPECTED_NUMBER = Message("expected.operator_number")


def _is_new(op_id: int | None, seen: set[int]) -> bool:
    """Whether the number is valid and unique so far; adds it to `seen`."""
    if op_id is None or op_id < 0 or op_id in seen:
        return False
    seen.add(op_id)
    return True


def _pipeline(ops: RowBuilder, queues: RowBuilder) -> Tables:
    """Return the tables; {} without operators, as another file may have them."""
    found = ops.table()
    return {"minddata_ops": found, "minddata_queues": queues.table()} if len(found) else {}


def _sizes(rows: CsvRows, cell: str | None, line: int) -> list[int]:
    if cell is None:
        return []
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(_is_size(value) for value in values):
        rows.report.add(
            "unexpected_shape", f"line {line}, {files.RAW_SIZES}", expected=Message("expected.list"), found=cell
        )
        return []
    return values


def _is_size(value: Any) -> bool:
    size = int64_or_none(value)
    return size is not None and size >= 0


def _usage(sizes: Sequence[int], capacity: int | None, stated: float | None) -> tuple[float | None, float | None]:
    """Return the average size and the usage of a queue, from its samples if recorded; None without a queue."""
    average = sum(sizes) / len(sizes) if sizes else stated
    return average, None if average is None or capacity is None or capacity <= 0 else average / capacity


def _add_queue(out: RowBuilder, op_id: int | None, interval: int | None, sizes: Sequence[int | None]) -> None:
    for number, size in enumerate(sizes):
        out.add(op_id, None if interval is None else number * interval, size)


def read_pipeline_profiling(reading: Reading) -> Tables:
    """Return the same tables of pipeline_profiling, which records children instead of parents."""
    report = reading.report
    value = read_object(reading, exact=False)
    if value is None:
        return {}
    interval = _interval(report, value.get(files.RAW_INTERVAL))
    seen: set[int] = set()
    found = []
    for item in objects(report, value, files.RAW_OPS):
        if _is_new(int64_or_none(item.get(files.OP_ID)), seen):
            found.append(item)
        else:
            named = str(item.get(files.OP_ID))
            report.leave_out("entries", "bad_required_cell", files.OP_ID, expected=_EXPECTED_NUMBER, found=named)
    parents = {child: int64_or_none(item[files.OP_ID]) for item in found for child in _children(report, item)}
    ops, queues = RowBuilder(columns_of("minddata_ops")), RowBuilder(columns_of("minddata_queues"))
    for item in found:
        where = f"{files.OP_ID} {item[files.OP_ID]}"
        report_lost_keys(report, item, files.RAW_KEYS, where)
        queue = member(report, member(report, item, files.RAW_METRICS, dict), files.RAW_QUEUE, dict)
        if queue:
            report_lost_keys(report, queue, (files.QUEUE_SIZES, files.QUEUE_LENGTH), where)
        samples = [size if _is_size(size) else None for size in member(report, queue, files.QUEUE_SIZES, list)]
        sizes = [size for size in samples if size is not None]
        if len(sizes) < len(samples):
            report.add("bad_cell", files.QUEUE_SIZES, count=len(samples) - len(sizes), kind=files.QUEUE_SIZES)
        op_id, capacity = int(item[files.OP_ID]), int64_or_none(queue.get(files.QUEUE_LENGTH))
        name, workers = item.get(files.OP_TYPE), int64_or_none(item.get(files.OP_WORKERS))
        usage = (capacity, *_usage(sizes, capacity, None), interval)
        shown = None if name is None else str(name) or None
        ops.add(op_id, shown, workers, parents.get(op_id), *usage, *[None] * _SUMMARY_ONLY)
        _add_queue(queues, op_id, interval, samples)
    report.count("entries", shown=len(ops.table()))
    if not found:
        report.add("no_rows")
    return _pipeline(ops, queues)


def _interval(report: FileReport, value: Any) -> int | None:
    """Return the sampling interval in ns; None if it is missing, or, with a problem, not a number."""
    found = scale_decimal(str(value), _MS)
    if found is None and value is not None:
        report.add("not_a_number", files.RAW_INTERVAL, found=str(value))
    return found


def _children(report: FileReport, item: dict[str, Any]) -> list[int]:
    """Return the numbers of an operator's input operators."""
    out = []
    for child in member(report, item, files.OP_CHILDREN, list):
        number = int64_or_none(child)
        if number is None:
            report.add("bad_cell", files.OP_CHILDREN, found=str(child), kind=files.OP_CHILDREN)
        else:
            out.append(number)
    return out


_READERS: dict[str, Callable[[Reading], Tables]] = {
    files.PIPELINE.id: read_pipeline_raw,
    files.PIPELINE_PROFILING.id: read_pipeline_profiling,
    files.SUMMARY.id: read_summary,
    files.BATCHES.id: read_device_queue,
    files.DEVICE_WAIT.id: read_device_wait,
    files.CPU.id: read_cpu,
}


def read_minddata(spec: ResultFile, reading: Reading) -> Tables | None:
    """Return the logical tables of a data pipeline file, or intermediate tables for `with_combined_tables`; None for other
    files. If two files have the same data, the better one is used, in whichever order they are read."""
    reader = _READERS.get(spec.id)
    if reader is None:
        return None
    return {} if _has_better_source(spec, reading.name, reading.before) else reader(reading)


def _has_better_source(spec: ResultFile, name: str, before: Mapping[str, Table]) -> bool:
    """Whether a better file with the same data was already read. JSON is better than CSV, whose truncation goes
    unnoticed; minddata_pipeline_raw is better than pipeline_profiling; first-choice queue files are better than those
    in SECOND_CHOICE."""
    if spec is files.SUMMARY:
        return "minddata_remarks" in before and ".csv" in name
    if spec is files.PIPELINE_PROFILING:
        return "minddata_ops" in before
    queues = {files.BATCHES.id: HOST, files.DEVICE_WAIT.id: DEVICE}
    return name.startswith(files.SECOND_CHOICE) and queues.get(spec.id) in before


#: Intermediate table -> logical table that `with_combined_tables` builds from it.
PARTS = {HOST: "minddata_batches", DEVICE: "minddata_batches"}


def with_combined_tables(tables: Tables) -> Tables:
    """Build the tables that combine several files."""
    return with_batches(with_summary(tables))
