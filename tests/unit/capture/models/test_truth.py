"""Known truth: what the views show of a fault is what was put in."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tb_npu_plugin.analysis.findings import straggler
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.oracle.raw import FULL, Raw
from tests.oracle.shown import show
from tests.support.mock import rank_folder, run, written
from tests.support.real_data import recording
from tests.support.span import found_spans
from tests.unit.store.results import settle

PLAIN = Options(memory=False, stack=False, gc_threshold=0.0)
#: rank -> its budget of a step.
Budgets = dict[int, dict[str, Any]]
MS = 1_000_000


def simulated(*faults: str, ranks: int = 4, **settings: Any) -> tuple[Any, dict[str, Any], list[Budgets]]:
    """Data of Distributed, the truth, and the budgets of each step."""
    recipe = Recipe("tiny", ranks, faults=faults, **{"sizes": Sizes(layers=4), "options": PLAIN, **settings})
    folder, truth = written(recipe)
    data = show("distributed", *(rank_folder(folder, rank) for rank in range(ranks))).data
    return data, truth, by_step(data["budgets"], map(str, truth["steps"]))


def by_step(budgets: Any, steps: Any) -> list[Budgets]:
    return [{budget["rank"]: budget for budget in budgets if budget["step"] == step} for step in steps]


def of(budgets: Budgets, key: str) -> dict[int, int]:
    return {rank: budget[key] for rank, budget in budgets.items()}


def duration(budgets: Budgets) -> int:
    parts = ("computing", "communication_not_overlapped", "free")
    return max(sum(budget[part] for part in parts) for budget in budgets.values())


def test_dynamic_shapes_compile_in_every_step_that_brings_new_ones() -> None:
    folder, truth = run("dynamic_shapes")
    facts = truth["ranks"]["1"]
    assert all(count > 10 for count in facts["compiles"])
    calls = [event for event in Raw(rank_folder(folder, 1)).process("CANN") if event["name"] == "AscendCL@opCompile"]
    assert len(calls) == sum(facts["compiles"])
    assert sum(event["dur"] for event in calls) * 1000 == pytest.approx(sum(facts["compile"]), rel=0.01)
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
    """By however many processes. Cause: that of the trace once opened kernel_details.csv, too, and its rows were gone."""
    contents = []
    for jobs in (1, 2):
        root = tmp_path / str(jobs)
        write_run(recipe, root, jobs=jobs)
        contents.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()})
    assert contents[0] == contents[1]


def test_fragmentation_shows_at_the_peak_of_the_allocators() -> None:
    """It was made in the first step by blocks that were the peak themselves, so that Memory said 0 % of it."""
    healthy, broken = (
        show("memory", rank_folder(written(Recipe("tiny", steps=1, sizes=sizes, faults=faults))[0], 0)).data
        for sizes in [Sizes(hidden=512, sequence=512)]
        for faults in ((), ("fragmentation",))
    )
    assert broken["fragmentation_at_peak"] > healthy["fragmentation_at_peak"] + 0.1


# -- healthy runs: what the page says of ranks rests on it ------------------------------------------
def test_stages_of_a_healthy_pipeline_differ_and_their_ranks_do_not() -> None:
    """analysis/findings/outliers.py: 10 % above the median of the stage."""
    data, _, (budgets,) = simulated(ranks=8, pp=2, steps=1, sizes=Sizes())
    stages = {state["rank"]: state["pipeline_stage"] for state in data["ranks"]}
    assert stages == {rank: 1 + rank // 4 for rank in range(8)}
    computing = of(budgets, "computing")
    assert max(computing.values()) > 1.1 * median(computing.values())
    for stage in (1, 2):
        peers = [ns for rank, ns in computing.items() if stages[rank] == stage]
        assert max(peers) < 1.05 * median(peers)


@pytest.mark.parametrize(("tp", "pp"), [pytest.param(4, 1, marks=FULL), (2, 2)])
def test_ranks_of_a_healthy_run_communicate_for_different_times(tp: int, pp: int) -> None:
    worst = 0.0
    for seed in range(2):
        for budgets in simulated(ranks=tp * pp * pp, tp=tp, pp=pp, steps=2, seed=seed)[2]:
            first, second = sorted(of(budgets, "communication_not_overlapped").values())[:2]
            worst = max(worst, (second - first) / duration(budgets))
    assert worst > 0.1 or pp > 1


# -- who is waited for ------------------------------------------------------------------------------
@pytest.mark.parametrize(("tp", "pp", "ms"), [(1, 1, 40), (2, 2, 3), pytest.param(4, 1, 3, marks=FULL)])
def test_the_rank_whose_loader_takes_longer_communicates_shortest(tp: int, pp: int, ms: int) -> None:
    ranks = max(4, tp * pp * pp)
    _, truth, (budgets,) = simulated(f"slow-loader:1:{ms}", ranks=ranks, tp=tp, pp=pp, steps=1)
    loading = {rank: facts["loading"][0] for rank, facts in truth["ranks"].items()}
    longer = loading.pop("1") - max(loading.values())
    assert longer == pytest.approx(ms * MS, rel=0.2)
    communicated = of(budgets, "communication_not_overlapped")
    stage = [rank for rank in communicated if rank // (ranks // pp) == 0]
    assert min(stage, key=lambda rank: communicated[rank]) == 1


@pytest.mark.parametrize("tp", [1, pytest.param(4, marks=FULL)])
def test_a_pause_of_the_collector_holds_up_the_step_that_it_is_in(tp: int) -> None:
    """In the first recorded step, too, which the page shows first: it came behind the last collective of its step."""
    for budgets in simulated("gc-pause:2:10", tp=tp, steps=2)[2]:
        communicated = of(budgets, "communication_not_overlapped")
        assert min(communicated, key=lambda rank: communicated[rank]) == 2


def test_a_slow_link_is_the_slowest_of_those_that_move_as_much() -> None:
    """What analysis/findings/slow_link.py compares: links of tensor parallel groups send smaller
    pieces, so that the healthy ones among them are slower than the slow link of a data parallel group."""
    data, *_ = simulated("slow-link:1-3:1.5", ranks=8, tp=2, steps=1)
    found: dict[int, dict[tuple[int, int], float]] = {}
    for link in data["links"]:
        if link["transport"] == "HCCS":
            by_size = found.setdefault(round(link["size_bytes"] / 500_000), {})
            by_size[link["src_rank"], link["dst_rank"]] = link["bandwidth"]
    alike = next(speed for speed in found.values() if (1, 3) in speed and len(speed) > 4)
    slow = {alike.pop((1, 3)), alike.pop((3, 1))}
    assert all(median(alike.values()) / bandwidth == pytest.approx(1.5, rel=0.1) for bandwidth in slow)
    assert min(speed for group in found.values() for speed in group.values()) < min(slow)


# -- pipelines whose stages have one rank each ------------------------------------------------------
def last_step(*faults: str, **settings: Any) -> Budgets:
    return simulated(*faults, pp=4, steps=2, **settings)[2][-1]


def ratios(budgets: Budgets) -> list[float]:
    return [budgets[rank]["same_kernels"] / budgets[rank]["same_kernels_expected"] for rank in range(4)]


@pytest.mark.parametrize("framework", ["torch", pytest.param("mindspore", marks=FULL)])
def test_a_slow_stage_takes_longer_for_the_kernels_that_others_run_too(framework: str) -> None:
    budgets = last_step("slow-rank:2:1.5", framework=framework)
    assert ratios(budgets) == pytest.approx([1, 1, 1.5, 1], rel=0.04)
    assert all(budget["same_kernels"] > budget["computing"] / 2 for budget in budgets.values())


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=FULL)])
def test_healthy_stages_take_the_same_for_the_same_kernels(seed: int) -> None:
    budgets = last_step(seed=seed)
    assert ratios(budgets) == pytest.approx([1] * 4, rel=0.04)
    # Stages do not compute alike, so that their computing time tells nothing: the last one has the head.
    assert budgets[3]["computing"] > 1.1 * budgets[1]["computing"]


# -- databases that lack steps (MindSpore's) or communication (torch_npu's, without analysis.db) ----
STEPS = 10


def of_databases(framework: str, *faults: str) -> RunData:
    options = Options(memory=False, stack=False, export=("db",), gc_threshold=0.0)
    sizes = Sizes(layers=4)
    folder, _ = written(
        Recipe("tiny", 4, steps=STEPS, sizes=sizes, faults=faults, framework=framework, options=options)
    )
    for path in folder.rglob("analysis.db"):
        path.unlink()
    return RunData(found_spans(folder))


def test_pauses_that_come_back_in_each_step_stand_out_in_a_capture_without_steps() -> None:
    """Cause: each pause was compared with the whole capture, so that no rule named the ranks."""
    run = of_databases("mindspore", "gc-pause:1:10", "gc-pause:2:10")
    assert {one.step for one in run.budgets} == {None} and run.step_count == STEPS
    assert set(run.judgement.culprits) in ({1}, {2}, {1, 2})
    assert not of_databases("mindspore").judgement.culprits


def test_communication_of_the_kernels_shows_who_was_waited_for_where_no_file_does() -> None:
    run = of_databases("torch", "slow-loader:1:10")
    assert all(one.elapse is one.repeats is None for one in run.budgets)
    assert run.judgement.culprits == (1,)
    (found,) = straggler.find(run)
    assert found.subject.rank == 1 and 8 * MS < found.cost_ns < 12 * MS


# -- runs of which some ranks were recorded only ----------------------------------------------------
def late_peers(logs: Path, cache: Path) -> list[dict[str, Any]]:
    """Those of Distributed when the traces are read, too."""
    library = Library(Watcher({"": logs}, background=False), Cache(cache), workers=1)
    try:
        library.watcher.update()
        places = library.scan().places()
        service, asked, answers = Service(library, for_page=False), {"run": places[0].run.token}, []
        for stage in ("tables", "trace"):
            library.read(places, [stage])
            answers.append(service.view("distributed", asked))
    finally:
        library.close()
    before, after = answers
    assert before["fingerprint"] != after["fingerprint"] and before["data"] and after["data"]
    found: list[dict[str, Any]] = dict(after["data"])["late_peers"]
    assert dict(before["data"])["late_peers"] == []
    return found


@pytest.mark.parametrize(
    ("paused", "form", "peers"), [(3, "text", {3}), pytest.param(3, "db", {3}, marks=FULL), (2, "text", set())]
)
def test_the_waits_of_others_name_a_rank_that_was_not_recorded(
    tmp_path: Path, paused: int, form: str, peers: set[int]
) -> None:
    options = Options(memory=False, stack=False, export=(form,), gc_threshold=0.0)
    faults = (f"gc-pause:{paused}:20",)
    recipe = Recipe("tiny", 4, steps=2, sizes=Sizes(layers=2), faults=faults, only=(0, 2), options=options)
    write_run(recipe, tmp_path / "logs", jobs=1)
    settle(tmp_path / "logs")
    long = [one for one in late_peers(tmp_path / "logs", tmp_path / "cache") if one["wait"] > 5 * MS]
    assert {one["peer_rank"] for one in long} == peers
    if peers:
        assert {one["step"] for one in long} == {"11", "12"}
        assert all(15 * MS < max(one["wait"] for one in long if one["rank"] == rank) < 25 * MS for rank in (0, 2))


@pytest.mark.parametrize(("form", "peer", "total"), [("text", 5, 101_684_000), ("db", 6, 97_651_000)])
def test_two_of_eight_real_ranks_name_the_late_one(tmp_path: Path, form: str, peer: int, total: int) -> None:
    """docs/facts/analysis.md, Waiting for peers: at rank 0, in all."""
    found = late_peers(recording(f"ascend_pt_{form}_level1"), tmp_path)
    assert {one["peer_rank"] for one in found} == {peer}
    assert sum(one["total"] for one in found if one["rank"] == 0) == pytest.approx(total, abs=5_000)
