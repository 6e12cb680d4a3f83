"""Damage to databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from tests.law.changes import IMPOSSIBLE, Change, is_number

#: A column of some releases, in the only table that has it.
_ONLY_DEVICE = ("StepTraceTime", "deviceId")
#: A table that only captures with marks of steps have, and one that an option of msprof leaves out.
_STEPS, _CALLS = "STEP_TIME", "CANN_API"


def _in_database(
    path: Path, random: Random, change: Callable[[sqlite3.Connection, str, str, Random], str | None]
) -> str | None:
    """Change a table and a column, both at random."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = random.choice(sorted(tables))
        columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")')]
        done = change(connection, table, random.choice(columns), random)
        connection.commit()
    return done


def _drop_table(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        if table == _STEPS or (table == _CALLS and "pytorch" not in path.name):
            return None
        connection.execute(f'DROP TABLE "{table}"')
        return f"without table {table}"

    return _in_database(path, random, change)


def _drop_table_column(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")') if name != column]
        if not columns or (table, column) == _ONLY_DEVICE:
            return None
        names = ", ".join(f'"{name}"' for name in columns)
        connection.execute(f'CREATE TABLE _kept AS SELECT {names} FROM "{table}"')
        connection.execute(f'DROP TABLE "{table}"')
        connection.execute(f'ALTER TABLE _kept RENAME TO "{table}"')
        return f"without {table}.{column}"

    return _in_database(path, random, change)


def _rename_table_column(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        if (table, column) == _ONLY_DEVICE:
            return None
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
        return f"{table}.{column} is named other"

    return _in_database(path, random, change)


def _repeat_table_row(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        rows = [row for (row,) in connection.execute(f'SELECT rowid FROM "{table}"')]
        if not rows:
            return None
        row = random.choice(rows)
        try:
            connection.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE rowid = {row}')
        except sqlite3.IntegrityError:  # the database itself forbids it
            return None
        return f"row {row} of {table} twice"

    return _in_database(path, random, change)


def _exceed_table_cell(path: Path, random: Random) -> str | None:
    def change(connection: sqlite3.Connection, table: str, column: str, random: Random) -> str | None:
        if column.lower().endswith("id"):  # another id is one, too
            return None
        rows = [
            row for row, value in connection.execute(f'SELECT rowid, "{column}" FROM "{table}"') if is_number(value)
        ]
        if not rows:
            return None
        row, value = random.choice(rows), random.choice((*IMPOSSIBLE, -5_000_000, 10**18))
        try:
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, row))
        except sqlite3.IntegrityError:  # the database itself forbids it
            return None
        return f"{table}.{column} of row {row}: {value}"

    return _in_database(path, random, change)


OF_DATABASES: dict[str, Change] = {
    "table dropped": _drop_table,
    "table column dropped": _drop_table_column,
    "table column renamed": _rename_table_column,
    "table row repeated": _repeat_table_row,
    "table cell impossible": _exceed_table_cell,
}
