"""The columns of a table: their SQL, and their values as numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_npu_plugin.readers.database.cells import Mask, floats_of, ints_of, text_of
from tb_npu_plugin.readers.shared.spool import GrowingColumn, Spool
from tb_npu_plugin.schema.torch_npu_db import Content, Field
from tb_npu_plugin.tables import NULL_INT


class ColumnReader:
    """Collects one column."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._texts: list[str | None] = []
        dtype = np.float64 if field.content is Content.FLOAT else np.int64
        self._values: GrowingColumn | None = None if field.content is Content.TEXT else spool.column(dtype)

    def add(self, chunk: dict[str, Any]) -> None:
        """Add a chunk of rows, a dict of columns."""
        if self._values is None:
            self._texts += chunk[self.field.key]
        else:
            self._values.append(chunk[self.field.key])

    def result(self) -> Any:
        """Return the values of all chunks."""
        return self._texts if self._values is None else self._values.values()


def quote(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def expression(field: Field, name: str) -> str:
    """Return the SQL expression of a column, with NULL_INT for NULL: numpy converts columns of one type fast. SQLite
    parses -2**63 as a float, hence the subtraction."""
    if field.content in (Content.INT, Content.STRING) and not field.required:
        return f"ifnull({quote(name)}, (-9223372036854775807 - 1))"
    return quote(name)


def values_of(field: Field, cells: tuple[Any, ...]) -> tuple[Any, Mask]:
    """Return the values of a column, and a mask of the cells without a valid one."""
    if field.content is Content.TEXT:
        return [text_of(cell) for cell in cells], np.zeros(len(cells), dtype=np.bool_)
    return floats_of(cells) if field.content is Content.FLOAT else ints_of(cells)


def unknown_of(values: Any) -> Mask:
    """Mask of the unknown values."""
    if isinstance(values, list):
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values == NULL_INT)
