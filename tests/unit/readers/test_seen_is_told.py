"""What a file holds is shown or told: figures out of bounds, repeated rows, lost columns and keys, empty pieces."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.row_checks import check_rows
from tb_npu_plugin.tables import NULL_INT
from tests.conftest import FIXTURES
from tests.faults.test_broken_formats import read_all
from tests.support.span import table_of


def replaced(old: str, new: str, count: int = 1) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, count)

    return change


def without_column(at: int) -> Callable[[str], str]:
    return lambda text: "\n".join(
        ",".join([*line.split(",")[:at], *line.split(",")[at + 1 :]]) for line in text.splitlines()
    )


def last_line_twice(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines, lines[-1]])


def without_key(*path: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        content = json.loads(text)
        owner = content
        for key in path[:-1]:
            owner = owner[key]
        del owner[path[-1]]
        return json.dumps(content)

    return change


#: Result, file, change, what is told about that file.
CASES: dict[str, tuple[str, str, Callable[[str], str], str]] = {
    "a step twice": ("level1", "step_trace_time.csv", last_line_twice, "repeated_row"),
    "a kernel twice": ("level1", "kernel_details.csv", last_line_twice, "repeated_row"),
    "an optional column": ("level1", "step_trace_time.csv", without_column(1), "lost_column"),
    "a column of a release": ("new_spellings", "op_statistic.csv", without_column(0), "lost_column"),
    "settings without a switch": (
        "level1",
        "profiler_info_0.json",
        without_key("config", "common_config", "with_stack"),
        "lost_key",
    ),
    "an impossible setting": (
        "level1",
        "profiler_info_0.json",
        replaced('"freq": 100', '"freq": -5.0'),
        "out_of_bounds",
    ),
    "a key of a link": (
        "two_ranks",
        "communication_matrix.json",
        replaced('"Transport Type"', '"other"'),
        "lost_key",
    ),
    "an empty piece": ("msprof_pieces", "msprof_slice_1_20250615070512.json", lambda text: "[]", "no_events_in_piece"),
    "a piece without its end": (
        "msprof_pieces",
        "msprof_slice_2_20250615070512.json",
        lambda text: text[:-1],
        "piece_cut",
    ),
    "samples of queues": (
        "mindinsight_single",
        "minddata_pipeline_raw_0.csv",
        replaced("output_queue_size", "sizes"),
        "lost_column",
    ),
    "a line of a queue twice": ("mindinsight_single", "minddata_aicpu_0.txt", last_line_twice, "repeated_row"),
    "the settings of a trace": ("kineto_gpu", "node1_4242.*.json", replaced("{", "{#"), "bad_head"),
    "a slice twice": (
        "level1",
        "trace_view.json",
        lambda text: json.dumps([*json.loads(text), next(one for one in json.loads(text) if one.get("dur"))]),
        "repeated_event",
    ),
    "what follows the list": ("level1", "trace_view.json", lambda text: text + text, "bad_json"),
}


def told(base: str, file: str, change: Callable[[str], str], folder: Path) -> set[str]:
    """Codes of the problems that name the changed file."""
    shutil.copytree(FIXTURES / "results" / base, folder / "logs")
    path = min((folder / "logs").rglob(file))
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    metas = read_all(folder / "logs", folder / "out")
    return {problem["code"] for meta in metas for problem in meta["problems"] if problem["file"].endswith(path.name)}


@pytest.mark.parametrize("case", CASES)
def test_what_is_lost_or_repeated_is_told(case: str, tmp_path: Path) -> None:
    base, file, change, code = CASES[case]
    assert code in told(base, file, change, tmp_path)


def test_a_reduce_that_ends_before_it_starts(tmp_path: Path) -> None:
    def change(text: str) -> str:
        header, *rows = text.splitlines()
        at = next(place for place, name in enumerate(header.split(",")) if name.endswith("_end_point") and place > 2)
        cells = rows[1].split(",")
        cells[at] = "-5000000"
        return "\n".join([header, rows[0], ",".join(cells), *rows[2:]]) + "\n"

    assert "bad_cell" in told("mindinsight_cluster", "step_trace_raw_1_detail_time.csv", change, tmp_path)


def test_a_table_that_is_written_with_others(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "mindspore_db", tmp_path / "logs")
    with closing(sqlite3.connect(min((tmp_path / "logs").rglob("communication_analyzer.db")))) as connection:
        connection.execute("DROP TABLE CommAnalyzerBandwidth")
        connection.execute("ALTER TABLE CommAnalyzerTime RENAME COLUMN wait_time TO other")
        connection.commit()
    problems = [one for meta in read_all(tmp_path / "logs", tmp_path / "out") for one in meta["problems"]]
    assert {(one["code"], one["where"]) for one in problems} == {
        ("lost_table", "CommAnalyzerBandwidth"),
        ("lost_column", "CommAnalyzerTime"),
    }


def test_impossible_figures_are_unknown_and_repeated_rows_count_once() -> None:
    row = {"type": "Mul", "core": "AI_CORE", "calls": 3, "total_ns": 20, "ratio": 40.0}
    rows = [row, {**row, "type": "Add", "total_ns": -5_000, "ratio": 1e25}, row, {**row, "calls": 4}]
    log = ProblemLog()
    found = check_rows({"op_statistic": table_of("op_statistic", rows)}, {"op_statistic": "a.csv"}, log)["op_statistic"]
    assert found.text("type").tolist() == ["Mul", "Add"]
    assert found.ints("total_ns").tolist() == [20, NULL_INT] and found.floats("ratio")[1] != found.floats("ratio")[1]
    assert [(one.code, one.where, one.count) for one in log.list()] == [
        ("out_of_bounds", "row 2, Total Time(us)", 1),
        ("out_of_bounds", "row 2, Ratio(%)", 1),
        ("repeated_row", "row 3 and 1 more", 2),
    ]


def test_rows_in_another_order_are_sorted() -> None:
    rows = [{"name": name, "start_ns": at, "dur_ns": 1} for name, at in (("b", 20), ("a", 10), ("c", 30))]
    log = ProblemLog()
    found = check_rows({"kernels": table_of("kernels", rows)}, {"kernels": "a.csv"}, log)["kernels"]
    assert found.text("name").tolist() == ["a", "b", "c"]
    assert [one.code for one in log.list()] == ["not_in_order"]
    assert check_rows({"kernels": found}, {}, ProblemLog())["kernels"] is found, "in order, nothing is copied"
