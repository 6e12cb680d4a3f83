"""A span read straight from a result folder, without discovery, cache and server; and one of hand-made tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_npu_plugin.analysis.kernels.meaning import with_meaning
from tb_npu_plugin.model import NO_UNREAD, Capture, StageCost, Unread
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.schema.formats import FORMATS, KINETO
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES, file_of
from tb_npu_plugin.seen import SeenFiles
from tb_npu_plugin.tables import Column, Kind, Table, from_lists, known


@dataclass
class TestSpan:
    """SpanData over tables in memory."""

    __test__ = False

    tables: dict[str, Table] = field(default_factory=dict)
    capture: Capture = field(default_factory=Capture)
    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    token: str = "span-0"
    label: str = "span"
    worker_label: str = "rank 0"
    run_label: str = "run"
    trace_version: str = ""
    timeline: Any = None
    format: str = "torch_npu"
    path: str = "run/span"
    sizes: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, int]] = field(default_factory=dict)
    costs: Sequence[StageCost] = ()
    unread: Unread = NO_UNREAD
    seen: SeenFiles = field(default_factory=SeenFiles)

    @property
    def kinds(self) -> dict[str, str]:
        return {path: path.rsplit("/", 1)[-1] for path in self.files}

    @property
    def base_ns(self) -> int:
        starts = []
        for table in self.tables.values():
            for column in table.columns:
                values = table.ints(column.key) if column.kind is Kind.TIME else None
                if values is not None and known(values).any():
                    starts.append(int(values[known(values)].min()))
        return min(starts, default=0)

    def rows(self, table: str) -> int | None:
        return len(self.tables[table]) if table in self.tables else None

    def source(self, table: str) -> str:
        if table in self.sources:
            return self.sources[table]
        names = [path.rsplit("/", 1)[-1] for path in self.files]
        declared = file_of(table, self.format)
        if table == "operators" and not any(declared.matches(name) for name in names):
            return next((name for name in names if file_of("trace").matches(name)), declared.name)
        return declared.name

    def rows_by_file(self, table: str) -> dict[str, int]:
        rows = self.rows(table)
        return {} if rows is None else self.parts.get(table) or {self.source(table): rows}

    def table(self, table: str) -> Table | None:
        found = self.tables.get(table)
        return with_meaning(found) if table == "kernels" and found is not None and not found.has("meaning") else found


def span_of(folder: Path) -> TestSpan:
    """Every table of a `*_ascend_pt` folder, through the readers."""
    from tb_npu_plugin.readers.shared.reading import Reading
    from tb_npu_plugin.readers.text.reader import read_capture, read_file

    log = ProblemLog()
    tables: dict[str, Table] = {}
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        spec = next((spec for spec in RESULT_FILES if spec.matches(path.name)), None)
        if spec is not None and spec.id != "trace" and not spec.in_root:
            tables.update(read_file(Reading(path, path.relative_to(folder).as_posix(), log)))
    names = [path.relative_to(folder).as_posix() for path in files]
    capture = read_capture(folder, names, log)
    return TestSpan(
        tables, capture, names, log.list(), token=folder.name, worker_label=folder.name, run_label=folder.parent.name
    )


def found_spans(logdir: Path) -> list[TestSpan]:
    """Every span below a folder in the order of the catalog, found and read as the worker does it; the trace as far as
    tables need it."""
    from tb_npu_plugin.discovery.scan import scan
    from tb_npu_plugin.readers.formats import READERS
    from tb_npu_plugin.readers.shared.reading import Reading

    out = []
    for place in scan({"": logdir}).places():
        found, reader = place.span, READERS[place.span.format]
        log, tables, sources = ProblemLog(), {}, {}
        for file in found.table_files:
            spec = FORMATS[found.format].file(file.name)
            if spec is None or not spec.settings:
                new = reader.tables(Reading(found.folder / file.relative, file.relative, log, before=tables))
                tables.update(new)
                sources.update(dict.fromkeys(new, file.name))
        names = [file.relative for file in found.files]
        capture = reader.capture(found.folder, names, log)
        if place.span.format == KINETO.id:
            tables = tables_of_trace(found.folder / names[0], log)
        tables = reader.finish(tables, capture, log)
        problems = [*found.notes, *log.list()]
        span = TestSpan(tables, capture, names, problems, found.token, format=found.format, sources=sources)
        span.label, span.worker_label, span.run_label = found.label, place.worker.label, place.run.label
        out.append(span)
    return out


def tables_of_trace(path: Path, log: ProblemLog) -> dict[str, Table]:
    """Tables of a trace of Kineto, which has no other file."""
    from tb_npu_plugin.readers.formats import READERS
    from tb_npu_plugin.store.timeline.build import build_timeline

    reader = READERS[KINETO.id]
    with tempfile.TemporaryDirectory() as folder:
        return build_timeline(path, Path(folder), log, lambda _: None, None, reader.scan, reader.derive)


def table_of(name: str, rows: list[dict[str, Any]], *more: Column) -> Table:
    """A logical table from rows; what a row lacks is unknown. Columns that no row has are absent, as in a file."""
    columns = [column for column in (*TABLES[name], *more) if any(column.key in row for row in rows)]
    table = from_lists(columns, {column.key: [row.get(column.key) for row in rows] for column in columns})
    return with_meaning(table) if name == "kernels" else table
