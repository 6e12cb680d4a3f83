"""Whole results of MindSpore: how they were recorded, what their tables hold, and that they say what those of torch_npu
of the same run say."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin import api
from tb_npu_plugin.tables import NULL_INT
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.support.span import TestSpan, found_spans

RESULTS = Path(__file__).parents[4] / "fixtures" / "results"


@pytest.fixture(scope="module")
def two_ranks() -> list[TestSpan]:
    return found_spans(RESULTS / "mindspore_two_ranks")


@pytest.fixture(scope="module")
def twin() -> list[TestSpan]:
    return found_spans(RESULTS / "two_ranks")


def test_the_capture_is_that_of_the_settings(two_ranks: list[TestSpan]) -> None:
    capture = two_ranks[1].capture
    assert (capture.rank, capture.rank_source, capture.device_id) == (1, "profiler_info_1.json", 1)
    assert (capture.level, capture.aic_metrics, capture.activities) == ("Level1", "PipeUtilization", ("CPU", "NPU"))
    assert capture.versions == {"MindSpore": "2.7.0", "CANN": "8.2.RC1"}
    assert capture.jit_level == "O0"
    assert capture.export_types == ("text",)
    assert capture.switches["profile_memory"] and not capture.switches["data_process"]
    assert "is_set_schedule" not in capture.switches
    assert capture.schedule is not None
    assert capture.simulated


def test_without_a_schedule_there_are_no_steps() -> None:
    (span,) = found_spans(RESULTS / "mindspore_data")
    assert span.capture.schedule is None  # though the file has the default one
    assert span.tables["step_trace"].text("step").tolist() == [None]
    assert not span.tables["kernels"].has("step")


def _view(name: str, spans: list[TestSpan]) -> Any:
    view = next(view for view in VIEWS if view.id == name)
    return view.build(ViewInput(spans if view.scope == "run" else spans[:1], {}))


def test_communication_is_the_same(two_ranks: list[TestSpan], twin: list[TestSpan]) -> None:
    ours, theirs = (_view("distributed", spans) for spans in (two_ranks, twin))
    for key in ("groups", "op_types", "steps", "world_size"):
        assert ours.data[key] == theirs.data[key]

    def links(data: Any) -> set[tuple[Any, ...]]:
        return {
            tuple(link[key] for key in ("rank", "op_type", "src_rank", "dst_rank", "transport", "size_bytes"))
            for link in data["links"]
        }

    assert links(ours.data) == links(theirs.data)
    for table in ("ops", "transports"):
        mine, other = (found.tables[table].table for found in (ours, theirs))
        for column in mine.columns:
            if column.kind.is_int:
                assert mine.ints(column.key).tolist() == other.ints(column.key).tolist(), column.key
            elif column.kind.value == "text":
                assert mine.text(column.key).tolist() == other.text(column.key).tolist(), column.key


def test_text_and_databases_hold_the_same_kernels_and_communication(two_ranks: list[TestSpan]) -> None:
    databases = found_spans(RESULTS / "mindspore_db")
    for text, database in zip(two_ranks, databases):
        assert database.source("kernels").endswith(".db")
        for table, keys in (("kernels", ("start_ns", "dur_ns")), ("comm_ops", ("elapse_ns",))):
            for key in keys:
                assert sorted(text.tables[table].ints(key).tolist()) == sorted(
                    database.tables[table].ints(key).tolist()
                )
        for key in ("name", "type"):
            assert sorted(filter(None, text.tables["kernels"].text(key).tolist())) == sorted(
                filter(None, database.tables["kernels"].text(key).tolist())
            )
        mine, other = (
            set(
                zip(
                    span.tables["comm_links"].text("op_type").tolist(),
                    span.tables["comm_links"].ints("size_bytes").tolist(),
                )
            )
            for span in (text, database)
        )
        assert {name for name, _ in mine} == {name for name, _ in other}
        assert database.capture.device_name == "Ascend910B2"


@pytest.mark.parametrize("kept", [".json", ".csv"])
def test_the_summary_completes_the_pipeline_from_json_and_from_transposed_csv(tmp_path: Path, kept: str) -> None:
    shutil.copytree(RESULTS / "mindspore_data", tmp_path / "run")
    (whole,) = found_spans(RESULTS / "mindspore_data")
    for file in (tmp_path / "run").rglob("minddata_pipeline_summary_0.*"):
        if file.suffix != kept:
            file.unlink()
    (span,) = found_spans(tmp_path / "run")
    ops = span.tables["minddata_ops"]
    figures = dict(zip(ops.ints("op_id").tolist(), zip(ops.floats("cpu").tolist(), ops.floats("queue_empty").tolist())))
    assert figures[3] == (288.0, 0.0)
    assert figures[0][0] == 0.0 and figures[0][1] != figures[0][1]  # -1 is unknown
    assert (ops.ints("batch_ns") == NULL_INT).all()
    remarks = span.tables["minddata_remarks"]
    assert remarks.text("text").tolist() == whole.tables["minddata_remarks"].text("text").tolist()
    assert span.problems == []
    assert "minddata_summary" not in span.tables


def test_without_a_trace_operators_are_known_by_name_and_their_times_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(RESULTS / "mindspore_two_ranks", tmp_path / "run")
    for trace in (tmp_path / "run").rglob("trace_view.json"):
        trace.unlink()
    span = api.open(tmp_path / "run")[0]._span
    result = _view("operator", [span])  # type: ignore[list-item]
    assert (result.data["calls"], result.data["source"]) == (13, "operator_details.csv")
    assert [result.data[key] for key in ("device_self_ns", "host_self_ns", "host_total_ns")] == [None, None, None]
