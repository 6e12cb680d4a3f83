"""Diff of hand-made spans: which steps are held against each other."""

from __future__ import annotations

import pytest

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.views import diff
from tests.support.span import TestSpan, table_of
from tests.unit.views.test_view_build import KERNELS, build


def test_diff_pairs_the_nth_steps() -> None:
    rows = [{"step": step, "name": "k", "start_ns": 0, "dur_ns": 1} for step in ("7", "8", "9")]
    shifted = table_of("kernels", rows)

    data = build(diff, TestSpan({"kernels": KERNELS}), TestSpan({"kernels": shifted})).data

    assert [(step["baseline_step"], step["experimental_step"]) for step in data["steps"]] == [
        (None, None),
        ("1", "7"),
        ("2", "8"),
    ]
    assert [step["id"] for step in data["steps"]] == ["mean", "1", "2"]
    for step, total in zip(data["steps"], (20, 20, 30)):
        assert step["baseline_ns"] == sum(entry["baseline_ns"] for entry in step["classes"]) == total


def test_diff_of_different_numbers_of_steps_is_of_the_mean_step() -> None:
    def span(steps: int) -> TestSpan:
        kernels = [{"step": str(step), "name": "k", "start_ns": 9 * step, "dur_ns": 6} for step in range(steps)]
        operators = [{"name": "mm", "host_self_ns": 3}] * steps
        return TestSpan({"kernels": table_of("kernels", kernels), "operators": table_of("operators", operators)})

    result = build(diff, span(2), span(3))
    assert result.data["shown"] == "mean"
    assert [result.data[side]["step_count"] for side in ("baseline", "experimental")] == [2, 3]
    for name, time in (("kernels", 6), ("operators", 3)):
        table = result.tables[name].table
        kind = "" if name == "kernels" else "_host_self"
        assert table.ints(f"baseline{kind}_ns").tolist() == table.ints(f"experimental{kind}_ns").tolist() == [time]
        assert table.floats("baseline_calls").tolist() == table.floats("experimental_calls").tolist() == [1.0]
    assert build(diff, span(3), span(3)).data["shown"] == "mean"


def test_diff_without_marks_of_steps_is_of_whole_captures() -> None:
    marked, bare = (
        table_of("kernels", [{"step": step, "name": "k", "start_ns": at, "dur_ns": 6} for step, at in rows])
        for rows in ([("1", 0), ("2", 10)], [(None, 0), (None, 9)])
    )

    result = build(diff, TestSpan({"kernels": marked}), TestSpan({"kernels": bare}))

    assert [(step["id"], step["baseline_ns"], step["experimental_ns"]) for step in result.data["steps"]] == [
        ("*", 16, 15)
    ]
    assert result.tables["kernels"].table.ints("experimental_ns").tolist() == [12]


def test_diff_of_budgets_alone() -> None:
    """Without kernels the step still has its parts."""
    rows = [{"step": "1", "computing": 5, "communication_not_overlapped": 2, "free": 1, "bubble": 0}]
    span = TestSpan({"step_trace": table_of("step_trace", rows), "operators": table_of("operators", [{"name": "a"}])})

    (step,) = build(diff, span, span).data["steps"]

    assert [(entry["id"], entry["baseline_ns"]) for entry in step["classes"]] == [
        ("computing", 5),
        ("communication", 2),
        ("idle", 1),
    ]
    assert step["baseline_ns"] == 8


def test_diff_kernels_of_a_step() -> None:
    span = TestSpan({"kernels": KERNELS})

    assert build(diff, span, span, step="2").tables["kernels"].table.ints("baseline_ns").tolist() == [30]
    assert build(diff, span, span).tables["kernels"].table.ints("baseline_ns").tolist() == [10]
    with pytest.raises(BadRequest):
        build(diff, span, span, step="3")
