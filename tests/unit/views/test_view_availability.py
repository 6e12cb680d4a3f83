from __future__ import annotations

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.schema.registry import RESULT_FILES
from tb_npu_plugin.views.availability import ViewStateJson, facts_of_files, facts_of_span, missing, view_states
from tb_npu_plugin.views.registry import VIEWS
from tb_npu_plugin.views.uses import USES
from tests.support.span import TestSpan, table_of

FOLDER = "ASCEND_PROFILER_OUTPUT/"
ALL = [FOLDER + file.name for file in RESULT_FILES]


def states(files: list[str]) -> dict[str, ViewStateJson]:
    return {state["id"]: state for state in view_states(facts_of_files(files))}


def test_views_in_sidebar_order_and_all_there_with_all_files() -> None:
    found = view_states(facts_of_files(ALL))
    assert [state["id"] for state in found] == [view.id for view in VIEWS]
    assert all(state["available"] and not state["reason"] for state in found)
    assert missing(facts_of_files(ALL)) == []


def test_missing_view_names_file_and_option() -> None:
    memory = states([FOLDER + "kernel_details.csv"])["memory"]
    assert not memory["available"]
    assert memory["reason"] == "None of memory_record.csv, operator_memory.csv, npu_module_mem.csv found."
    assert memory["option"] == "profile_memory=True"


def test_missing_of_a_view_and_of_all() -> None:
    facts = facts_of_files([FOLDER + "kernel_details.csv", FOLDER + "trace_view.json"])
    assert {entry["file"] for entry in missing(facts, "memory")} == {
        "operator_memory.csv",
        "memory_record.csv",
        "npu_module_mem.csv",
    }
    everything = missing(facts)
    used = {file.id for file in TORCH_NPU.files if file.id in USES and USES[file.id].missed}
    assert missing(facts, "overview") == everything
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
    entry = next(entry for entry in missing(facts) if entry["table"] == "kernels")
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
    (entry,) = (entry for entry in missing(facts_of_span(span)) if entry["table"] == "communication")
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
    (entry,) = (entry for entry in missing(facts) if entry["table"] == "operators")
    assert entry["option"] == option
    assert entry["text"].endswith(text)
