"""Many faults at once, of both frameworks, as text and as database: what the product shows of each is what was put in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import find_view
from tests.oracle.shown import Shown, rows_of
from tests.support.invariants import tables
from tests.support.mock import rank_folder, written
from tests.support.span import TestSpan, found_spans

SLOW, PAUSED, LATE, LINK, LEAK = 2, 1, 3, (1, 3), 3 << 20
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


class Result(NamedTuple):
    """The four ranks as the product reads them, and the truth."""

    framework: str
    form: str
    folder: Path
    spans: list[TestSpan]
    truth: dict[str, Any]

    def of_last_step(self, key: str) -> dict[int, int]:
        budgets = shown("distributed", *self.spans).data["budgets"]
        return {budget["rank"]: budget[key] for budget in budgets if budget["step"] == str(self.truth["steps"][-1])}


@cache
def opened(framework: str, form: str) -> Result:
    assert {fault.partition(":")[0] for fault in ALL} <= set(FAULTS)
    options = Options(level=2, export=(form,), gc_threshold=0.0)
    sizes = Sizes(hidden=512, sequence=512)
    folder, truth = written(Recipe("tiny", 4, steps=2, sizes=sizes, faults=ALL, options=options, framework=framework))
    spans = sorted(found_spans(folder), key=lambda span: span.capture.rank or 0)
    return Result(framework, form, folder, spans, truth)


def shown(view: str, *spans: TestSpan) -> Shown:
    built = find_view(view).build(ViewInput([*spans], {}))
    return Shown(built.data, {name: rows_of(table.table) for name, table in built.tables.items()}, built.base_ns)


@pytest.fixture(params=FORMS, ids="-".join)
def result(request: pytest.FixtureRequest) -> Result:
    return opened(*request.param)


#: The databases of MindSpore hold no steps.
@pytest.fixture(params=FORMS[:3], ids="-".join)
def with_steps(request: pytest.FixtureRequest) -> Result:
    return opened(*request.param)


def test_the_slow_rank_computes_longest(with_steps: Result) -> None:
    computing = with_steps.of_last_step("computing")
    assert computing == {rank: with_steps.truth["ranks"][str(rank)]["computing"][-1] for rank in range(4)}
    others = median(ns for rank, ns in computing.items() if rank != SLOW)
    assert computing[SLOW] / others == pytest.approx(1.6, rel=0.05)


def test_the_slow_link_has_the_lowest_bandwidth(result: Result) -> None:
    speed: dict[tuple[int, int], float] = {}
    for link in shown("distributed", *result.spans).data["links"]:
        if link["transport"] == "HCCS":
            pair = link["src_rank"], link["dst_rank"]
            speed[pair] = min(speed.get(pair, 1e9), link["bandwidth"])
    slow = {LINK, LINK[::-1]}
    assert len(speed) == 12 and set(sorted(speed, key=lambda pair: speed[pair])[:2]) == slow
    rest = median(figure for pair, figure in speed.items() if pair not in slow)
    assert all(rest / speed[pair] == pytest.approx(5, rel=0.15) for pair in slow)


def test_the_slow_loader_begins_late(with_steps: Result) -> None:
    preparing = with_steps.of_last_step("preparing")
    assert [rank for rank, ns in preparing.items() if 36_000_000 < ns < 46_000_000] == [LATE], preparing


def test_pauses_of_the_collector_are_recorded(result: Result) -> None:
    def has_pauses(folder: Path) -> bool:
        if result.form == "db":
            name = f"ascend_*{'pytorch' if result.framework == 'torch' else 'mindspore'}_profiler*.db"
            return "GC_RECORD" in tables(folder, name)
        return '"Python GC"' in (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text()

    # MindSpore's profiler does not see Python's collector
    expected = [PAUSED] if result.framework == "torch" else []
    assert [rank for rank in range(4) if has_pauses(rank_folder(result.folder, rank))] == expected
    assert all(27_000_000 < pause < 33_000_000 for pause in result.truth["ranks"][str(PAUSED)]["pauses"])


def test_ai_cpu_kernels_take_what_was_put_in(result: Result) -> None:
    for rank, span in enumerate(result.spans):
        rows = [row for row in shown("kernel", span).tables["all"] if row["core"] == "AI_CPU"]
        assert sum(row["dur_ns"] for row in rows) == sum(result.truth["ranks"][str(rank)]["ai_cpu"]) > 0


def test_shapes_change_with_the_sizes_of_the_input(result: Result) -> None:
    rows = shown("kernel", result.spans[0]).tables["all"]
    norms = [row["input_shapes"] for row in rows if row["name"].endswith("RmsNorm") or row["type"] == "RmsNorm"]
    first, second = result.truth["sizes"]
    assert first != second and {int(re.findall(r"\d+", shapes)[0]) for shapes in norms} == {first, second}


def test_memory_leaks_and_is_in_pieces(with_steps: Result) -> None:
    for rank, span in enumerate(with_steps.spans):
        (first, last), (_, reserved) = (with_steps.truth["ranks"][str(rank)][key] for key in ("allocated", "reserved"))
        assert last - first == LEAK + 512  # 32 bytes more, in multiples of 512
        memory = shown("memory", span)
        leaked = [row for row in memory.tables["allocations"] if row["size_bytes"] == LEAK + 512]
        assert sum(row["release_ns"] is None for row in leaked) == 2
        curve = next(curve for curve in memory.data["curves"] if curve["component"] in ("PTA", "MindSpore"))
        assert (curve["allocated"][-1], curve["reserved"][-1]) == (last, reserved)
        assert last < reserved / 2
