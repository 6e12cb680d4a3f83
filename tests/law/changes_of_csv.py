"""Damage to tables of text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.law.changes import IMPOSSIBLE, Change, read, write

#: Tables without times, in which equal rows and any order occur; those of iterations have no numbers either.
_WITHOUT_TIMES = "operator_details"
_WITHOUT_NUMBERS = (_WITHOUT_TIMES, "ascend_cluster_analyse")


def _rows(path: Path) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(read(path).decode(), newline="")) if row]


def _write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    write(path, out.getvalue().encode())


def _repeat_row(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2 or path.name.startswith(_WITHOUT_TIMES):
        return None
    row = random.randrange(1, len(rows))
    _write_rows(path, [*rows[: row + 1], *rows[row:]])
    return f"row {row} twice"


def _reorder_rows(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 3 or path.name.startswith(_WITHOUT_NUMBERS):
        return None
    rest = rows[1:]
    random.shuffle(rest)
    _write_rows(path, [rows[0], *rest])
    return "rows in another order"


def _exceed_cell(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    cells = [(row, at) for row in range(1, len(rows)) for at, cell in enumerate(rows[row]) if _is_figure(cell)]
    if not cells:
        return None
    row, at = random.choice(cells)
    value = random.choice(IMPOSSIBLE)
    rows[row][at] = repr(value)
    _write_rows(path, rows)
    return f"row {row}, {rows[0][at] if at < len(rows[0]) else at}: {value}"


def _is_figure(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdigit()


def _drop_column(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    at = random.randrange(len(rows[0]))
    _write_rows(path, [[*row[:at], *row[at + 1 :]] for row in rows])
    return f"without column {rows[0][at]}"


def _rename_column(path: Path, random: Random) -> str | None:
    rows = _rows(path)
    if len(rows) < 2:
        return None
    at = random.randrange(len(rows[0]))
    name, rows[0][at] = rows[0][at], "Other"
    _write_rows(path, rows)
    return f"column {name} is named Other"


OF_CSV: dict[str, Change] = {
    "row repeated": _repeat_row,
    "rows reordered": _reorder_rows,
    "cell impossible": _exceed_cell,
    "column dropped": _drop_column,
    "column renamed": _rename_column,
}
