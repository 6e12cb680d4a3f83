"""What is wrong with the files of `msprof-analyze cluster` is skipped, and is reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.cluster.reader import read_file, select
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table
from tests.unit.readers.databases import change

RECORDED = Path(__file__).parents[3] / "fixtures" / "recorded"
STEPS, OPERATORS, LINKS = (
    "cluster_step_trace_time.csv",
    "cluster_communication.json",
    "cluster_communication_matrix.json",
)
DATABASE = "cluster_analysis.db"


def read(path: Path) -> tuple[dict[str, Table], list[Problem]]:
    log = ProblemLog()
    return read_file(Reading(path, path.name, log)), log.list()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind in ("cluster_text", "cluster_db"):
        shutil.copytree(RECORDED / kind / "cluster_analysis_output", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_rank_that_is_no_number_loses_its_row(folder: Path) -> None:
    """No rank had it, without a report."""
    path = folder / STEPS
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("Index")
    rows = [number for number, line in enumerate(lines) if ",rank," in line]
    cells = lines[rows[0]].split(",")
    cells[place] = "first"
    lines[rows[0]] = ",".join(cells)
    path.write_text("\n".join([*lines, ""]))
    tables, problems = read(path)
    assert len(tables["step_trace"]) == len(rows) - 1
    assert [(one.code, one.where, one.found, one.count) for one in problems] == [
        ("bad_required_cell", "Index", "first", 1)
    ]


@pytest.mark.parametrize("name", [OPERATORS, LINKS])
def test_an_entry_that_is_no_object_is_reported(folder: Path, name: str) -> None:
    path = folder / name
    content = json.loads(path.read_text())
    next(iter(next(iter(content.values())).values()))["odd@1"] = 5
    whole, _ = read(path)
    path.write_text(json.dumps(content))
    tables, problems = read(path)
    assert {key: len(table) for key, table in tables.items()} == {key: len(table) for key, table in whole.items()}
    assert [(one.code, one.found) for one in problems] == [("unexpected_shape", "5")]


@pytest.mark.parametrize(
    ("table", "column", "value", "lost"),
    [
        ("ClusterStepTraceTime", "index", "'first'", "step_trace"),
        ("ClusterCommunicationTime", "rank_id", "NULL", "comm_ops"),
        ("ClusterCommunicationBandwidth", "rank_id", "'x'", "comm_bandwidth"),
        ("ClusterCommunicationMatrix", "src_rank", "x'ff'", "comm_links"),
    ],
)
def test_a_row_without_its_rank_is_lost_and_reported(
    folder: Path, table: str, column: str, value: str, lost: str
) -> None:
    path = folder / DATABASE
    where = "WHERE type = 'rank'" if lost == "step_trace" else "WHERE hccl_op_name NOT LIKE 'Total%'"
    whole, _ = read(path)
    change(path, f'UPDATE {table} SET "{column}" = {value} WHERE rowid = (SELECT min(rowid) FROM {table} {where})')
    tables, problems = read(path)
    ranks = [int(rank) for rank in set(whole["step_trace"].ints("rank").tolist())]
    shown = [sum(len(select(one, str(rank))[lost]) for rank in ranks) for one in (whole, tables)]
    assert shown[1] < shown[0]
    assert {(one.code, one.where) for one in problems} == {("bad_required_cell", f"{table}, {column}")}


def test_figures_that_are_invalid_are_unknown_and_reported(folder: Path) -> None:
    """They were unknown, without a report. Text that is a figure is one."""
    path = folder / DATABASE
    whole, _ = read(path)
    single = "WHERE hccl_op_name NOT LIKE 'Total%'"
    change(
        path, f"UPDATE ClusterCommunicationTime SET elapsed_time = 'soon', wait_time = CAST(wait_time AS TEXT) {single}"
    )
    tables, problems = read(path)
    assert set(tables["comm_ops"].ints("elapse_ns").tolist()) == {NULL_INT}
    assert tables["comm_ops"].ints("wait_ns").tolist() == whole["comm_ops"].ints("wait_ns").tolist()
    rows = len(tables["comm_ops"])
    assert [(one.code, one.where, one.count) for one in problems] == [
        ("bad_cell", "ClusterCommunicationTime, elapsed_time", rows)
    ]
