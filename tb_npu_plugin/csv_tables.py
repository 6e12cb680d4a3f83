"""Tables that are CSV files beside the modules that use them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TypeVar

import msgspec

Row = TypeVar("Row")


def read_table(module: str, name: str, row: type[Row]) -> dict[str, Row]:
    """The rows of a file beside a module (its __file__) by their first cell. row: a class with a field for each of the other
    columns; an empty cell leaves the default of its field."""
    with Path(module).with_name(name).open(encoding="utf-8", newline="") as file:
        rows = [{column: cell for column, cell in found.items() if cell} for found in csv.DictReader(file)]
    return {next(iter(cells.values())): msgspec.convert(cells, row, strict=False) for cells in rows}
