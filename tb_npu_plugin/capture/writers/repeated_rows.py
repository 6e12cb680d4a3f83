"""Rows that come again with every step, but for times and the like.

A statement that contains the constant cells takes two thirds of the time of one with all cells as parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tb_npu_plugin.capture.writers.database import Database, Ints, Row, values_of

#: Rows of a statement, at most, and values: older versions of SQLite take 999.
_ROWS, _VALUES = 100, 999
#: Kinds of steps that are remembered, at most.
_KINDS = 8


@dataclass
class _Kind:
    """Steps with equal rows.

    Attributes:
        same: The values that all these steps share.
        statements: (number of values, SQL statement); prepared for the second of these steps.
    """

    same: Sequence[list[Any]]
    statements: list[tuple[int, str]] = field(default_factory=list)


class RepeatedRows:
    """Appends to one table. columns: those of the rows, all without; see Database.statement."""

    def __init__(self, database: Database, table: str, columns: str = "") -> None:
        self._database, self._table, self._columns = database, table, columns
        self._kinds: dict[int, _Kind] = {}  # by the number of records

    def add(
        self,
        same: Sequence[list[Any]],
        values: Sequence[Ints],
        rows: Callable[[int, Sequence[str]], Sequence[Row]],
        write: Callable[[], None],
    ) -> None:
        """Append the rows of the records of a step.

        same    columns of the records that determine all cells but `values`
        values  the rest of each record; NULL_INT is an empty cell
        rows    cells of the rows of one record, by its place and what stands for its values; None is an empty one
        write   appends the rows of a step that is like none before it
        """
        count = len(values[0])
        if not count:
            return
        kind = self._kinds.get(count)
        if kind is None or kind.same != same:
            if kind is not None or len(self._kinds) < _KINDS:
                self._kinds[count] = _Kind(same)
            write()
            return
        if not kind.statements:
            kind.statements = self._statements(count, len(values), rows)
        (flat,) = values_of(values, count)
        first = 0
        for number, statement in kind.statements:
            self._database.run(statement, flat[first : first + number])
            first += number

    def _statements(
        self, count: int, width: int, rows: Callable[[int, Sequence[str]], Sequence[Row]]
    ) -> list[tuple[int, str]]:
        """Of `count` records with `width` values each."""
        together = max(1, min(_VALUES // width, _ROWS // len(rows(0, ["?"] * width))))
        out = []
        for first in range(0, count, together):
            part = range(first, min(first + together, count))
            marks = [[f"?{(place - first) * width + number}" for number in range(1, width + 1)] for place in part]
            found = chain.from_iterable(map(rows, part, marks))
            cells = [["NULL" if cell is None else cell for cell in row] for row in found]
            out.append((len(part) * width, self._database.statement(self._table, cells, self._columns)))
        return out
