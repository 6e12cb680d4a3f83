"""A trace whose device rows or launches are missing says so, and no advice names a setting that was on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.views.availability import facts_of_span, missing_data
from tests.support import mock
from tests.support.reading import open_spans

OUTPUT = "ASCEND_PROFILER_OUTPUT"
Event = dict[str, Any]


def changed(tmp_path: Path, keep: Callable[[Event, str], bool], *removed: str, **settings: object) -> Span:
    """A rank with the events of its trace that pass, (event, its process), without some files, and with other settings."""
    result = mock.rank_folder(mock.run("resnet")[0], 0)
    copy = tmp_path / "run" / result.name
    shutil.copytree(result, copy)
    for name in removed:
        (copy / OUTPUT / name).unlink()
    file = copy / OUTPUT / "trace_view.json"
    events = json.loads(file.read_text())
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    file.write_text(json.dumps([event for event in events if keep(event, names[event["pid"]])]))
    if settings:
        (info,) = copy.glob("profiler_info_*.json")
        info.write_text(json.dumps(replaced(json.loads(info.read_text()), settings)))
    (span,) = open_spans(tmp_path / "run", tmp_path)
    return span


def replaced(value: Any, settings: dict[str, object]) -> Any:
    """JSON with other values of these keys, at any depth."""
    if not isinstance(value, dict):
        return value
    return {key: settings.get(key, replaced(inner, settings)) for key, inner in value.items()}


def told(span: Span, code: str) -> list[str]:
    return [str(problem.found) for problem in span.problems if problem.code == code]


def test_a_whole_result_lacks_nothing(tmp_path: Path) -> None:
    span = changed(tmp_path, lambda event, process: True)
    assert {"no_device_rows", "no_device_steps", "no_launches"}.isdisjoint(problem.code for problem in span.problems)


def test_a_step_without_device_rows_is_named(tmp_path: Path) -> None:
    marks: dict[str, float] = {}

    def keep(event: Event, process: str) -> bool:
        if event["name"].startswith("ProfilerStep#"):
            marks[event["name"]] = float(event["ts"])
        if process not in ("Ascend Hardware", "Communication", "Overlap Analysis") or event["ph"] != "X":
            return True
        return float(event["ts"]) >= max(marks.values())  # those of the first step are lost

    span = changed(tmp_path, keep, "kernel_details.csv", "step_trace_time.csv")
    first = min(marks, key=lambda name: marks[name]).partition("#")[2]
    assert told(span, "no_device_steps") == [f"step {first} has no device rows"]


def test_a_trace_of_the_host_alone_says_why(tmp_path: Path) -> None:
    device = ("kernel_details.csv", "step_trace_time.csv", "op_statistic.csv", "communication.json")
    span = changed(tmp_path, lambda event, process: process == "Python", *device, "communication_matrix.json")
    assert told(span, "no_device_rows") == ["rows of the host only"]
    texts = {one["table"]: one["text"] for one in missing_data(facts_of_span(span))}
    assert "host only" in texts["kernels"] and "copied" not in texts["kernels"]


@pytest.mark.parametrize(
    ("setting", "value"), [("activities", ["ProfilerActivity.CPU"]), ("_profiler_level", "Level_none")]
)
def test_a_device_that_was_not_recorded_is_not_missed(tmp_path: Path, setting: str, value: object) -> None:
    device = ("kernel_details.csv", "step_trace_time.csv", "op_statistic.csv", "communication.json")
    span = changed(
        tmp_path, lambda event, process: process == "Python", *device, "communication_matrix.json", **{setting: value}
    )
    assert told(span, "no_device_rows") == []


def test_lost_launches_are_told_and_no_setting_is_blamed(tmp_path: Path) -> None:
    span = changed(tmp_path, lambda event, process: event["ph"] not in ("s", "f"))
    assert len(told(span, "no_launches")) == 1
    (unchecked,) = [one for one in diagnose([span]).unchecked if one.rule == "host_bound"]
    assert "were lost" in unchecked.missing and unchecked.option == ""


def test_a_capture_without_marks_is_no_step(tmp_path: Path) -> None:
    span = changed(
        tmp_path,
        lambda event, process: "ProfilerStep" not in event["name"],
        *(path.name for path in (mock.rank_folder(mock.run("resnet")[0], 0) / OUTPUT).glob("*.csv")),
    )
    assert told(span, "trace_alone") and not told(span, "no_device_steps")
    found = diagnose([span])
    assert found.steps and all(step is None for step, _ in found.steps)
    assert found.repeats == 1
    assert "neither steps nor iterations" in found.verdict.message and "Mean step" not in found.verdict.message
