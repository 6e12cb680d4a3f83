"""Reads the queues at the end of MindSpore's data pipeline, batch by batch. Source: docs/facts/mindinsight.md, Files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from tb_npu_plugin.analysis.grouping import concat
from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.damage import is_damaged
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import open_file, read_lines
from tb_npu_plugin.schema import minddata as files
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

#: Intermediate tables: the batches of one queue, for minddata_batches.
HOST, DEVICE = "_host_batches", "_device_batches"
_MS, _US = TIME_UNITS["ms"], TIME_UNITS["us"]
_TIMES = {files.GET: "get_ns", files.PUSH: "push_ns", files.TOTAL: "total_ns"}
_FIGURES = ("capacity", "size", "get_ns", "push_ns", "total_ns")
_EXPECTED = Message("expected.batch_line")


def read_device_queue(reading: Reading) -> Tables:
    """Return the host queue of device_queue_profiling or dataset_iterator_profiling. Lines have 5 figures (4 in old
    files): `0 subtype batch ms [timestamp]` or `1 capacity batch size [timestamp]`. A repeated record of a batch number
    starts another batch: some files count anew in each epoch."""
    report = reading.report
    batches: list[tuple[int, dict[str, int]]] = []
    latest: dict[int, dict[str, int]] = {}
    stamped: set[tuple[str, ...]] = set()
    with open_file(reading) as stream:
        if stream is None:
            return {}
        for line, content in enumerate(_read_lines(stream, report), 1):
            cells = content.split()
            report.count("rows", seen=int(bool(cells)))
            if not cells or _is_repeated(cells, 5, stamped, line, report):
                continue
            parsed = _parse(cells)
            if parsed is None:
                report.leave_out("rows", "short_row", f"line {line}", expected=_EXPECTED, found=content.strip())
                continue
            batch, figures = parsed
            if batch not in latest or latest[batch].keys() & figures.keys():
                latest[batch] = {}
                batches.append((batch, latest[batch]))
            latest[batch].update(figures)
    records = [("size" in figures) + sum(key in figures for key in _TIMES.values()) for _, figures in batches]
    report.count("rows", shown=sum(records))
    rows = RowBuilder(columns_of("minddata_batches"))
    for batch, figures in sorted(batches, key=lambda entry: entry[0]):
        rows.add(files.QUEUE_HOST, batch, *(figures.get(key) for key in _FIGURES))
    return _unless_empty(HOST, rows, report)


def _is_repeated(
    cells: Sequence[str], stamped_width: int, seen: set[tuple[str, ...]], line: int, report: FileReport
) -> bool:
    """Whether a line with a time (of `stamped_width` cells) was in the file before; reports it."""
    key = tuple(cells)
    if len(cells) != stamped_width:
        return False
    if key in seen:
        report.leave_out("rows", "repeated_row", f"line {line}")
        return True
    seen.add(key)
    return False


def _parse(cells: list[str]) -> tuple[int, dict[str, int]] | None:
    """Return (batch, figures) of a line; None if it is invalid."""
    if not 4 <= len(cells) <= 5 or not all(cell.isdecimal() and len(cell) < 16 for cell in cells[:3]):
        return None
    kind, second, batch = map(int, cells[:3])
    value = scale_decimal(cells[3], _MS if kind == files.TIME_RECORD else 1)
    if value is None or value < 0:
        return None
    if kind == files.QUEUE_RECORD:
        return batch, {"capacity": second, "size": value}
    return (batch, {_TIMES[second]: value}) if kind == files.TIME_RECORD and second in _TIMES else None


def read_device_wait(reading: Reading) -> Tables:
    """Return the device queue of minddata_aicpu (us) or minddata_getnext_profiling (ns).

    Lines are `name start end queue_size`; only those of GetNext take a batch."""
    report = reading.report
    unit = _US if "aicpu" in reading.name else 1
    rows = RowBuilder(columns_of("minddata_batches"))
    batch = 0
    stamped: set[tuple[str, ...]] = set()
    with open_file(reading) as stream:
        if stream is None:
            return {}
        for line, content in enumerate(_read_lines(stream, report), 1):
            cells = content.split()
            if not cells or cells[0] == files.WAIT_HEADER:
                continue
            report.count("rows", seen=1)
            if _is_repeated(cells, 4, stamped, line, report):
                continue
            start, end = (scale_decimal(cell, unit) for cell in (cells[1:3] if len(cells) > 2 else ("", "")))
            size = scale_decimal(cells[3], 1) if len(cells) > 3 else None
            is_batch = cells[0].startswith(files.WAIT)
            is_valid = start is not None and end is not None and size is not None and start <= end and size >= 0
            # The profiler writes zeros if it cannot decode its raw data.
            if start is None or end is None or not is_valid or (is_batch and not start):
                expected = "name start end size"
                report.leave_out("rows", "short_row", f"line {line}", expected=expected, found=content.strip())
            elif is_batch:
                batch += 1
                rows.add(files.QUEUE_DEVICE, batch, None, size, end - start, None, end - start)
            else:
                report.leave_out("rows", "no_batch", f"line {line}", found=content.strip())
    report.count("rows", shown=len(rows.table()))
    return _unless_empty(DEVICE, rows, report)


def _read_lines(stream: IO[bytes], report: FileReport) -> Iterator[str]:
    """Yield the lines; report damaged ones, and a last one without a line break, which may be truncated."""
    content = "\n"
    for line, content in enumerate(read_lines(stream, report), 1):
        if is_damaged(content):
            report.add("bad_bytes", f"line {line}")
        yield content
    if not content.endswith(("\n", "\r")):
        report.add("no_final_line_break", found=content)


def _unless_empty(table: str, rows: RowBuilder, report: FileReport) -> Tables:
    """Return the table; {} without rows, as another file may have the same queue."""
    found = rows.table()
    if len(found):
        return {table: found}
    report.add("no_rows")
    return {}


def with_batches(tables: Tables) -> Tables:
    """Build minddata_batches from the tables of both queues."""
    found = [tables[name] for name in (HOST, DEVICE) if name in tables]
    out = {name: table for name, table in tables.items() if name not in (HOST, DEVICE)}
    return {**out, "minddata_batches": concat(found[0].columns, found)} if found else out
