"""Small JSON files of legacy results: the work of a step, its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.figures import Figures, Rows
from tb_npu_plugin.readers.json_file import load_object, read_text
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.schema import mindinsight_ops as names
from tb_npu_plugin.tables import Column, Kind, Table
from tb_npu_plugin.units import SIZE_UNITS


def read_flops_summary(path: Path, relative: str, log: ProblemLog, progress: Progress) -> dict[str, Table]:
    """`flops_summary`, one row; {} when nothing could be read."""
    keys = {column: names.FLOPS_KEYS[column.key] for column in names.FLOPS_SUMMARY_COLUMNS}
    return _one_row(path, relative, log, progress, "flops_summary", keys)


def read_memory_summary(path: Path, relative: str, log: ProblemLog, progress: Progress) -> dict[str, Table]:
    """`memory_summary`, one row; {} when nothing could be read."""
    keys = {column: column.headers for column in names.MEMORY_SUMMARY_COLUMNS}
    return _one_row(path, relative, log, progress, "memory_summary", keys)


def _one_row(path: Path, relative: str, log: ProblemLog, progress: Progress, table: str,
             keys: Mapping[Column, Sequence[str]]) -> dict[str, Table]:  # fmt: skip
    report = FileReport(log, relative)
    content = read_text(path, report, progress)
    value = None if content is None else load_object(content, report, exact=True)
    if value is None:
        return {}
    figures = Figures(report)
    row: list[float | None] = []
    for column, spellings in keys.items():
        key = next((key for key in spellings if key in value), spellings[0])
        if column.kind is Kind.BYTES:
            row.append(figures.integer(value.get(key), SIZE_UNITS["GB"], key))
        elif column.kind is Kind.INT:
            row.append(figures.integer(value.get(key), 1, key))
        else:
            row.append(figures.real(value.get(key), key))
    rows = Rows(tuple(keys))
    rows.add(*row)
    return {table: rows.table()}
