"""Known truth of pipelines whose stages have one rank each: what Distributed tells the slow one by."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.dialect import Options
from tests.oracle.shown import show
from tests.support.mock import rank_folder, written

STAGES, SLOW = 4, 2


def last_step(*faults: str, seed: int = 0, framework: str = "torch") -> dict[int, dict[str, Any]]:
    """Budgets of the last step by rank."""
    recipe = Recipe(
        "tiny",
        STAGES,
        pp=STAGES,
        steps=2,
        sizes=Sizes(layers=4),
        faults=faults,
        seed=seed,
        framework=framework,
        options=Options(memory=False, stack=False, gc_threshold=0.0),
    )
    folder, truth = written(recipe)
    budgets = show("distributed", *(rank_folder(folder, rank) for rank in range(STAGES))).data["budgets"]
    return {budget["rank"]: budget for budget in budgets if budget["step"] == str(truth["steps"][-1])}


def ratios(budgets: dict[int, dict[str, Any]]) -> list[float]:
    return [budgets[rank]["same_kernels"] / budgets[rank]["same_kernels_expected"] for rank in range(STAGES)]


@pytest.mark.parametrize("framework", ["torch", pytest.param("mindspore", marks=pytest.mark.full)])
def test_a_slow_stage_takes_longer_for_the_kernels_that_others_run_too(framework: str) -> None:
    budgets = last_step(f"slow-rank:{SLOW}:1.5", framework=framework)
    for rank, ratio in enumerate(ratios(budgets)):
        assert ratio == pytest.approx(1.5 if rank == SLOW else 1, rel=0.04)
        assert budgets[rank]["same_kernels"] > budgets[rank]["computing"] / 2


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
def test_healthy_stages_take_the_same_for_the_same_kernels_and_idle_alike(seed: int) -> None:
    budgets = last_step(seed=seed)
    assert ratios(budgets) == pytest.approx([1] * STAGES, rel=0.04)
    whole = max(one["computing"] + one["communication_not_overlapped"] + one["free"] for one in budgets.values())
    idle = [one["idle_at_once"] for one in budgets.values()]
    assert max(idle) - min(idle) < 0.05 * whole
    # Stages do not compute alike, so that their computing time tells nothing: the last one has the head.
    assert budgets[STAGES - 1]["computing"] > 1.1 * budgets[1]["computing"]


@pytest.mark.parametrize("fault", ["gc-pause", pytest.param("slow-loader", marks=pytest.mark.full)])
def test_while_a_stage_pauses_nothing_runs_on_it_and_all_others_communicate(fault: str) -> None:
    budgets = last_step(f"{fault}:{SLOW}:20")
    assert budgets[SLOW]["idle_at_once"] == pytest.approx(20_000_000, rel=0.2)
    for rank in {0, 1, 3}:
        assert budgets[rank]["idle_at_once"] < 1_000_000
        assert budgets[rank]["longest_communication"] > 15_000_000
    assert ratios(budgets) == pytest.approx([1] * STAGES, rel=0.04)
