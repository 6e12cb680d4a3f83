"""Known truth of databases that lack steps (MindSpore's) or communication (torch_npu's, without analysis.db): what Distributed
tells late ranks by is still there. frontend/tests/views/slow_ranks.test.ts has the rules."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.run.budgets import budgets_of_ranks
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.dialect import Options
from tests.support.span import found_spans

RANKS, STEPS, LATE, MS = 4, 10, (1, 2), 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("late")


@cache
def budgets(root: Path, framework: str, *faults: str) -> list[dict[str, Any]]:
    logs = root / framework / str(len(faults))
    recipe = Recipe(
        "tiny",
        RANKS,
        steps=STEPS,
        sizes=Sizes(layers=4),
        faults=faults,
        framework=framework,
        options=Options(memory=False, stack=False, export=("db",), gc_threshold=0.0),
    )
    write_run(recipe, logs, jobs=1)
    for path in logs.rglob("analysis.db"):
        path.unlink()
    return [vars(budget) for budget in budgets_of_ranks(found_spans(logs))]


def whole(found: list[dict[str, Any]]) -> int:
    return max(one["computing"] + one["communication_not_overlapped"] + one["free"] for one in found)


def test_pauses_that_come_back_in_each_step_stand_out_in_a_capture_without_steps(root: Path) -> None:
    """Cause: each pause was compared with the whole capture, so that no rule named the ranks."""
    found = budgets(root, "mindspore", *(f"gc-pause:{rank}:{MS}" for rank in LATE))
    assert {one["step"] for one in found} == {None} and {one["repeats"] for one in found} == {STEPS}
    step = whole(found) / STEPS
    assert 0.1 * whole(found) > MS * 1_000_000
    for one in found:
        assert (one["idle_at_once"] > 0.1 * step) == (one["rank"] in LATE)
        if one["rank"] not in LATE:
            assert one["longest_communication"] > 0.5 * MS * 1_000_000


def test_nothing_comes_back_in_healthy_captures_without_steps(root: Path) -> None:
    found = budgets(root, "mindspore")
    assert {one["repeats"] for one in found} == {STEPS}
    idle = sorted(one["idle_at_once"] or 0 for one in found)
    assert idle[-1] - idle[0] < 0.05 * whole(found) / STEPS


def test_communication_of_the_kernels_shows_who_was_waited_for_where_no_file_does(root: Path) -> None:
    for number in range(STEPS):
        found = [one for one in budgets(root, "torch", f"slow-loader:1:{MS}") if one["step"] == str(11 + number)]
        late = {one["rank"]: one["late"] for one in found}
        assert len(found) == RANKS and all(one["elapse"] is one["repeats"] is None for one in found)
        assert late.pop(1) > 0.8 * MS * 1_000_000 > 20 * max(late.values())
        if number:  # what was before the first step is not known
            idle = {one["rank"]: one["idle_at_once"] for one in found}
            assert idle[1] > 0.8 * MS * 1_000_000 > 8 * max(idle[rank] for rank in idle if rank != 1)
            assert min(one["longest_communication"] for one in found if one["rank"] != 1) > 0.5 * MS * 1_000_000
