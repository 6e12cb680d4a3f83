"""Whole results of MindSpore up to 2.2: their files together."""

from __future__ import annotations

from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindinsight.capture import read_capture
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.kernel import VIEW
from tests.support.span import TestSpan, found_spans

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"


def single() -> TestSpan:
    [span] = found_spans(RESULTS / "mindinsight_single")
    return span


def test_a_broken_result_keeps_what_is_left() -> None:
    first, second = found_spans(RESULTS / "mindinsight_broken")
    assert first.tables["iterations"].text("step").tolist() == ["1", "3", "4", "5", "6", None]
    assert {"short_row", "inconsistent", "bad_json"} <= {problem.code for problem in first.problems}
    assert set(first.tables["comm_links"].text("step").tolist()) == {"1", "3", "4", "5", "6"}
    assert second.tables == {}
    assert [problem.code for problem in second.problems] == ["empty_file", "missing_column"]


def test_the_capture_knows_mode_and_stages() -> None:
    folder = RESULTS / "mindinsight_cluster" / "profiler"
    names = [path.name for path in folder.iterdir() if "_2." in path.name or "_2_d" in path.name]
    capture = read_capture(folder, names, ProblemLog())
    assert (capture.rank, capture.rank_source) == (2, "file names")
    assert capture.distributed_args == {"parallel_mode": "pipeline", "pipeline_stages": 2, "world_size": 4}
    assert capture.versions == {"MindSpore": "2.2.0"}
    assert capture.metadata["context_mode"] == "GRAPH_MODE"


def test_the_kernel_view_shows_what_the_recorder_summed_up() -> None:
    result = VIEW.build(ViewInput([single()], {}))
    assert {name: len(table.table) for name, table in result.tables.items()} == {
        "types": 14,
        "statistic": 145,
        "all": 290,
    }
    assert [core["core"] for core in result.data["cores"]] == ["AI_CORE", "AI_CPU"]
    assert result.data["computing_ns"] == sum(core["total_ns"] for core in result.data["cores"])
    span = single()
    without = TestSpan({"op_totals": span.tables["op_totals"]}, files=span.files, format=span.format)
    types = VIEW.build(ViewInput([without], {})).tables["types"].table
    assert dict(zip(types.text("type").tolist(), types.ints("calls").tolist()))["Cast"] == 26


def test_ranks_of_the_old_layout_are_those_of_the_table() -> None:
    assert [span.capture.rank for span in found_spans(RESULTS / "mindinsight_hosts")] == [0, 1, 2, 3]
