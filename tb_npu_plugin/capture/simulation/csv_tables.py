"""The tables of the simulation that are CSV files beside this one."""

from __future__ import annotations

import csv
from pathlib import Path


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of `<name>.csv`, each by the names in its first line."""
    with (Path(__file__).parent / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
