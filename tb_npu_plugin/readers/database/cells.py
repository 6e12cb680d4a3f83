"""Converts SQLite cells, which may have any type in any column, to numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT
from tb_npu_plugin.units import float_or_none, scale_decimal

Mask = NDArray[np.bool_]
#: Microseconds from here on do not fit 64 bits as ns.
_TOO_LARGE = 2.0**63 / 1000


def ints_of(cells: Sequence[Any]) -> tuple[NDArray[np.int64], Mask]:
    """Return int64 values, NULL_INT if unknown, and a mask of the cells that are neither NULL nor a whole number."""
    found = np.array(cells)
    none = np.zeros(len(cells), dtype=np.bool_)
    if found.dtype.kind == "i":
        return found.astype(np.int64, copy=False), none
    if found.dtype.kind == "S" and set(map(type, cells)) == {bytes}:
        try:
            return found.astype(np.int64), none
        except (ValueError, OverflowError):
            pass
    values = [_int_of(cell) for cell in cells]
    bad = np.fromiter((value is None and cell is not None for value, cell in zip(values, cells)), np.bool_, len(cells))
    return np.fromiter((NULL_INT if value is None else value for value in values), np.int64, len(cells)), bad


def _int_of(cell: Any) -> int | None:
    if isinstance(cell, int):
        return cell
    if isinstance(cell, float):
        return scale_decimal(repr(cell), 1) if cell.is_integer() else None
    return scale_decimal(cell.decode("utf-8", "replace"), 1) if isinstance(cell, bytes) else None


def floats_of(cells: Sequence[Any]) -> tuple[NDArray[np.float64], Mask]:
    """Return float64 values, NaN if unknown, and a mask of the cells that are neither NULL nor a number that a column of
    times or sizes holds in ns or bytes."""
    found = np.array(cells)
    if found.dtype.kind in "if":
        values, given = found.astype(np.float64), np.ones(len(cells), dtype=np.bool_)
    else:
        values = np.array([_float_of(cell) for cell in cells], dtype=np.float64)
        given = np.fromiter((cell is not None for cell in cells), np.bool_, len(cells))
    bad = given & ~(np.abs(values) < _TOO_LARGE)
    values[bad] = np.nan
    return values, bad


def _float_of(cell: Any) -> float:
    if isinstance(cell, (int, float)):
        return float(cell)
    value = float_or_none(cell.decode("utf-8", "replace")) if isinstance(cell, bytes) else None
    return float("nan") if value is None else value


def text_of(cell: Any) -> str | None:
    """Return the cell as text, numbers as their digits; None for NULL."""
    if cell is None:
        return None
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else str(cell)
