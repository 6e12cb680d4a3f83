"""What a file holds is shown or told, as `read_all` proves from the counts that Doctor shows: over every fixture, and recounted with
the standard library."""

from __future__ import annotations

import csv
import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.fixtures import FIXTURES
from tests.support.reading import name_of, read_all, sources_of
from tests.support.real_data import REAL_DATA, marks_of

FOLDERS = sorted(
    folder for kind in ("results", "recorded", "broken") for folder in (FIXTURES / kind).iterdir() if folder.is_dir()
)
#: Recorded results with databases.
RECORDED = [REAL_DATA / "ascend_pt_db_level1", REAL_DATA / "ascend_pt_llm_4ranks"]


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
        assert not set(sources_of(meta).values()) - counted


@pytest.mark.parametrize(
    "folder",
    [
        *(folder for folder in FOLDERS if folder.name != "db_cut" and any(folder.rglob("*.db"))),
        *(pytest.param(folder, marks=marks_of(folder)) for folder in RECORDED),
    ],
    ids=lambda folder: folder.name,
)
def test_rows_and_columns_of_databases_are_those_that_sqlite_counts(tmp_path: Path, folder: Path) -> None:
    for meta in read_all(folder, tmp_path):
        for file, found in meta["seen"].items():
            if file.endswith(".db"):
                path = next(path for path in folder.rglob(name_of(file)) if str(path).endswith(file))
                with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                    for kind, part, seen, *_ in found:
                        question = {
                            "rows": f'SELECT COUNT(*) FROM "{part}"',
                            "columns": f"SELECT COUNT(*) FROM pragma_table_info('{part}')",
                        }.get(kind)
                        if question:
                            assert connection.execute(question).fetchone() == (seen,), (file, kind, part)


def _recount(path: Path) -> tuple[Any, ...]:
    """Rows, columns and cells with a value of a CSV file without problems."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8-sig") as stream:
        header, *rows = filter(None, csv.reader(stream))
    return len(rows), len(header), sum(cell.strip() not in ("", "N/A") for row in rows for cell in row)
