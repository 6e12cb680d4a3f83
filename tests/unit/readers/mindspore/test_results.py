"""Whole results of MindSpore: settings, steps, data pipeline. Figures: tests/golden, tests/oracle/test_mindspore.py."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin import api
from tb_npu_plugin.tables import NULL_INT
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.support.span import found_spans

RESULTS = Path(__file__).parents[4] / "fixtures" / "results"


def test_capture_has_the_settings() -> None:
    capture = found_spans(RESULTS / "mindspore_two_ranks")[1].capture
    assert (capture.rank, capture.rank_source, capture.device_id) == (1, "profiler_info_1.json", 1)
    assert (capture.level, capture.aic_metrics, capture.activities) == ("Level1", "PipeUtilization", ("CPU", "NPU"))
    assert capture.versions == {"MindSpore": "2.7.0", "CANN": "8.2.RC1"}
    assert capture.jit_level == "O0"
    assert capture.export_types == ("text",)
    assert capture.switches["profile_memory"] and not capture.switches["data_process"]
    assert "is_set_schedule" not in capture.switches
    assert capture.schedule is not None
    assert capture.simulated
    (span,) = found_spans(RESULTS / "mindspore_data")
    assert span.capture.schedule is None  # though the file has the default one
    assert span.tables["step_trace"].text("step").tolist() == [None]
    assert not span.tables["kernels"].has("step")


def _view(name: str, *spans: Any) -> Any:
    return next(view for view in VIEWS if view.id == name).build(ViewInput(list(spans), {}))


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
    result = _view("operator", api.open(tmp_path / "run")[0]._span)
    assert (result.data["calls"], result.data["source"]) == (13, "operator_details.csv")
    assert [result.data[key] for key in ("device_self_ns", "host_self_ns", "host_total_ns")] == [None, None, None]


def test_frameworks_are_compared_by_type() -> None:
    one, other = (found_spans(RESULTS / name)[0] for name in ("two_ranks", "mindspore_two_ranks"))
    result = _view("diff", one, other)
    assert "operators" not in result.tables  # they have nothing in common
    table = result.tables["kernels"].table
    assert (table.ints("difference_ns") == 0).all()
    assert (table.ints("baseline_calls") == table.ints("experimental_calls")).all()
    assert len(set(zip(table.text("type").tolist(), table.text("core").tolist()))) == len(table)
