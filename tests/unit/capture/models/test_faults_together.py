"""All faults at once, of both frameworks, as text and as database: what the product shows of each is what was put in."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import stages_of
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.oracle.shown import Shown, rows_of
from tests.unit.store.results import settle

SLOW, PAUSED, LATE, LINK = 2, 1, 3, (1, 3)
ALL = (
    f"slow-rank:{SLOW}:1.6",
    f"slow-link:{LINK[0]}-{LINK[1]}:5",
    f"gc-pause:{PAUSED}:30",
    f"slow-loader:{LATE}:40",
    "ai-cpu",
    "memory-leak:3",
    "dynamic-shapes",
    "fragmentation",
)
FORMS = [("torch", "text"), ("torch", "db"), ("mindspore", "text"), ("mindspore", "db")]


@cache
def opened(root: Path, framework: str, form: str) -> tuple[list[Span], dict[str, Any]]:
    """The four ranks as the product reads them, and the truth."""
    logs, options = root / framework / form, Options(level=2, export=(form,), gc_threshold=0.0)
    recipe = Recipe(
        "tiny", 4, steps=2, sizes=Sizes(hidden=512, sequence=512), faults=ALL, options=options, framework=framework
    )
    truth = write_run(recipe, logs, jobs=1)
    settle(logs)
    library = Library(Watcher({"": logs}, background=False), Cache(root / "cache"), workers=1)
    try:
        library.watcher.update()
        places = library.scan().places()
        for stage in stages_of(places[0].span):
            library.read(places, [stage])
        spans = [
            Span(place, *(library.status(place, stage).entry for stage in ("tables", "trace"))) for place in places
        ]
    finally:
        library.close()
    return sorted(spans, key=lambda span: span.capture.rank or 0), truth


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def shown(view: str, spans: list[Span]) -> Shown:
    built = next(entry for entry in VIEWS if entry.id == view).build(ViewInput([*spans], {}))
    return Shown(built.data, {name: rows_of(table.table) for name, table in built.tables.items()}, built.base_ns)


@pytest.fixture(params=FORMS, ids="-".join)
def result(request: pytest.FixtureRequest, root: Path) -> tuple[str, str, list[Span], dict[str, Any]]:
    framework, form = request.param
    return framework, form, *opened(root, framework, form)


#: The databases of MindSpore hold no steps.
@pytest.fixture(params=[form for form in FORMS if form != ("mindspore", "db")], ids="-".join)
def with_steps(request: pytest.FixtureRequest, root: Path) -> tuple[list[Span], dict[str, Any]]:
    framework, form = request.param
    return opened(root, framework, form)


def of_last_step(spans: list[Span], truth: dict[str, Any], key: str) -> dict[int, int]:
    step = str(truth["steps"][-1])
    return {
        budget["rank"]: budget[key] for budget in shown("distributed", spans).data["budgets"] if budget["step"] == step
    }


def test_all_faults_are_there() -> None:
    assert {fault.partition(":")[0] for fault in ALL} == set(FAULTS)


def test_the_slow_rank_computes_longest(with_steps: Any) -> None:
    spans, truth = with_steps
    computing = of_last_step(spans, truth, "computing")
    assert computing == {rank: truth["ranks"][str(rank)]["computing"][-1] for rank in range(4)}
    assert computing[SLOW] / median(ns for rank, ns in computing.items() if rank != SLOW) == pytest.approx(
        1.6, rel=0.05
    )


def test_the_slow_link_has_the_lowest_bandwidth(result: Any) -> None:
    speed: dict[tuple[int, int], float] = {}
    for link in shown("distributed", result[2]).data["links"]:
        if link["transport"] == "HCCS":
            pair = link["src_rank"], link["dst_rank"]
            speed[pair] = min(speed.get(pair, 1e9), link["bandwidth"])
    slow = {LINK, LINK[::-1]}
    assert len(speed) == 12 and set(sorted(speed, key=lambda pair: speed[pair])[:2]) == slow
    rest = median(figure for pair, figure in speed.items() if pair not in slow)
    assert all(rest / speed[pair] == pytest.approx(5, rel=0.15) for pair in slow)


def test_the_slow_loader_begins_late(with_steps: Any) -> None:
    spans, truth = with_steps
    preparing = of_last_step(spans, truth, "preparing")
    for rank, ns in preparing.items():
        assert (36_000_000 < ns < 46_000_000) == (rank == LATE), preparing


def test_pauses_of_the_collector_are_in_the_trace(result: Any) -> None:
    framework, _, spans, truth = result
    processes = [json.dumps(shown("trace", [span]).data["processes"]) for span in spans]
    # MindSpore's profiler does not see Python's collector
    paused = [rank for rank, text in enumerate(processes) if "Python GC" in text]
    assert paused == ([PAUSED] if framework == "torch" else [])
    assert all(27_000_000 < pause < 33_000_000 for pause in truth["ranks"][str(PAUSED)]["pauses"])


def test_ai_cpu_kernels_take_what_was_put_in(result: Any) -> None:
    _, _, spans, truth = result
    for rank, span in enumerate(spans):
        rows = [row for row in shown("kernel", [span]).tables["all"] if row["core"] == "AI_CPU"]
        assert sum(row["dur_ns"] for row in rows) == sum(truth["ranks"][str(rank)]["ai_cpu"]) > 0


def test_shapes_change_with_the_sizes_of_the_input(result: Any) -> None:
    _, _, spans, truth = result
    first, second = truth["sizes"]
    assert first != second
    norms = [
        row
        for row in shown("kernel", [spans[0]]).tables["all"]
        if row["name"].endswith("RmsNorm") or row["type"] == "RmsNorm"
    ]
    tokens = {int(re.match(r"\W*(\d+)", row["input_shapes"])[1]) for row in norms}  # type: ignore[index]
    assert tokens == {first, second}


def test_memory_leaks_and_is_in_pieces(with_steps: Any) -> None:
    spans, truth = with_steps
    for rank, span in enumerate(spans):
        facts = truth["ranks"][str(rank)]
        assert facts["allocated"][1] - facts["allocated"][0] == (3 << 20) + 512  # 32 bytes more, in multiples of 512
        memory = shown("memory", [span])
        held = [
            row
            for row in memory.tables["allocations"]
            if row["size_bytes"] == (3 << 20) + 512 and row["release_ns"] is None
        ]
        assert len(held) == 2
        curve = next(curve for curve in memory.data["curves"] if curve["component"] in ("PTA", "MindSpore"))
        assert (curve["allocated"][-1], curve["reserved"][-1]) == (facts["allocated"][1], facts["reserved"][1])
        assert facts["allocated"][1] < facts["reserved"][1] / 2
