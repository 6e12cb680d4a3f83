"""Which views a capture has, what is missing from it, and what Doctor says of each file."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.model import Capture, Unread
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.schema.registry import RESULT_FILES
from tb_npu_plugin.views import doctor
from tb_npu_plugin.views.availability import ViewStateJson, facts_of_files, facts_of_span, missing_data, view_states
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tb_npu_plugin.views.uses import USES
from tests.support.span import TestSpan, table_of

FOLDER = "ASCEND_PROFILER_OUTPUT/"
ALL = [FOLDER + file.name for file in RESULT_FILES]


def states_of(files: list[str]) -> dict[str, ViewStateJson]:
    return {state["id"]: state for state in view_states(facts_of_files(files))}


def test_views_in_sidebar_order_and_all_there_with_all_files() -> None:
    found = view_states(facts_of_files(ALL))
    assert [state["id"] for state in found] == [view.id for view in VIEWS]
    assert all(state["available"] and not state["reason"] for state in found)
    assert missing_data(facts_of_files(ALL)) == []


def test_missing_view_names_file_and_option() -> None:
    memory = states_of([FOLDER + "kernel_details.csv"])["memory"]
    assert not memory["available"]
    assert memory["reason"] == "None of memory_record.csv, operator_memory.csv, npu_module_mem.csv found."
    assert memory["option"] == "profile_memory=True"


def test_missing_of_a_view_and_of_all() -> None:
    facts = facts_of_files([FOLDER + "kernel_details.csv", FOLDER + "trace_view.json"])
    assert {entry["file"] for entry in missing_data(facts, "memory")} == {
        "operator_memory.csv",
        "memory_record.csv",
        "npu_module_mem.csv",
    }
    everything = missing_data(facts)
    used = {
        file.id for file in TORCH_NPU.files if file.id in USES and USES[file.id].missed and not USES[file.id].if_set
    }
    assert missing_data(facts, "overview") == everything
    assert {entry["table"] for entry in everything} == used - {"kernels", "trace"}
    communication = next(entry for entry in everything if entry["file"] == "communication.json")
    assert communication["views"] == ["distributed"]
    assert communication["option"].startswith("profiler_level=ProfilerLevel.Level1")


def test_a_file_that_gave_nothing_is_not_blamed_on_an_option() -> None:
    span = TestSpan(files=[FOLDER + "kernel_details.csv"])
    facts = facts_of_span(span)
    state = next(state for state in view_states(facts) if state["id"] == "kernel")
    assert (state["available"], state["option"]) == (False, "")
    assert state["reason"].startswith("kernel_details.csv exists, but nothing")
    entry = next(entry for entry in missing_data(facts) if entry["table"] == "kernels")
    assert entry["option"] == ""


DATABASE = "analysis.db"
BROKEN = Problem("bad_database", FOLDER + DATABASE, "", "a database", "nothing", "its tables", "")


@pytest.mark.parametrize(
    ("problems", "option"), [([], "profiler_level=ProfilerLevel.Level1, more than one rank"), ([BROKEN], "")]
)
def test_what_a_database_beside_text_lacks_was_not_recorded(problems: list[Problem], option: str) -> None:
    """All tables are from text: the database was asked for the others, and has none. Unless it could not be read."""
    span = TestSpan(
        files=[FOLDER + "kernel_details.csv", FOLDER + DATABASE],
        tables={"kernels": table_of("kernels", [{"name": "MatMul"}])},
        problems=problems,
    )
    (entry,) = (entry for entry in missing_data(facts_of_span(span)) if entry["table"] == "communication")
    assert entry["option"] == option
    assert ("Nothing in it could be read" in entry["text"]) == bool(problems)


@pytest.mark.parametrize(
    ("capture", "option", "text"),
    [
        (Capture(activities=("NPU",)), "activities=[ProfilerActivity.CPU, ...]", "Written when the host is profiled."),
        (
            Capture(activities=("CPU", "NPU")),
            "",
            "It was recorded (activities=[ProfilerActivity.CPU, ...]), so operator_details.csv was probably not copied.",
        ),
        (
            Capture(activities=("CPU", "NPU"), export_types=("db",)),  # the text file was not asked for
            "",
            "Written when the host is profiled.",
        ),
    ],
)
def test_a_setting_that_was_on_is_not_advised(capture: Capture, option: str, text: str) -> None:
    """Beside a card that said CPU was recorded: "Recorded with activities with ProfilerActivity.CPU"."""
    facts = facts_of_span(TestSpan({"kernels": table_of("kernels", [{"name": "k"}])}, capture))
    (entry,) = (entry for entry in missing_data(facts) if entry["table"] == "operators")
    assert entry["option"] == option
    assert entry["text"].endswith(text)


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
