"""Reads results of MindSpore's profiler that were recorded without an NPU. Source: docs/facts/ascend_ms.md, Results of a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tb_npu_plugin.discovery.identity import identify
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.kineto.stacks import FRAME_END
from tb_npu_plugin.readers.shared import settings
from tb_npu_plugin.readers.shared.csv_reader import read_csv
from tb_npu_plugin.readers.shared.damage import is_damaged
from tb_npu_plugin.readers.shared.figures import TOO_LONG, RowBuilder
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import open_file, read_lines
from tb_npu_plugin.schema import mindspore_cpu as files
from tb_npu_plugin.schema.formats import MINDSPORE_CPU
from tb_npu_plugin.schema.mindspore import MINDSPORE, SHAPE_SEPARATOR
from tb_npu_plugin.schema.torch_npu_csv import NESTED, OPERATORS
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

#: Intermediate tables, and the table that `finish` makes of them.
_EXECUTIONS, _LAUNCHES = "_executions", "_launches"
PARTS = {_EXECUTIONS: "operators", _LAUNCHES: "operators"}
#: Columns that only match executions with launches: name in the graph, start.
_MATCHED = (Column("_node", Kind.TEXT), Column("_start_ns", Kind.TIME))
_EXPECTED = Message("expected.execution_line")


def read_capture(folder: Path, files_: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of a result folder: rank from the file names, the rest from folder names and metadata."""
    named = identify(folder, folder.parts[-3:])
    rank, source = files.rank_in(path.rpartition("/")[2] for path in files_)
    return Capture(
        rank=named.rank if rank is None else rank,
        rank_source=named.rank_source if rank is None else source,
        worker_name=named.worker_name,
        host=named.host,
        pid=named.pid,
        window=named.window,
        device_name=files.CPU,
        **settings.read_metadata(folder, settings.beside(files_), log),
    )


def read_file(reading: Reading) -> Tables:
    """Return the logical tables of one file; see readers.text.reader.read_file."""
    spec = MINDSPORE_CPU.file(reading.name)
    if spec is files.EXECUTIONS:
        found = _read_executions(reading)
        _report_unmatched(found.get(_EXECUTIONS), reading.before.get(_LAUNCHES), reading.report)
        return found
    if spec is files.LAUNCHES:
        launches = _read_launches(reading)
        _report_unmatched(reading.before.get(_EXECUTIONS), launches, reading.report)
        return {_LAUNCHES: launches}
    if spec is files.HOST_MEMORY:
        return _read_memory(reading)
    reading.report.add("unknown_file", found=reading.name)
    return {}


def _read_executions(reading: Reading) -> Tables:
    """Return the executions and, where ranks communicated, `comm_ops`; both by start. A line has all executions of an operator:
    "name;HostCpuOps;start ns,duration ms,0 start,duration,0 "."""
    executions = RowBuilder((*files.OPERATOR_COLUMNS, *_MATCHED))
    collectives = RowBuilder(files.COLLECTIVE_COLUMNS)
    for line, content in enumerate(_lines(reading), 1):
        name, _, rest = content.partition(files.FIELD)
        scopes = name.split(files.SCOPE)
        type_ = files.NUMBER.sub("", scopes[-1])
        stack = FRAME_END.join(reversed(scopes)) if len(scopes) > 1 else None
        kind = "p2p" if files.POINT_TO_POINT.fullmatch(type_) else "collective"
        for text in rest.partition(files.FIELD)[2].split():
            reading.report.count("rows", seen=1)
            start, dur = _execution(text)
            if start is None or dur is None:
                reading.report.leave_out("rows", "short_row", f"line {line}", expected=_EXPECTED, found=text)
                continue
            executions.add(type_, None, stack, dur, dur, scopes[-1], start)
            if files.is_collective(type_):
                collectives.add(None, kind, type_, None, start, dur)
    found = {
        _EXECUTIONS: _by_start(executions.counted(reading.report), "_start_ns"),
        "comm_ops": _by_start(collectives.table(), "start_ns"),
    }
    return {name: table for name, table in found.items() if len(table)}


def _execution(text: str) -> tuple[int | None, int | None]:
    """Return (start, duration) of "start ns,duration ms,0", in ns; None for an invalid figure."""
    figures = text.split(files.FIGURE)
    if len(figures) < 2:
        return None, None
    start, dur = scale_decimal(figures[0], 1), scale_decimal(figures[1], TIME_UNITS["ms"])
    return start, dur if dur is not None and 0 <= dur < TOO_LONG else None


def _by_start(table: Table, key: str) -> Table:
    return table.take(np.argsort(table.ints(key), kind="stable"))


def _read_launches(reading: Reading) -> Table:
    """Return the operators in the order of their launches: "type;name;graph id;input_1:[8, 64];input_2:NoShape;"."""
    rows = RowBuilder((_MATCHED[0], OPERATORS.column("input_shapes")))
    for line, content in enumerate(_lines(reading), 1):
        reading.report.count("rows", seen=1)
        cells = content.split(files.FIELD)
        if len(cells) < 3:
            expected = Message("expected.launch_line")
            reading.report.leave_out("rows", "short_row", f"line {line}", expected=expected, found=content)
            continue
        rows.add(cells[1] or None, _shapes(cells[3:]))
    return rows.counted(reading.report)


def _shapes(inputs: Sequence[str]) -> str | None:
    """Return "8,64;;" for ["input_1:[8, 64]", "input_2:[]", ""], as results of an NPU have it; None if no input has a
    shape."""
    found = [files.INPUT.fullmatch(text.strip()) for text in inputs if text.strip()]
    shapes = [None if one is None else one.group("shape") for one in found]
    if all(shape is None for shape in shapes):
        return None
    return "".join((shape or "").replace(" ", "") + SHAPE_SEPARATOR for shape in shapes)


def _read_memory(reading: Reading) -> Tables:
    """Return `memory_record`: what MindSpore allocated on the host."""
    table = read_csv(reading, files.HOST_MEMORY)
    if table is None:
        return {}
    texts = (("component", MINDSPORE), ("device", files.CPU))
    same = [(MEMORY_RECORD.column(key), StringColumn(np.zeros(len(table), np.int32), [text])) for key, text in texts]
    return {"memory_record": table.with_columns(same)}


def _lines(reading: Reading) -> Iterator[str]:
    """Yield the lines that are not empty; report damaged ones."""
    with open_file(reading) as stream:
        if stream is None:
            return
        for line, content in enumerate(read_lines(stream, reading.report), 1):
            if is_damaged(content):
                reading.report.add("bad_bytes", f"line {line}")
            if content.strip():
                yield content.rstrip("\r\n")


def finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Make the operators: executions with the shapes of their launches."""
    out = {name: table for name, table in tables.items() if name not in PARTS}
    executions, launches = tables.get(_EXECUTIONS), tables.get(_LAUNCHES)
    if executions is None:
        return out
    shapes = {} if launches is None else {"input_shapes": _shapes_of(executions, launches)}
    operators = Table.of(files.OPERATOR_COLUMNS, {**executions.data, **shapes})
    return {**out, "operators": operators.with_columns([(NESTED, np.zeros(len(operators), dtype=np.int64))])}


def _shapes_of(executions: Table, launches: Table) -> StringColumn:
    """Return the shapes of each execution. Executions by start and launches are the same list if their numbers are equal
    and no launch has another name; otherwise all are unknown."""
    unknown = executions.text("input_shapes")
    return launches.text("input_shapes") if _are_same(executions, launches) else unknown


def _are_same(executions: Table, launches: Table) -> bool:
    """Whether the launches are those of the executions."""
    if len(launches) != len(executions):
        return False
    executed, launched = executions.text("_node").tolist(), launches.text("_node").tolist()
    return all(name is None or name == node for node, name in zip(executed, launched))


def _report_unmatched(executions: Table | None, launches: Table | None, report: FileReport) -> None:
    """Report that launches and executions, once both are read, are not the same: the operators have no shapes then."""
    if executions is None or launches is None or _are_same(executions, launches):
        return
    counts = Message("found.launches", launches=len(launches), executions=len(executions))
    report.add("unmatched_launches", found=counts)
