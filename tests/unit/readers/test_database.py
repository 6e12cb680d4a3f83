"""Databases with defects, and those of other releases: each loses what is damaged and no more."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.database import recording
from tb_npu_plugin.readers.database.events.scan import scan_database
from tb_npu_plugin.readers.database.settings import with_database_settings
from tb_npu_plugin.readers.shared.spool import IN_MEMORY, Spool
from tb_npu_plugin.tables import NULL_INT
from tests.support.fixtures import FIXTURES
from tests.unit.readers.databases import change, database_of, read, same

FIRST = "(SELECT MIN(globalTaskId) FROM COMPUTE_TASK_INFO)"
LATE = 10**18
DAY = 24 * 3600 * 10**9
TEN_KERNELS = "(SELECT t.rowid FROM TASK t JOIN COMPUTE_TASK_INFO USING(globalTaskId) LIMIT 10)"
#: Test id: (statements, rows that tables lose, problems: code, place, count).
CHANGES: dict[str, tuple[list[str], dict[str, int], set[str]]] = {
    "older names and columns of viewers": (
        [
            "ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN blockNum TO blockDim",
            "ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN mixBlockNum TO mixBlockDim",
            "ALTER TABLE TASK ADD COLUMN depth INTEGER",
            "ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN waitNs INTEGER",
            "CREATE TABLE OVERLAP_ANALYSIS (a, b)",
        ],
        {},
        set(),
    ),
    "wrong types": (
        [
            f"UPDATE TASK SET startNs='soon' WHERE globalTaskId={FIRST}",
            f"UPDATE COMPUTE_TASK_INFO SET blockNum='many' WHERE globalTaskId={FIRST.replace('MIN', 'MAX')}",
            "UPDATE OP_MEMORY SET size=NULL WHERE rowid=1",
            "UPDATE OP_MEMORY SET releaseTime=x'00ff' WHERE rowid=2",
            f"UPDATE OP_MEMORY SET releaseTime={LATE} WHERE rowid=3",
            "UPDATE MEMORY_RECORD SET totalReserved=1.5e300 WHERE rowid=3",
            # Samples of the times need not meet what is wrong.
            "UPDATE MEMORY_RECORD SET timestamp=0 WHERE rowid IN (2, 5)",
        ],
        {"kernels": 1, "op_memory": 1, "memory_record": 2},
        {
            "bad_required_cell TASK, startNs 1",
            "unknown_task COMPUTE_TASK_INFO 1",
            "unknown_kernel TASK_PMU_INFO 1",
            "bad_cell COMPUTE_TASK_INFO, blockNum 1",
            "bad_required_cell OP_MEMORY, size 1",
            "bad_cell OP_MEMORY, releaseTime 2",
            "bad_cell MEMORY_RECORD, totalReserved 1",
            "outside_recording MEMORY_RECORD, timestamp 2",
        },
    ),
    # 0 or less stands there: some kernels of 50 years were more than their operator's sum could hold.
    "starts that were lost": (
        [f"UPDATE TASK SET startNs=(rowid%2)*-(1<<62) WHERE rowid IN {TEN_KERNELS}"],
        {"kernels": 10},
        {"bad_required_cell TASK, startNs 10", "unknown_task COMPUTE_TASK_INFO 1", "unknown_kernel TASK_PMU_INFO 1"},
    ),
    "end after twenty days, less than the longest recording": (
        [f"UPDATE TASK SET endNs=endNs+{20 * DAY} WHERE globalTaskId={FIRST}"],
        {"kernels": 1},
        {"outside_recording TASK, endNs 1", "unknown_task COMPUTE_TASK_INFO 1", "unknown_kernel TASK_PMU_INFO 1"},
    ),
    "texts that are no text": (
        ["UPDATE STRING_IDS SET value=CAST(x'41ff42' AS TEXT) WHERE id=(SELECT MIN(name) FROM CANN_API)"],
        {},
        {"bad_bytes STRING_IDS 1"},
    ),
}


def found(problems: list[Problem]) -> set[str]:
    return {f"{one.code} {one.where} {one.count}" for one in problems}


@pytest.mark.parametrize("case", CHANGES)
def test_each_change_loses_its_rows_alone(database: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_SAMPLES", 1)
    statements, lost, expected = CHANGES[case]
    whole, _ = read(database)
    change(database, *statements)
    tables, problems = read(database)
    assert found(problems) == expected
    assert {name: len(whole[name]) - len(table) for name, table in tables.items()} == {
        name: lost.get(name, 0) for name in whole
    }
    if not expected:
        assert all(same(tables[name], table) for name, table in whole.items())
    if case == "wrong types":
        assert (tables["op_memory"].ints("release_ns")[:2] == NULL_INT).all()
    if case == "texts that are no text":
        assert "A\ufffdB" in tables["api_statistic"].text("name").tolist()


@pytest.mark.parametrize(
    ("table", "shift"), [("TASK", 400 * DAY), ("PYTORCH_API", LATE), ("CANN_API", -LATE), ("STEP_TIME", LATE)]
)
def test_a_row_far_off_is_as_one_that_is_not_there(database: Path, table: str, shift: int) -> None:
    row = f"WHERE rowid=(SELECT MIN(rowid)+1 FROM {table})"
    without = Path(shutil.copyfile(database, database.with_name("without.db")))
    change(without, f"DELETE FROM {table} {row}")
    whole, before = read(without)
    change(database, f"UPDATE {table} SET startNs=startNs+({shift}), endNs=endNs+({shift}) {row}")
    tables, problems = read(database)
    assert [name for name, other in whole.items() if not same(tables[name], other)] == []
    assert found(problems) - found(before) == {f"outside_recording {table}, startNs 1"}


@pytest.mark.parametrize(
    ("table", "lost"),
    [
        ("TASK", {"kernels", "op_statistic"}),
        ("COMPUTE_TASK_INFO", {"kernels", "op_statistic"}),
        ("CANN_API", {"api_statistic"}),
        ("PYTORCH_API", {"operators"}),
        ("OP_MEMORY", {"op_memory"}),
        ("NPU_MODULE_MEM", {"module_memory"}),
        *(
            (table, set())
            for table in (
                "MEMORY_RECORD",  # the memory of the process alone is sampled beside it (NPU_MEM)
                "TASK_PMU_INFO",
                "CONNECTION_IDS",
                "PYTORCH_CALLCHAINS",
                "RANK_DEVICE_MAP",
                "STEP_TIME",
                "ENUM_API_TYPE",
            )
        ),
    ],
)
def test_missing_table_loses_what_it_holds(database: Path, table: str, lost: set[str]) -> None:
    whole, _ = read(database)
    change(database, f"DROP TABLE {table}")
    assert read(database)[0].keys() == whole.keys() - lost


def test_missing_columns(database: Path) -> None:
    whole, _ = read(database)
    change(database, "ALTER TABLE OP_MEMORY DROP COLUMN size", "ALTER TABLE MEMORY_RECORD DROP COLUMN totalActive")
    tables, problems = read(database)
    assert tables.keys() == whole.keys() - {"op_memory"}
    lost = ("lost_column", "MEMORY_RECORD", "the column MEMORY_RECORD.totalActive, which the profiler writes")
    assert [(p.code, p.where, p.expected) for p in problems] == [("missing_table_column", "OP_MEMORY", "size"), lost]
    record = tables["memory_record"]
    assert not record.has("active_bytes") or (record.ints("active_bytes") == NULL_INT).all()


def test_only_what_is_wanted(database: Path) -> None:
    assert read(database, "memory_record")[0].keys() == {"memory_record"}
    assert read(database, "op_statistic")[0].keys() == {"op_statistic"}
    assert read(database, "comm_ops")[0] == {}


def test_long_columns_go_to_files(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = read(database)
    monkeypatch.setattr("tb_npu_plugin.readers.shared.spool.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.database.metrics.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.database.source.CHUNK_ROWS", 7)
    (tmp_path / "spool").mkdir()
    tables, problems = read(database, spool=Spool(tmp_path / "spool"))
    assert problems == [] and list((tmp_path / "spool").iterdir())
    assert all(same(tables[name], table) for name, table in whole.items())


def test_long_columns_are_whole_whatever_a_write_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part only: two gigabytes at most, or what a disk has left."""

    class Sparing(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data[:100_000]))

    monkeypatch.setattr(Path, "open", lambda path, mode, buffering: Sparing(path, mode))
    column = Spool(tmp_path).column(np.int64)
    values = np.arange(IN_MEMORY // 4)
    column.append(values[:7])
    assert not any(tmp_path.iterdir())  # short ones make no file
    column.append(values[7:])
    assert np.array_equal(column.values(), values)


def test_what_is_no_database(tmp_path: Path) -> None:
    for name, content in (("empty.db", b""), ("text.db", b"Name,Type\r\n")):
        (tmp_path / name).write_bytes(content)
    names = ("empty.db", "text.db", "gone.db", "")
    found = [[problem.code for problem in read(tmp_path / name)[1]] for name in names]
    assert found == [["empty_file"], ["no_database"], ["missing_file"], ["not_a_file"]]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_cut(database: Path, share: float) -> None:
    whole, _ = read(database)
    data = database.read_bytes()
    database.write_bytes(data[: int(len(data) * share)])
    tables, problems = read(database)
    assert problems and all(problem.severity == "error" for problem in problems)
    # Names may be lost with their table: rows that are chosen by name then stay.
    by_number = tables.keys() & {"kernels", "op_memory"}
    assert all(len(tables[name]) <= len(whole[name]) for name in by_number)


def test_a_capture_in_which_nothing_ran_is_no_defect(tmp_path: Path) -> None:
    path = tmp_path / "profiler.db"
    change(path, "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER)")
    assert read(path) == ({}, [])


def test_waiting_is_per_device(database: Path) -> None:
    """A database of one process may hold several devices: they do not wait for each other."""
    change(database, "UPDATE TASK SET deviceId=deviceId+1 WHERE globalTaskId%2=1")
    kernels = read(database, "kernels")[0]["kernels"]
    assert len(set(kernels.ints("device_id").tolist())) == 2
    ends: dict[int, int] = {}
    columns = (kernels.ints(key).tolist() for key in ("device_id", "start_ns", "dur_ns", "wait_ns"))
    for device, start, dur, wait in zip(*columns):
        assert wait == (max(0, start - ends[device]) if device in ends else 0)
        ends[device] = start + dur


def test_metadata_nested_too_deep_stay_text(database: Path) -> None:
    """They cost all that is known of how it was recorded."""
    path = database.rename(database.parent / "ascend_pytorch_profiler_0.db")
    change(path, f"INSERT INTO META_DATA VALUES ('deep', '{'[' * 100_000}')")
    found = with_database_settings(Capture(), path.parent, [path.name], ProblemLog())
    assert found.metadata["deep"].startswith("[[") and found.rank is not None


def test_defects_of_a_shared_table_are_reported_once(tmp_path: Path) -> None:
    """Each reader told them: a cell counted twice. Bytes that are no text stood in names as they were."""
    fixture = next((FIXTURES / "results" / "mindspore_db").rglob("node0_31780*/*/communication_analyzer.db"))
    path = Path(shutil.copy(fixture, tmp_path))
    change(
        path,
        "UPDATE CommAnalyzerBandwidth SET transit_size='much' WHERE rowid=1",
        "UPDATE CommAnalyzerBandwidth SET hccl_op_name=CAST(x'80ff41' AS TEXT) WHERE rowid=2",
    )
    tables, problems = read(path)
    assert found(problems) == {
        "bad_cell CommAnalyzerBandwidth, transit_size 1",
        "bad_bytes CommAnalyzerBandwidth, hccl_op_name 1",
    }
    assert "\ufffd\ufffdA" in tables["comm_bandwidth"].text("name").values


def timeline_problems(path: Path) -> list[str]:
    log = ProblemLog()
    scan_database(path, log, lambda count: None)
    rows = [one for (_, table), one in log.seen.of(path.name).items() if table]
    assert all(one.seen == one.shown + one.told for one in rows)
    return [f"{one.code} {one.where} {one.found}" for one in log.list()]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE HBM SET type=(SELECT id FROM STRING_IDS WHERE value='N/A') WHERE rowid=1",
            "unknown_curve HBM 1",
        ),
        ("UPDATE HBM SET hbmId=NULL WHERE rowid<3", "unknown_curve HBM 2"),
        ("UPDATE LLC SET mode=NULL WHERE rowid=1", "unknown_curve LLC 1"),
        (
            "UPDATE COMMUNICATION_TASK_INFO SET globalTaskId=-7 WHERE rowid=2",
            "unknown_part COMMUNICATION_TASK_INFO 1",
        ),
        ("UPDATE PYTORCH_API SET type=77 WHERE rowid<3", "unknown_event PYTORCH_API 2"),
        ("UPDATE STRING_IDS SET value='' WHERE id=(SELECT name FROM CANN_API LIMIT 1)", "unknown_event CANN_API 4"),
    ],
)
def test_what_a_timeline_does_not_show_is_reported(statement: str, problem: str, tmp_path: Path) -> None:
    path = database_of("both_cluster", tmp_path)
    assert timeline_problems(path) == []
    change(path, statement)
    assert timeline_problems(path) == [problem]


def test_a_damaged_name_is_damage(tmp_path: Path) -> None:
    """SQLite quotes it in its message, and sqlite3 could not read that: it was told as a defect of ours."""
    path = database_of("db_only", tmp_path)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE STRING_IDS", b"CREATE TABL\xfb STRING_IDS"))
    assert {problem.split()[0] for problem in timeline_problems(path)} == {"no_database"}
