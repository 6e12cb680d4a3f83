"""Known truth: what the views show of a fault is what was put in."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.dialect import Options
from tests.oracle.raw import Raw
from tests.oracle.shown import Shown, show
from tests.support.mock import rank_folder, run, written

PLAIN = Options(memory=False, stack=False)


def distributed(recipe: Recipe) -> tuple[Shown, dict[str, Any]]:
    folder, truth = written(recipe)
    return show("distributed", *(rank_folder(folder, rank) for rank in range(recipe.ranks))), truth


def of_step(shown: Shown, step: str, key: str) -> dict[int, int]:
    return {budget["rank"]: budget[key] for budget in shown.data["budgets"] if budget["step"] == step}


def test_dynamic_shapes_compile_in_every_step_that_brings_new_ones() -> None:
    _, truth = run("dynamic_shapes")
    assert all(count > 10 for count in truth["ranks"]["1"]["compiles"])
    (result,) = run("dynamic_shapes")[0].glob("*_ascend_pt")
    calls = [event for event in Raw(result).process("CANN") if event["name"] == "AscendCL@opCompile"]
    assert len(calls) == sum(truth["ranks"]["1"]["compiles"])
    assert sum(event["dur"] for event in calls) * 1000 == pytest.approx(sum(truth["ranks"]["1"]["compile"]), rel=0.01)
    assert sum(run("resnet")[1]["ranks"]["0"]["compiles"]) == 0


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe("tiny", ranks=2, steps=1, seed=5, options=Options(level=2, l2_cache=True)),
        Recipe("tiny", steps=2, seed=5, options=Options(level=2, l2_cache=True, export=("text", "db"))),
        Recipe("tiny", steps=2, seed=5, framework="mindspore"),
    ],
    ids=["two ranks", "one rank: its trace in another process", "one rank of MindSpore"],
)
def test_the_same_recipe_writes_the_same_bytes(tmp_path: Path, recipe: Recipe) -> None:
    from tb_npu_plugin.capture.models.run import write_run

    contents = []
    for name, jobs in (("a", 1), ("b", 2)):
        write_run(recipe, tmp_path / name, jobs=jobs)
        contents.append(
            {
                path.relative_to(tmp_path / name): path.read_bytes()
                for path in (tmp_path / name).rglob("*")
                if path.is_file()
            }
        )
    assert contents[0] == contents[1]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_stages_of_a_healthy_pipeline_differ_and_their_ranks_do_not(seed: int) -> None:
    """What the page says of ranks (frontend/src/base/outlier.ts) rests on it: 10 % above the median of the stage."""
    shown, truth = distributed(Recipe("tiny", 8, pp=2, steps=1, seed=seed, options=PLAIN))
    stages = {state["rank"]: state["pipeline_stage"] for state in shown.data["ranks"]}
    assert stages == {rank: 1 + rank // 4 for rank in range(8)}
    computing = of_step(shown, str(truth["steps"][0]), "computing")
    assert max(computing.values()) > 1.1 * median(computing.values())
    for stage in (1, 2):
        peers = [ns for rank, ns in computing.items() if stages[rank] == stage]
        assert max(peers) < 1.05 * median(peers)


@pytest.mark.parametrize("pp", [4, pytest.param(2, marks=pytest.mark.full)])
def test_the_stage_of_each_rank_is_known(pp: int) -> None:
    """Of more than two stages, ranks have groups of two beside the one of their pipeline: those tell no stage."""
    shown, _ = distributed(Recipe("tiny", 2 * pp, pp=pp, steps=1, sizes=Sizes(layers=4), options=PLAIN))
    assert [state["pipeline_stage"] for state in shown.data["ranks"]] == [1 + rank // 2 for rank in range(2 * pp)]


@pytest.mark.parametrize(("tp", "pp"), [pytest.param(4, 1, marks=pytest.mark.full), (2, 2)])
def test_no_rank_of_a_healthy_run_waits_long(tp: int, pp: int) -> None:
    """The limit of Distributed (frontend/src/views/distributed/ranks.ts): 5 % of a step at one collective. The sum over the
    collectives says nothing where launching takes the time: it was above the limit for it, and a healthy rank was named."""
    worst = 0.0
    for seed in range(2):
        recipe = Recipe("tiny", tp * pp * pp, tp=tp, pp=pp, steps=2, seed=seed, sizes=Sizes(layers=4), options=PLAIN)
        shown, truth = distributed(recipe)
        for step in map(str, truth["steps"]):
            late, communicated, computing, free = (
                of_step(shown, step, key) for key in ("late", "communication_not_overlapped", "computing", "free")
            )
            whole = max(communicated[rank] + computing[rank] + free[rank] for rank in late)
            assert max(late.values()) < 0.05 * whole
            first, second = sorted(communicated.values())[:2]
            worst = max(worst, (second - first) / whole)
    assert worst > 0.1 or pp > 1


@pytest.mark.parametrize(
    ("tp", "pp", "ms"),
    [
        (1, 1, 40),
        pytest.param(4, 1, 3, marks=pytest.mark.full),
        (2, 2, 3),
        pytest.param(2, 2, 40, marks=pytest.mark.full),
    ],
)
def test_the_longest_wait_for_a_rank_is_what_its_loader_took_longer(tp: int, pp: int, ms: int) -> None:
    """Within the 0.3 ms that healthy hosts are apart."""
    recipe = Recipe(
        "tiny",
        max(4, tp * pp * pp),
        tp=tp,
        pp=pp,
        steps=1,
        sizes=Sizes(layers=4),
        options=PLAIN,
        faults=(f"slow-loader:1:{ms}",),
    )
    shown, truth = distributed(recipe)
    late = of_step(shown, str(truth["steps"][0]), "late")
    loading = {rank: facts["loading"][0] for rank, facts in truth["ranks"].items()}
    longer = loading.pop("1") - max(loading.values())
    assert late[1] == pytest.approx(longer, abs=300_000) and longer == pytest.approx(ms * 1_000_000, rel=0.2)
    communicated = of_step(shown, str(truth["steps"][0]), "communication_not_overlapped")
    stage = [rank for rank in communicated if rank // (recipe.ranks // pp) == 0]
    assert min(stage, key=lambda rank: communicated[rank]) == 1


def test_a_slow_link_is_the_slowest_of_those_that_move_as_much() -> None:
    """What Distributed compares (frontend/src/views/distributed/slow_link.ts): links of tensor parallel groups send smaller
    pieces, so that the healthy ones among them are slower than the slow link of a data parallel group."""
    sizes = Sizes(layers=4)
    shown, _ = distributed(Recipe("tiny", 8, tp=2, steps=1, sizes=sizes, faults=("slow-link:1-3:1.5",), options=PLAIN))
    found: dict[int, dict[tuple[int, int], float]] = {}
    for link in shown.data["links"]:
        if link["transport"] == "HCCS":
            by_size = found.setdefault(round(link["size_bytes"] / 500_000), {})
            by_size[link["src_rank"], link["dst_rank"]] = link["bandwidth"]
    alike = next(speed for speed in found.values() if (1, 3) in speed and len(speed) > 4)
    slow = {alike.pop((1, 3)), alike.pop((3, 1))}
    assert all(median(alike.values()) / bandwidth == pytest.approx(1.5, rel=0.1) for bandwidth in slow)
    assert min(speed for group in found.values() for speed in group.values()) < min(slow)


@pytest.mark.parametrize("tp", [1, pytest.param(4, marks=pytest.mark.full)])
def test_a_pause_of_the_collector_holds_up_the_step_that_it_is_in(tp: int) -> None:
    """In the first recorded step, too, which the page shows first: it came behind the last collective of its step."""
    recipe = Recipe("tiny", 4, tp=tp, steps=2, sizes=Sizes(layers=4), faults=("gc-pause:2:10",), options=PLAIN)
    shown, truth = distributed(recipe)
    for step in map(str, truth["steps"]):
        communicated, late = (of_step(shown, step, key) for key in ("communication_not_overlapped", "late"))
        assert min(communicated, key=lambda rank: communicated[rank]) == 2
        assert late[2] == max(late.values()) > 5_000_000


@pytest.mark.parametrize("model", ["tiny", pytest.param("resnet50", marks=pytest.mark.full)])
def test_fragmentation_shows_at_the_peak_of_the_allocators(model: str) -> None:
    """It was made in the first step by blocks that were the peak themselves, so that Memory said 0 % of it."""
    sizes = Sizes(layers=4, batch=8) if model == "resnet50" else Sizes(hidden=512, sequence=512)
    healthy, broken = (
        show("memory", rank_folder(written(Recipe(model, steps=1, sizes=sizes, faults=faults))[0], 0)).data
        for faults in ((), ("fragmentation",))
    )
    assert broken["fragmentation_at_peak"] > healthy["fragmentation_at_peak"] + 0.1
