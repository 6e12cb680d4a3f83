"""Tables of capture that are CSV files beside the modules that use them."""

from __future__ import annotations

import csv
from pathlib import Path


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows, each by the names in the first line."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
