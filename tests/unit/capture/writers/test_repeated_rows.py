"""Rows that come again are the same by whichever statement they are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.capture.writers.database import Database, Row
from tb_npu_plugin.capture.writers.repeated_rows import RepeatedRows
from tb_npu_plugin.tables import NULL_INT

TABLES = {"T": "name INTEGER, at INTEGER, until INTEGER, dur INTEGER", "F": "id INTEGER, name INTEGER, value NUMERIC"}


def rows_of(path: Path, table: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as connection:
        return list(connection.execute(f"SELECT * FROM {table}"))


class Steps:
    """Writes steps, and knows what their rows are."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, TABLES)
        self.repeated, self.expected, self.plain = RepeatedRows(self.database, "T"), list[Row](), 0

    def add(self, names: list[int | None], at: int) -> None:
        starts = np.arange(at, at + len(names))
        ends = np.where(starts % 3 == 0, NULL_INT, starts + 7)

        def write() -> None:
            self.plain += 1
            self.database.add_columns("T", names, starts, ends, np.where(ends == NULL_INT, NULL_INT, ends - starts))

        def rows(place: int, values: Sequence[str]) -> list[Row]:
            start, end = values
            return [(names[place], start, end, f"{end}-{start}")]

        self.repeated.add([names], [starts, ends], rows, write)
        for name, start in zip(names, starts.tolist()):
            self.expected.append((name, start, *((None, None) if start % 3 == 0 else (start + 7, 7))))


@pytest.mark.parametrize("count", [1, 2, 35, 333, 700])
def test_rows_are_those_of_a_plain_insert(count: int, tmp_path: Path) -> None:
    steps = Steps(tmp_path / "x.db")
    names: list[int | None] = [None if number % 5 == 4 else number % 7 for number in range(count)]
    for number in range(4):
        steps.add(list(names), 1000 * number)
    steps.add([], 5000)
    steps.add([9] * count, 6000)  # as many, but others
    steps.add(list(names), 7000)
    steps.database.close()
    assert rows_of(tmp_path / "x.db", "T") == steps.expected
    assert steps.plain == 3, "the second to fourth steps are like the first"
