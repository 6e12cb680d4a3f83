"""Reports columns that a file lacks although its profiler writes them (Column.written), and missing metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.json_shapes import lost_of_most
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema.core import CANN_8, SCHEDULE, SELDOM, ResultFile
from tb_npu_plugin.schema.formats import Format
from tb_npu_plugin.schema.metric_sets import SETS, columns
from tb_npu_plugin.schema.metrics import GROUP, metric_column
from tb_npu_plugin.tables import Column, Table


def report_lost_columns(
    tables: Mapping[str, Table],
    files: Mapping[str, str],
    kinds: Mapping[str, str],
    format: Format,
    capture: Capture,
    log: ProblemLog,
) -> None:
    """Report the columns that each CSV file lacks. files: table -> file; kinds: file -> name that
    the profiler gives it. A word of Column.written holds where a column
    with that word was read; SCHEDULE where the settings have one and the steps
    have numbers, CANN_8 where they name that version or a newer one."""
    declared = {
        name: spec
        for name in tables
        if (spec := _csv_file(format, kinds.get(files.get(name, ""), ""), name)) is not None
    }
    holds = {word for name, spec in declared.items() for word in _words(spec, tables[name])}
    steps = tables.get("step_trace")
    if capture.schedule and (steps is None or (steps.text("step").codes >= 0).any()):  # marks may be off all the same
        holds.add(SCHEDULE)
    major = capture.versions.get("CANN", "").partition(".")[0]
    if major.isdecimal() and int(major) >= 8:
        holds.add(CANN_8)
    for name, spec in declared.items():
        if not all(tables[name].has(one.key) for one in spec.columns if one.required):
            continue  # its reader made the table of other columns
        expected = {one.key: one for one in spec.columns if one.headers and holds.issuperset(one.written.split())}
        lost = [expected[key] for key in lost_of_most(expected, tables[name].data)]
        metrics = _lost_metrics(tables[name]) if spec.extra == "metric" else []
        report_lost([*lost, *(metric_column(header)[0] for header in metrics)], FileReport(log, files[name]))


def _csv_file(format: Format, file: str, table: str) -> ResultFile | None:
    """Return the declaration of the CSV file that a table was read from."""
    spec = format.file(file)
    return spec if spec is not None and spec.id == table and spec.name.endswith(".csv") else None


def report_lost(columns: Iterable[Column], report: FileReport) -> None:
    """Report columns that a file lacks although its profiler writes them."""
    for column in columns:
        header = column.headers[0]
        report.add("lost_column", "line 1", expected=Message("expected.column", column=header), kind=header)


def _words(spec: ResultFile, table: Table) -> Iterator[str]:
    """Yield the words that the columns of a table show: a column is there only where all its words hold."""
    found = (word for column in spec.columns if table.has(column.key) for word in column.written.split())
    return (word for word in found if word not in (SCHEDULE, SELDOM))


def _lost_metrics(table: Table) -> list[str]:
    """Return the headers that are missing of the metrics that most of the file's metric columns belong to."""
    found = {header for column in table.columns if column.group == GROUP for header in column.headers}
    sets = [columns(metrics, split) for metrics in SETS for split in (False, True)]
    best = max(sets, key=lambda one: (len(found.intersection(one)), -len(one)))
    lost = [header for header in best if header not in found]
    return lost if 2 * len(lost) < len(best) else []
