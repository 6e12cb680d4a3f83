"""Rows of databases whose times cannot be right: they would stretch every view."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.readers.database import source
from tb_npu_plugin.tables import NULL_INT
from tests.unit.readers.databases import change, read, same

LATE = 10**18


@pytest.mark.parametrize("shift", [LATE, -LATE, 400 * 24 * 3600 * 10**9])
@pytest.mark.parametrize("table", ["TASK", "PYTORCH_API", "CANN_API", "STEP_TIME"])
def test_a_row_far_off_is_as_one_that_is_not_there(database: Path, table: str, shift: int) -> None:
    row = f"WHERE rowid=(SELECT MIN(rowid)+1 FROM {table})"
    without = Path(shutil.copyfile(database, database.with_name("without.db")))
    change(without, f"DELETE FROM {table} {row}")
    whole, before = read(without)
    change(database, f"UPDATE {table} SET startNs=startNs+({shift}), endNs=endNs+({shift}) {row}")
    tables, problems = read(database)
    assert [name for name, other in whole.items() if not same(tables[name], other)] == []
    told = [(one.code, one.where, one.count) for one in problems if one not in before]
    assert told == [("outside_recording", f"{table}, startNs", 1)]


def test_an_end_far_off_costs_its_row(database: Path) -> None:
    """Twenty days are less than the longest recording."""
    whole, _ = read(database)
    change(
        database,
        f"UPDATE TASK SET endNs=endNs+{20 * 24 * 3600 * 10**9} WHERE globalTaskId="
        "(SELECT MIN(globalTaskId) FROM COMPUTE_TASK_INFO)",
    )
    tables, problems = read(database)
    assert len(tables["kernels"]) == len(whole["kernels"]) - 1
    assert ("outside_recording", "TASK, endNs") in {(one.code, one.where) for one in problems}


def test_a_release_far_off_is_unknown(database: Path) -> None:
    whole, _ = read(database)
    change(database, f"UPDATE OP_MEMORY SET releaseTime={LATE} WHERE rowid=2")
    tables, problems = read(database)
    assert len(tables["op_memory"]) == len(whole["op_memory"])
    assert tables["op_memory"].ints("release_ns")[1] == NULL_INT
    assert [(one.code, one.where) for one in problems] == [("bad_cell", "OP_MEMORY, releaseTime")]


def test_samples_need_not_meet_what_is_wrong(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_SAMPLES", 1)
    whole, _ = read(database, "memory_record")
    change(database, "UPDATE MEMORY_RECORD SET timestamp=0 WHERE rowid IN (2, 5)")
    tables, problems = read(database, "memory_record")
    assert len(tables["memory_record"]) == len(whole["memory_record"]) - 2
    assert [(one.where, one.count, one.found) for one in problems] == [("MEMORY_RECORD, timestamp", 2, "0")]


def test_samples_that_are_wrong_do_not_count(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first row of each table is looked at: what is read lies around none of them."""
    whole, _ = read(database)
    for table, key in (
        ("TASK", "startNs"),
        ("CANN_API", "startNs"),
        ("PYTORCH_API", "startNs"),
        ("MEMORY_RECORD", "timestamp"),
        ("OP_MEMORY", "allocationTime"),
    ):
        change(database, f"UPDATE {table} SET {key}=5 WHERE rowid=(SELECT MIN(rowid) FROM {table})")
    monkeypatch.setattr(source, "_SAMPLES", 1)
    tables, _ = read(database)
    for name in ("kernels", "operators", "memory_record", "op_memory"):
        assert len(whole[name]) - 1 <= len(tables[name]) <= len(whole[name])
    assert int(tables["kernels"].ints("start_ns").min()) > LATE


def test_good_recordings_lose_nothing_however_long(database: Path) -> None:
    """A sample each 20 hours for half a year."""
    whole, _ = read(database, "memory_record")
    change(database, "UPDATE MEMORY_RECORD SET timestamp=timestamp+rowid*72000000000000")
    tables, problems = read(database, "memory_record")
    assert problems == []
    times = tables["memory_record"].ints("time_ns")
    assert len(times) == len(whole["memory_record"])
    assert int(np.ptp(times)) > 30 * 24 * 3600 * 10**9
