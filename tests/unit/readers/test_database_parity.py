"""A database and the text files of the same run give the same tables.

What the two formats cannot both hold is listed here, with the reason; everything else must be equal, cell by cell.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Table
from tests.support.mock import RUNS, run
from tests.support.reading import losses
from tests.unit.readers.databases import change, read, runs_with_both, same

#: Tables of text files that databases lack: no view shows them.
ONLY_TEXT = {"task_time", "l2_cache", "data_preprocess"}
#: Columns of text files that databases lack. cube_utilization: worked out from the number of cores, which no table has.
NO_COLUMN = {"kernels": {"cube_utilization"}}
#: Text exports go through float64 microseconds, in steps of 250 ns.
QUARTERS = {("step_trace", "stage"), ("step_trace", "preparing")}


@cache
def both(name: str) -> list[tuple[dict[str, Table], dict[str, Table]]]:
    """(tables of the text files, tables of the databases) of each rank of a run."""
    out = []
    for folder in sorted(run(name)[0].glob("*_ascend_pt")):
        log = ProblemLog()
        text: dict[str, Table] = {}
        database: dict[str, Table] = {}
        for path in sorted((folder / "ASCEND_PROFILER_OUTPUT").iterdir()):
            if path.suffix == ".db":
                database.update(read_database(Reading(path, path.name, log), TABLES))
            elif path.name != "trace_view.json":
                text.update(read_file(Reading(path, path.name, log)))
        assert losses(log) == []
        out.append((text, database))
    return out


def at_level_0(name: str) -> bool:
    return RUNS[name].options.level == 0


def different(left: Table, right: Table, key: str) -> list[tuple[Any, Any]]:
    mine, theirs = left.data[key].tolist(), right.data[key].tolist()
    return [(a, b) for a, b in zip(mine, theirs) if a != b and not (a != a and b != b)]


@pytest.mark.parametrize("name", runs_with_both())
def test_tables_are_equal(name: str) -> None:
    for text, database in both(name):
        extra = {"api_statistic"} if at_level_0(name) and RUNS[name].options.npu else set()  # text prunes CANN there
        assert database.keys() == (text.keys() - ONLY_TEXT) | extra
        for table, theirs in database.items():
            if table not in extra | {"comm_bandwidth"}:
                _compare(name, table, text[table], theirs)


def _compare(name: str, table: str, mine: Table, theirs: Table) -> None:
    assert len(mine) == len(theirs), table
    lacks = set(NO_COLUMN.get(table, ()))
    shown = [column for column in mine.columns if column.key not in lacks]
    if at_level_0(name) and table == "operators" and RUNS[name].options.npu:  # the cores are not recorded
        shown = [column for column in shown if not column.key.endswith("aicore_ns")]
    if at_level_0(name) and table == "kernels":  # the database tells stream, task and model; text does not
        assert {column.key for column in shown} <= {column.key for column in theirs.columns}
    else:
        assert shown == list(theirs.columns), table
    if not RUNS[name].options.npu:  # the database has a number for the device, never "CPU"
        shown = [column for column in shown if column.key != "device"]
    for column in shown:
        wrong = different(mine, theirs, column.key)
        if (table, column.key) in QUARTERS:
            assert all(abs(a - b) < 250 for a, b in wrong)
        else:
            assert wrong == [], (table, column.key)


def test_transports_without_data_have_no_rows_in_databases() -> None:
    for text, database in both("both_cluster"):
        mine = text["comm_bandwidth"]
        moved = mine.take(mine.ints("size_bytes") > 0)
        theirs = database["comm_bandwidth"]
        assert len(moved) == len(theirs) > 0
        assert all(different(moved, theirs, column.key) == [] for column in mine.columns)


def test_sizes_are_sizes_in_either_column(tmp_path: Path) -> None:
    """Cause: torch_npu (and so our writer) writes types and sizes into each other's column; Operator showed types as input
    shapes. A release that has mended it is read, too."""
    source = next(run("both_cluster")[0].rglob("ascend_pytorch_profiler_*.db"))
    path = Path(shutil.copy(source, tmp_path / "x.db"))
    with closing(sqlite3.connect(path)) as found:
        query = "SELECT DISTINCT value FROM PYTORCH_API JOIN STRING_IDS ON inputDtypes = STRING_IDS.id"
        written = [value for (value,) in found.execute(query)]
    assert written and not any(map(str.isalpha, "".join(written)))
    before, _ = read(path, "operators")
    change(path, "UPDATE PYTORCH_API SET inputDtypes = inputShapes, inputShapes = inputDtypes")
    after, problems = read(path, "operators")
    assert same(before["operators"], after["operators"]) and not problems
    assert any(before["operators"].text("input_shapes").tolist())
