"""What a file holds is shown or told, as `read_all` proves from the counts that Doctor shows: over every fixture, and recounted with
the standard library."""

from __future__ import annotations

import csv
import gzip
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.fixtures import FIXTURES
from tests.support.reading import name_of, read_all

#: Files whose readers do not count yet.
NOT_COUNTED = ("*.db",)
FOLDERS = sorted(
    folder for kind in ("results", "recorded", "broken") for folder in (FIXTURES / kind).iterdir() if folder.is_dir()
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_was_seen_is_shown_or_told(tmp_path: Path, folder: Path) -> None:
    metas = read_all(folder, tmp_path)
    counted = {name_of(file) for meta in metas for file in meta["seen"]}  # by either stage
    for meta in metas:
        named = {name_of(file) for problem in meta["problems"] for file in problem["file"].split(", ")}
        for file, rows in meta["seen"].items():
            found = {(kind, part): tuple(counts) for kind, part, *counts in rows}
            if name_of(file) not in named and ("cells", "") in found and "_slice_" not in file:  # pieces count as one
                recounted = _recount(next(path for path in folder.rglob(name_of(file)) if str(path).endswith(file)))
                assert recounted == tuple(found[kind, ""][0] for kind in ("rows", "columns", "cells")), file
        sources = {name_of(file) for file in meta.get("sources", {}).values()}
        assert not [file for file in sources - counted if not any(map(partial(fnmatch, file), NOT_COUNTED))]


def _recount(path: Path) -> tuple[Any, ...]:
    """Rows, columns and cells with a value of a CSV file without problems."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8-sig") as stream:
        header, *rows = filter(None, csv.reader(stream))
    return len(rows), len(header), sum(cell.strip() not in ("", "N/A") for row in rows for cell in row)
