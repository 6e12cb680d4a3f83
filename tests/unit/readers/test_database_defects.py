"""Databases with defects, and those of other releases: each costs what it must and no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.settings import with_database_settings
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema import torch_npu_db as written
from tb_npu_plugin.schema.torch_npu_db_reading import SELECTS
from tb_npu_plugin.tables import NULL_INT
from tests.unit.readers.databases import change, read, same

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"


def test_what_is_read_is_what_is_written() -> None:
    """The newest name of each column stands in the declaration of the writer."""
    enums = dict.fromkeys(written.ENUMS, "id INTEGER, name TEXT")
    declared = {**written.TABLES, **written.OPTIONAL_TABLES, **written.ANALYSIS_TABLES, **enums}
    for select in SELECTS:
        columns = {column.split()[0] for column in declared[select.table].split(",")}
        assert {field.names[0] for field in select.fields} <= columns, select.table


def test_only_what_is_wanted(database: Path) -> None:
    assert read(database, "memory_record")[0].keys() == {"memory_record"}
    assert read(database, "op_statistic")[0].keys() == {"op_statistic"}
    assert read(database, "comm_ops")[0] == {}


def test_long_columns_go_to_files(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = read(database)
    monkeypatch.setattr("tb_npu_plugin.readers.shared.spool.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.database.source.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.database.source.CHUNK_ROWS", 7)
    (tmp_path / "spool").mkdir()
    tables, problems = read(database, spool=Spool(tmp_path / "spool"))
    assert problems == [] and list((tmp_path / "spool").iterdir())
    assert all(same(tables[name], table) for name, table in whole.items())


@pytest.mark.parametrize("content, code", [(b"", "empty_file"), (b"Name,Type\r\n", "no_database")])
def test_no_database(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "profiler.db"
    path.write_bytes(content)
    tables, problems = read(path)
    assert tables == {} and [problem.code for problem in problems] == [code]


def test_missing_and_folder(tmp_path: Path) -> None:
    assert [problem.code for problem in read(tmp_path / "gone.db")[1]] == ["missing_file"]
    assert [problem.code for problem in read(tmp_path)[1]] == ["not_a_file"]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_cut(database: Path, share: float) -> None:
    whole, _ = read(database)
    data = database.read_bytes()
    database.write_bytes(data[: int(len(data) * share)])
    tables, problems = read(database)
    assert problems and all(problem.severity == "error" for problem in problems)
    assert all(len(table) <= len(whole[name]) for name, table in tables.items())


def test_a_capture_in_which_nothing_ran_is_no_defect(tmp_path: Path) -> None:
    path = tmp_path / "profiler.db"
    change(path, "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER)")
    assert read(path) == ({}, [])


@pytest.mark.parametrize(
    "table, lost",
    [
        ("TASK", {"kernels", "op_statistic"}),
        ("COMPUTE_TASK_INFO", {"kernels", "op_statistic"}),
        ("CANN_API", {"api_statistic"}),
        ("PYTORCH_API", {"operators"}),
        ("OP_MEMORY", {"op_memory"}),
        ("MEMORY_RECORD", set()),  # the memory of the process alone is sampled beside it (NPU_MEM)
        ("NPU_MODULE_MEM", {"module_memory"}),
        ("TASK_PMU_INFO", set()),
        ("CONNECTION_IDS", set()),
        ("PYTORCH_CALLCHAINS", set()),
        ("RANK_DEVICE_MAP", set()),
        ("STEP_TIME", set()),
        ("ENUM_API_TYPE", set()),
    ],
)
def test_missing_table_loses_what_it_holds(database: Path, table: str, lost: set[str]) -> None:
    whole, _ = read(database)
    change(database, f"DROP TABLE {table}")
    assert read(database)[0].keys() == whole.keys() - lost


def test_older_names_and_columns_of_viewers(database: Path) -> None:
    whole, _ = read(database)
    change(
        database,
        "ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN blockNum TO blockDim",
        "ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN mixBlockNum TO mixBlockDim",
        "ALTER TABLE TASK ADD COLUMN depth INTEGER",
        "ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN waitNs INTEGER",
        "CREATE TABLE OVERLAP_ANALYSIS (a, b)",
    )
    tables, problems = read(database)
    assert problems == [] and all(same(tables[name], table) for name, table in whole.items())


def test_wrong_types_lose_their_rows_and_cells(database: Path) -> None:
    whole, _ = read(database)
    change(
        database,
        "UPDATE TASK SET startNs='soon' WHERE globalTaskId=(SELECT MIN(globalTaskId) FROM COMPUTE_TASK_INFO)",
        "UPDATE COMPUTE_TASK_INFO SET blockNum='many' WHERE globalTaskId=(SELECT MAX(globalTaskId) FROM COMPUTE_TASK_INFO)",
        "UPDATE OP_MEMORY SET size=NULL WHERE rowid=1",
        "UPDATE OP_MEMORY SET releaseTime=x'00ff' WHERE rowid=2",
        "UPDATE MEMORY_RECORD SET totalReserved=1.5e300 WHERE rowid=3",
    )
    tables, problems = read(database)
    assert len(tables["kernels"]) == len(whole["kernels"]) - 1
    assert len(tables["op_memory"]) == len(whole["op_memory"]) - 1
    assert tables["op_memory"].ints("release_ns")[0] == NULL_INT
    found = {(problem.code, problem.where) for problem in problems}
    assert found == {
        ("bad_required_cell", "TASK, startNs"),
        ("unknown_task", "COMPUTE_TASK_INFO"),
        ("bad_cell", "COMPUTE_TASK_INFO, blockNum"),
        ("bad_required_cell", "OP_MEMORY, size"),
        ("bad_cell", "OP_MEMORY, releaseTime"),
        ("bad_cell", "MEMORY_RECORD, totalReserved"),
    }


@pytest.mark.parametrize("start", [0, -(2**62)])
def test_a_start_that_was_lost_loses_its_row(database: Path, start: int) -> None:
    """0 stands there: some kernels of 50 years were more than their operator's sum could hold."""
    whole, _ = read(database)
    count = len(whole["kernels"])
    change(
        database,
        f"UPDATE TASK SET startNs={start} WHERE rowid IN (SELECT t.rowid FROM TASK t JOIN COMPUTE_TASK_INFO "
        "USING(globalTaskId) LIMIT 10)",
    )
    tables, problems = read(database)
    assert len(tables["kernels"]) == count - 10
    assert int(tables["kernels"].ints("dur_ns").max()) < 10**12
    found = {problem.where: (problem.code, problem.found, problem.count) for problem in problems}
    assert found["TASK, startNs"] == ("bad_required_cell", str(start), 10)


def test_waiting_is_per_device(database: Path) -> None:
    """A database of one process may hold several devices: they do not wait for each other."""
    whole, _ = read(database, "kernels")
    count = len(whole["kernels"])
    change(database, "UPDATE TASK SET deviceId=deviceId+1 WHERE globalTaskId%2=1")
    kernels = read(database, "kernels")[0]["kernels"]
    assert len(kernels) == count and len(set(kernels.ints("device_id").tolist())) == 2
    ends: dict[int, int] = {}
    rows = zip(*(kernels.ints(key).tolist() for key in ("device_id", "start_ns", "dur_ns", "wait_ns")))
    for device, start, dur, wait in rows:
        assert wait == (max(0, start - ends[device]) if device in ends else 0)
        ends[device] = start + dur


def test_texts_that_are_no_text(database: Path) -> None:
    change(database, "UPDATE STRING_IDS SET value=CAST(x'41ff42' AS TEXT) WHERE id=(SELECT MIN(name) FROM CANN_API)")
    tables, problems = read(database, "api_statistic")
    assert "A\ufffdB" in tables["api_statistic"].text("name").tolist()
    assert [problem.code for problem in problems] == ["bad_bytes"]


def test_metadata_nested_too_deep_stay_text(database: Path) -> None:
    """They cost all that is known of how it was recorded."""
    path = database.rename(database.parent / "ascend_pytorch_profiler_0.db")
    change(path, f"INSERT INTO META_DATA VALUES ('deep', '{'[' * 100_000}')")
    found = with_database_settings(Capture(), path.parent, [path.name], ProblemLog())
    assert found.metadata["deep"].startswith("[[") and found.rank is not None


def test_defects_of_a_shared_table_are_reported_once(tmp_path: Path) -> None:
    """Each reader told them: a cell counted twice. Bytes that are no text stood in names as they were."""
    source = RESULTS / "mindspore_db" / "node0_31780_20250615070000123_ascend_ms" / "ASCEND_PROFILER_OUTPUT"
    path = Path(shutil.copy(source / "communication_analyzer.db", tmp_path))
    change(
        path,
        "UPDATE CommAnalyzerBandwidth SET transit_size='much' WHERE rowid=1",
        "UPDATE CommAnalyzerBandwidth SET hccl_op_name=CAST(x'80ff41' AS TEXT) WHERE rowid=2",
    )
    tables, problems = read(path)
    assert [(one.code, one.where, one.count) for one in problems] == [
        ("bad_cell", "CommAnalyzerBandwidth, transit_size", 1),
        ("bad_bytes", "CommAnalyzerBandwidth, hccl_op_name", 1),
    ]
    assert "\ufffd\ufffdA" in tables["comm_bandwidth"].text("name").values


def test_missing_columns(database: Path) -> None:
    whole, _ = read(database)
    change(database, "ALTER TABLE OP_MEMORY DROP COLUMN size", "ALTER TABLE MEMORY_RECORD DROP COLUMN totalActive")
    tables, problems = read(database)
    assert tables.keys() == whole.keys() - {"op_memory"}
    assert [(p.code, p.where, p.expected) for p in problems] == [("missing_table_column", "OP_MEMORY", "size")]
    assert (
        not tables["memory_record"].has("active_bytes")
        or (tables["memory_record"].ints("active_bytes") == NULL_INT).all()
    )
