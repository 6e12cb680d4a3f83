"""Doctor tells what became of each file."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.model import Unread
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.views import doctor
from tb_npu_plugin.views.base import ViewInput
from tests.support.span import TestSpan, table_of

OUT = "ASCEND_PROFILER_OUTPUT/"


def problem(file: str, severity: str = "error") -> Problem:
    return Problem("short_row", file, "line 3", "9 cells", "4", "The row.", "Export again.", severity=severity)


def files(span: TestSpan) -> dict[str, Any]:
    return {file["file"].rpartition("/")[2]: file for file in doctor.build(ViewInput([span], {})).data["files"]}


def kernels(count: int) -> Any:
    return table_of("kernels", [{"name": "k", "start_ns": 1, "dur_ns": 1}] * count)


def test_each_file_has_its_state_and_rows() -> None:
    names = ("kernel_details.csv", "op_statistic.csv", "memory_record.csv", "operator_memory.csv")
    span = TestSpan(
        {"kernels": kernels(2), "op_memory": table_of("op_memory", [])},
        files=[*(OUT + name for name in names), "profiler_info.json"],
        problems=[problem(OUT + "memory_record.csv"), problem(OUT + "operator_memory.csv")],
        sizes={OUT + "kernel_details.csv": 70},
    )
    found = files(span)
    assert {name: file["state"] for name, file in found.items()} == {
        "kernel_details.csv": "read",
        "op_statistic.csv": "unused",
        "memory_record.csv": "lost",
        "operator_memory.csv": "damaged",
        "profiler_info.json": "settings",
    }
    assert found["kernel_details.csv"]["filled"] == [{"table": "kernels", "rows": 2}]
    assert found["kernel_details.csv"]["bytes"] == 70 and "kernel" in found["kernel_details.csv"]["views"]
    assert [item["where"] for item in found["memory_record.csv"]["problems"]] == ["line 3"]


def test_a_reservation_is_no_damage() -> None:
    span = TestSpan({"kernels": kernels(1)}, files=[OUT + "kernel_details.csv"])
    span.problems = [problem(OUT + "kernel_details.csv", "info")]
    assert files(span)["kernel_details.csv"]["state"] == "read"


def test_problems_of_no_file_are_separate() -> None:
    span = TestSpan(files=[OUT + "kernel_details.csv", OUT + "op_statistic.csv"])
    both = f"{OUT}kernel_details.csv, {OUT}op_statistic.csv"
    span.problems = [problem(""), problem("gone.csv"), problem(both, "info")]
    data = doctor.build(ViewInput([span], {})).data
    assert [item["file"] for item in data["others"]] == ["", "gone.csv"]
    assert [len(file["problems"]) for file in data["files"]] == [1, 1]


def test_files_that_nothing_reads_are_listed() -> None:
    unread = Unread(((OUT + "hbm.csv", 70), (OUT + "mine.txt", 1)), more=3)
    span = TestSpan({"kernels": kernels(1)}, files=[OUT + "kernel_details.csv"], unread=unread)
    data = doctor.build(ViewInput([span], {})).data
    assert [(file["file"], file["state"], file["bytes"], bool(file["title"])) for file in data["files"][1:]] == [
        (OUT + "hbm.csv", "unread", 70, True),
        (OUT + "mine.txt", "unread", 1, False),
    ]
    assert data["more"] == 3
