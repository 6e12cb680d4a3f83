"""What is wrong with the files of `msprof-analyze cluster` is skipped, and is reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.cluster.reader import read_capture, read_file, select
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.fixtures import FIXTURES
from tests.support.reading import losses
from tests.unit.readers.databases import change

STEPS, DATABASE = "cluster_step_trace_time.csv", "cluster_analysis.db"
GROUPS = "communication_group.json"
OPERATORS, LINKS = "cluster_communication.json", "cluster_communication_matrix.json"
NO_TOTAL = "hccl_op_name NOT LIKE 'Total%'"


def read(path: Path) -> tuple[dict[str, Table], list[tuple[str, str, str]]]:
    """Its tables, and code, place and finding of its problems."""
    log = ProblemLog()
    tables = read_file(Reading(path, path.name, log))
    return tables, [(one.code, one.where, one.found) for one in losses(log)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind in ("cluster_text", "cluster_db"):
        shutil.copytree(FIXTURES / "recorded" / kind / "cluster_analysis_output", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_groups_that_are_none_are_reported(folder: Path) -> None:
    """The ranks of the others became the run, and nobody was told."""
    log = ProblemLog()
    (folder / GROUPS).write_text('{"collective": 17, "p2p": [[0, 1], "x"]}')
    read_capture(folder, [GROUPS, OPERATORS], log)
    assert [(one.code, one.where, one.found) for one in log.list()] == [
        ("unexpected_shape", "collective", "17"),
        ("unexpected_shape", "p2p", "x"),
    ]


def test_a_rank_that_is_no_number_loses_its_row(folder: Path) -> None:
    """No rank had it, without a report."""
    path = folder / STEPS
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("Index")
    ranks = [number for number, line in enumerate(lines) if ",rank," in line]
    cells = lines[ranks[0]].split(",")
    cells[place] = "first"
    lines[ranks[0]] = ",".join(cells)
    path.write_text("\n".join([*lines, ""]))
    tables, problems = read(path)
    assert len(tables["step_trace"]) == len(ranks) - 1
    assert problems == [("bad_required_cell", "Index", "first")]


@pytest.mark.parametrize("name", [OPERATORS, LINKS])
def test_an_entry_that_is_no_object_is_reported(folder: Path, name: str) -> None:
    path = folder / name
    content = json.loads(path.read_text())
    next(iter(next(iter(content.values())).values()))["odd@1"] = 5
    whole, _ = read(path)
    path.write_text(json.dumps(content))
    tables, problems = read(path)
    assert {key: len(table) for key, table in tables.items()} == {key: len(table) for key, table in whole.items()}
    assert [(code, found) for code, _, found in problems] == [("unexpected_shape", "5")]


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
    where = "type = 'rank'" if lost == "step_trace" else NO_TOTAL
    whole, _ = read(path)
    change(path, f'UPDATE {table} SET "{column}"={value} WHERE rowid=(SELECT min(rowid) FROM {table} WHERE {where})')
    tables, problems = read(path)
    ranks = {str(rank) for rank in whole["step_trace"].ints("rank").tolist()}
    shown = [sum(len(select(one, rank)[lost]) for rank in ranks) for one in (whole, tables)]
    assert shown[1] < shown[0]
    assert {(code, where) for code, where, _ in problems} == {("bad_required_cell", f"{table}, {column}")}


def test_figures_that_are_invalid_are_unknown_and_reported(folder: Path) -> None:
    """They were unknown, without a report. Text that is a figure is one."""
    path = folder / DATABASE
    before = read(path)[0]["comm_ops"]
    wrong = "elapsed_time = 'soon', wait_time = CAST(wait_time AS TEXT)"
    change(path, f"UPDATE ClusterCommunicationTime SET {wrong} WHERE {NO_TOTAL}")
    tables, problems = read(path)
    assert set(tables["comm_ops"].ints("elapse_ns").tolist()) == {NULL_INT}
    assert tables["comm_ops"].ints("wait_ns").tolist() == before.ints("wait_ns").tolist()
    assert problems == [("bad_cell", "ClusterCommunicationTime, elapsed_time", "soon")]


def test_a_rank_of_an_operator_that_is_no_number_is_reported(folder: Path) -> None:
    path = folder / OPERATORS
    content = json.loads(path.read_text())
    ranks = next(iter(next(iter(next(iter(content.values())).values())).values()))
    ranks["first"] = next(iter(ranks.values()))
    whole, _ = read(path)
    path.write_text(json.dumps(content))
    tables, problems = read(path)
    assert len(tables["comm_ops"]) == len(whole["comm_ops"])
    assert [code for code, *_ in problems] == ["unexpected_shape"]
