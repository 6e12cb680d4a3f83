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
        ("1", "7"),
        ("2", "8"),
        (None, None),
        (None, None),
    ]
    assert [step["id"] for step in data["steps"]] == ["1", "2", "mean", "*"]
    computing = [
        sum(entry["baseline_ns"] for entry in step["classes"] if entry["id"] != "idle") for step in data["steps"]
    ]
    assert computing == [10, 30, 23, 45]  # 45 / 2 steps, to the ns


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
    whole = build(diff, span(2), span(3), step="*")
    assert whole.data["shown"] == "*"
    assert whole.tables["kernels"].table.ints("experimental_ns").tolist() == [18]
    assert build(diff, span(3), span(3)).data["shown"] == "*"


def test_diff_kernels_of_a_step() -> None:
    span = TestSpan({"kernels": KERNELS})

    assert build(diff, span, span, step="2").tables["kernels"].table.ints("baseline_ns").tolist() == [30]
    assert build(diff, span, span).tables["kernels"].table.ints("baseline_ns").tolist() == [40, 5]
    with pytest.raises(BadRequest):
        build(diff, span, span, step="3")
