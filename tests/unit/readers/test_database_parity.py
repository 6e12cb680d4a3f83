"""A database and the text files of the same run give the same tables.

What the two formats cannot both hold is listed here, with the reason; everything else must be equal, cell by cell.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.registry import read_file
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.mock import RUNS, run

BOTH = [name for name in RUNS if name.startswith("both_")]
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
                database.update(read_database(path, path.name, log, lambda count: None, TABLES))
            elif path.name != "trace_view.json":
                text.update(read_file(path, path.name, log, lambda count: None))
        assert log.list() == []
        out.append((text, database))
    return out


def at_level_0(name: str) -> bool:
    return RUNS[name].options.level == 0


def different(left: Table, right: Table, key: str) -> list[tuple[Any, Any]]:
    mine, theirs = left.data[key].tolist(), right.data[key].tolist()
    return [(a, b) for a, b in zip(mine, theirs) if a != b and not (a != a and b != b)]


@pytest.mark.parametrize("name", BOTH)
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


@pytest.mark.parametrize("name", ["both_cluster", "both_resnet"])
def test_transports_without_data_have_no_rows_in_databases(name: str) -> None:
    for text, database in both(name):
        mine = text["comm_bandwidth"]
        moved = mine.take(mine.ints("size_bytes") > 0)
        theirs = database["comm_bandwidth"]
        assert len(moved) == len(theirs) > 0
        assert all(different(moved, theirs, column.key) == [] for column in mine.columns)


def test_kernels_have_steps_and_waiting_times() -> None:
    (_, database), *_ = both("both_cluster")
    kernels = database["kernels"]
    steps = kernels.text("step").tolist()
    assert len(set(steps)) == 2 and None not in steps
    assert kernels.ints("wait_ns")[0] == 0 and (kernels.ints("wait_ns") >= 0).all()
    assert (kernels.ints("wait_ns") > 0).any()


def test_unknown_is_unknown(tmp_path: Path) -> None:
    """Level 0: types and cores are written as N/A."""
    (_, database), *_ = both("both_level0")
    kernels = database["kernels"]
    assert set(kernels.text("type").tolist()) == set(kernels.text("core").tolist()) == {None}
    assert not database["operators"].has("device_self_aicore_ns")
    assert (kernels.ints("context_id") == NULL_INT).any()
