"""The columns of tables, declared in columns.csv: those of result files, and of tables that are computed from them.

columns.csv has a row for each column, in the order of its table:
    table: Name for `columns_of`.
    key, kind, group, least, most: As in `tables.Column`. Each core of a CPU has 100 percent.
    text: Name of its title and description for `column_texts`.
    headers: Spellings in result files, newest first, separated by "; ".
    need: "required", or empty.
    written: Which files have it (docs/facts/ascend_pt.md, Differences between versions). CANN8.0, CANN8.1: from that
        release on; level1: at level 1 and above; schedule: where the capture has a schedule; allocator: with the memory
        of the framework's allocator, not in msprof's files; seldom: no other column proves that it must be there
        (one release, one switch), so its absence is not reported.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from tb_npu_plugin.tables import Column, Kind, column_texts


def columns_of(table: str) -> tuple[Column, ...]:
    """The columns of a table of columns.csv. Raises KeyError for another name."""
    return declared_columns()[table]


@cache
def declared_columns() -> dict[str, tuple[Column, ...]]:
    """All of columns.csv, by table."""
    found: dict[str, tuple[Column, ...]] = {}
    with (Path(__file__).parent / "columns.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["table"]] = (*found.get(row["table"], ()), _column(row))
    return found


def _column(row: dict[str, str]) -> Column:
    return Column(
        row["key"],
        Kind(row["kind"]),
        *column_texts(row["text"]),
        row["group"],
        tuple(filter(None, row["headers"].split("; "))),
        required=row["need"] == "required",
        least=float(row["least"]) if row["least"] else None,
        most=float(row["most"]) if row["most"] else None,
        written=row["written"],
    )
