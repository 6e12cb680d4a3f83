"""Reads small JSON files of legacy results: FLOPs and memory of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.schema import mindinsight_ops as names
from tb_npu_plugin.tables import Column, Kind, Table
from tb_npu_plugin.units import SIZE_UNITS


def read_flops_summary(reading: Reading) -> dict[str, Table]:
    """Return `flops_summary`, one row; {} if the file is unreadable."""
    keys = {column: names.FLOPS_KEYS[column.key] for column in names.FLOPS_SUMMARY_COLUMNS}
    return _one_row(reading, "flops_summary", keys)


def read_memory_summary(reading: Reading) -> dict[str, Table]:
    """Return `memory_summary`, one row; {} if the file is unreadable."""
    keys = {column: column.headers for column in names.MEMORY_SUMMARY_COLUMNS}
    return _one_row(reading, "memory_summary", keys)


def _one_row(reading: Reading, table: str, keys: Mapping[Column, Sequence[str]]) -> dict[str, Table]:
    report = reading.report
    value = read_object(reading, exact=True)
    if value is None:
        return {}
    report.count("entries", seen=1)
    if not any(key in value for spellings in keys.values() for key in spellings):
        expected = ", ".join(spellings[0] for spellings in keys.values())
        report.leave_out("entries", "unexpected_shape", expected=expected, found=", ".join(value))
        return {}
    written = [
        next((key for key in spellings if key in value), spellings[0])
        for column, spellings in keys.items()
        if not column.written
    ]
    report_lost_keys(report, value, written, "")
    figures = Figures(report)
    row: list[float | None] = []
    for column, spellings in keys.items():
        key = next((key for key in spellings if key in value), spellings[0])
        if column.kind is Kind.BYTES:
            row.append(figures.integer(value.get(key), SIZE_UNITS["GB"], key))
        elif column.kind is Kind.INT:
            row.append(figures.whole(value.get(key), key))
        else:
            row.append(figures.real(value.get(key), key))
    rows = RowBuilder(tuple(keys))
    rows.add(*row)
    report.count("entries", shown=len(rows.table()))
    return {table: rows.table()}
