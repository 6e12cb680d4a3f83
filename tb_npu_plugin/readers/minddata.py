"""The files of MindSpore's data pipeline, which legacy results and those of 2.5 and later share. Source:
specs/mindspore.md 2.6, 3.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.analysis.joining import concat
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.figures import Figures
from tb_npu_plugin.readers.figures import Rows as TableRows
from tb_npu_plugin.readers.json_file import load_object, read_text
from tb_npu_plugin.readers.minddata_summary import read_summary
from tb_npu_plugin.readers.mindinsight.rows import Rows, opened_rows, text
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress, opened, text_lines
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema import minddata_tables as names
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS, scaled

Tables = dict[str, Table]
_MS, _US = TIME_UNITS["ms"], TIME_UNITS["us"]
#: Columns of minddata_ops that only the summary knows.
_SUMMARY_ONLY = 5


def read_pipeline_raw(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """`minddata_ops` and `minddata_queues` of minddata_pipeline_raw."""
    ops, queues = TableRows(names.MINDDATA_OPS_COLUMNS), TableRows(names.MINDDATA_QUEUES_COLUMNS)
    with opened_rows(path, FileReport(log, relative), progress) as rows:
        if rows is None:
            return {}
        place = {column.key: rows.first_of(column.headers) for column in names.MINDDATA_OPS_COLUMNS if column.headers}
        sizes_place = rows.first_of((files.RAW_SIZES,))
        if place["op_id"] is None or place["name"] is None:
            rows.report.add("missing_column", "line 1", expected="op_id, op_type", found=", ".join(rows.header))
            return {}
        for line, cells in rows.lines:
            op_id, capacity = (rows.integer(cells, place[key], 1, line) for key in ("op_id", "queue_capacity"))
            interval = rows.integer(cells, place["sample_interval_ns"], _MS, line)
            sizes = _sizes(rows, text(cells, sizes_place), line)
            average = rows.real(cells, place["queue_average"], line)
            ops.add(
                op_id, text(cells, place["name"]), rows.integer(cells, place["workers"], 1, line),
                rows.integer(cells, place["parent_id"], 1, line), capacity, *_usage(sizes, capacity, average),
                interval, *[None] * _SUMMARY_ONLY,
            )  # fmt: skip
            _add_queue(queues, op_id, interval, sizes)
    return {"minddata_ops": ops.table(), "minddata_queues": queues.table()}


def _sizes(rows: Rows, cell: str | None, line: int) -> list[int]:
    if cell is None:
        return []
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(_whole(value) is not None for value in values):
        rows.report.add("unexpected_shape", f"line {line}, {files.RAW_SIZES}", expected="a list", found=cell)
        return []
    return values


def _usage(sizes: Sequence[int], capacity: int | None, stated: float | None) -> tuple[float | None, float | None]:
    """Average and usage of a queue, from its samples where they are there; unknown without a queue."""
    average = sum(sizes) / len(sizes) if sizes else stated
    return average, None if average is None or not capacity else average / capacity


def _add_queue(out: TableRows, op_id: int | None, interval: int | None, sizes: Sequence[int]) -> None:
    for number, size in enumerate(sizes):
        out.add(op_id, None if interval is None else number * interval, size)


def read_pipeline_profiling(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """The same of pipeline_profiling, where children stand instead of parents."""
    report = FileReport(log, relative)
    content = read_text(path, report, progress)
    value = None if content is None else load_object(content, report, exact=False)
    if value is None:
        return {}
    interval = scaled(str(value.get("sampling_interval", "")), _MS)
    found = [item for item in _items(value.get("op_info")) if _whole(item.get("op_id")) is not None]
    parents = {
        child: _whole(item["op_id"])
        for item in found
        for child in _shaped(report, item, "children", list)
        if _whole(child) is not None
    }
    ops, queues = TableRows(names.MINDDATA_OPS_COLUMNS), TableRows(names.MINDDATA_QUEUES_COLUMNS)
    for item in found:
        queue = _shaped(report, _shaped(report, item, "metrics", dict), "output_queue", dict)
        sizes = [size for size in _shaped(report, queue, "size", list) if _whole(size) is not None]
        op_id, capacity = _whole(item["op_id"]), _whole(queue.get("length"))
        ops.add(op_id, str(item.get("op_type", "")) or None, _whole(item.get("num_workers")), parents.get(op_id),
                capacity, *_usage(sizes, capacity, None), interval, *[None] * _SUMMARY_ONLY)  # fmt: skip
        _add_queue(queues, op_id, interval, sizes)
    if not found:
        report.add("no_rows")
    return {"minddata_ops": ops.table(), "minddata_queues": queues.table()}


def _shaped(report: FileReport, owner: dict[str, Any], key: str, kind: Callable[[], Any]) -> Any:
    """A member that is a list or an object; an empty one where it is not there, or is something else: a problem."""
    value = owner.get(key)
    if value is not None and type(value) is not kind:
        report.add("unexpected_shape", key, found=str(value), kind=key)
        value = None
    return kind() if value is None else value


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    """An integer that a column holds."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def read_device_queue(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """`minddata_batches`, queue "host", of device_queue_profiling or dataset_iterator_profiling: lines of 5 integers
    (4 in old files), `0 subtype batch ms [timestamp]` and `1 capacity batch size [timestamp]`."""
    report = FileReport(log, relative)
    batches: dict[int, dict[str, int]] = {}
    with opened(path, report, progress) as stream:
        if stream is None:
            return {}
        for line, content in enumerate(text_lines(stream, report), 1):
            cells = content.split()
            if not cells:
                continue
            figures = [int(cell) for cell in cells[:4] if cell.isdecimal() and len(cell) < 16]
            if len(figures) < 4:
                report.add("short_row", f"line {line}", expected="4 or 5 integers", found=content.strip())
                continue
            kind, second, batch, value = figures
            found = batches.setdefault(batch, {})
            if kind == 0 and second in _TIMES:
                found[_TIMES[second]] = value * _MS
            elif kind == 1:
                found["capacity"], found["size"] = second, value
    rows = TableRows(names.MINDDATA_BATCHES_COLUMNS)
    for batch, found in sorted(batches.items()):
        rows.add(names.QUEUE_HOST, batch, *(found.get(key) for key in
                                            ("capacity", "size", "get_ns", "push_ns", "total_ns")))  # fmt: skip
    if not batches:
        report.add("no_rows")
    return {"minddata_batches": rows.table()}


#: Subtypes of a time.
_TIMES = {0: "get_ns", 1: "push_ns", 2: "total_ns"}


def read_device_wait(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """`minddata_batches`, queue "device", of minddata_aicpu (us) or minddata_getnext_profiling (ns): lines
    `name start end queue_size`."""
    report = FileReport(log, relative)
    unit = _US if "aicpu" in path.name else 1
    rows = TableRows(names.MINDDATA_BATCHES_COLUMNS)
    batch = 0
    with opened(path, report, progress) as stream:
        if stream is None:
            return {}
        for line, content in enumerate(text_lines(stream, report), 1):
            cells = content.split()
            if not cells:
                continue
            start, end, size = (scaled(cell, 1) for cell in (cells[1:4] if len(cells) > 3 else ("", "", "")))
            if start is None or end is None or size is None or end < start:
                report.add("short_row", f"line {line}", expected="name start end size", found=content.strip())
                continue
            batch += 1
            wait = (end - start) * unit
            rows.add(names.QUEUE_DEVICE, batch, None, size, wait, None, wait)
    if not batch:
        report.add("no_rows")
    return {"minddata_batches": rows.table()}


def read_cpu(path: Path, relative: str, log: ProblemLog, progress: Progress) -> Tables:
    """`minddata_cpu` of minddata_cpu_utilization. Stamps are milliseconds; the first may only be the base of the
    values, which are one fewer then."""
    report = FileReport(log, relative)
    content = read_text(path, report, progress)
    value = None if content is None else load_object(content, report, exact=True)
    if value is None:
        return {}
    figures = Figures(report)
    raw = value.get("time_stamp")
    stamps = [figures.integer(stamp, _MS, "time_stamp") for stamp in raw] if isinstance(raw, list) else []
    rows = TableRows(names.MINDDATA_CPU_COLUMNS)

    def add(scope: str, op_id: int | None, info: dict[str, Any]) -> None:
        series = {key: info.get(f"{key}_utilization") for key in ("user", "sys", "io", "idle")}
        length = max((len(values) for values in series.values() if isinstance(values, list)), default=0)
        moments = stamps[len(stamps) - length :] if length <= len(stamps) else [None] * length
        base = stamps[0] if stamps else None
        for number, stamp in enumerate(moments):
            each = (values[number] if isinstance(values, list) and number < len(values) else None
                    for values in series.values())  # fmt: skip
            rows.add(scope, op_id, None if stamp is None or base is None else stamp - base,
                     *(figures.real(one, f"{scope}, {number}") for one in each))  # fmt: skip

    add(names.CPU_MACHINE, None, _shaped(report, value, "device_info", dict))
    add(names.CPU_PROCESS, None, _shaped(report, value, "process_info", dict))
    for item in _items(value.get("op_info")):
        op_id = scaled(str(item.get("op_id", "")), 1)
        add(names.CPU_OP, op_id if op_id is not None and op_id >= 0 else None, _shaped(report, item, "metrics", dict))
    return {"minddata_cpu": rows.table()}


_READERS: dict[str, Callable[[Path, str, ProblemLog, Progress], Tables]] = {
    files.PIPELINE.id: read_pipeline_raw,
    files.PIPELINE_PROFILING.id: read_pipeline_profiling,
    files.SUMMARY.id: read_summary,
    files.BATCHES.id: read_device_queue,
    files.DEVICE_WAIT.id: read_device_wait,
    files.CPU.id: read_cpu,
}


def read_minddata(
    spec: ResultFile, path: Path, relative: str, log: ProblemLog, progress: Progress, before: Tables
) -> Tables | None:
    """The logical tables of a file of the data pipeline; None for other files. `before`: what was read so far: two
    files fill minddata_batches, both are in it; and of two that tell the pipeline the better one stands."""
    reader = _READERS.get(spec.id)
    if reader is None:
        return None
    if spec is files.SUMMARY and "minddata_remarks" in before:
        return {}  # JSON and CSV hold the same
    found = reader(path, relative, log, progress)
    if spec is files.PIPELINE_PROFILING and "minddata_ops" in before:
        return {}  # minddata_pipeline_raw says the same and more
    if "minddata_batches" in found and "minddata_batches" in before:
        both = [before["minddata_batches"], found["minddata_batches"]]
        return {"minddata_batches": concat(both[0].columns, both)}
    return found
