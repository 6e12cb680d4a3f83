"""Kernel by rank: which rank, compared with whom, and what the figures sum to."""

from __future__ import annotations

from tb_npu_plugin.model import Capture
from tb_npu_plugin.views import kernel_ranks
from tb_npu_plugin.views.base import ViewInput, ViewResult
from tests.support.span import TestSpan, table_of

MS = 1_000_000
#: Two pipeline stages of two ranks each: the second stage computes longer, rank 1 longer than its peer.
TIMES = {0: (10, 4), 1: (15, 6), 2: (40, 4), 3: (41, 4)}


def rank(number: int, times: tuple[int, int], stages: int = 2) -> TestSpan:
    rows = [
        {
            "step": "1",
            "name": kind,
            "type": kind,
            "core": "AI_CORE",
            "input_shapes": shapes,
            "start_ns": 0,
            "dur_ns": ns * MS,
        }
        for kind, shapes, ns in (("MatMulV3", "8,16", times[0]), ("MatMulV3", "4,4", 1), ("Add", "8,16", times[1]))
    ]
    args = {"pipeline_model_parallel_size": stages, "world_size": 4}
    capture = Capture(rank=number, distributed_args=args)
    return TestSpan({"kernels": table_of("kernels", rows)}, capture, token=str(number))


def build(*spans: TestSpan, **params: str) -> ViewResult:
    return kernel_ranks.build(ViewInput(spans, params))


def column(found: ViewResult, key: str) -> list[float]:
    table = found.tables["types"].table
    return (table.floats(key) if key == "factor" else table.ints(key)).tolist()  # type: ignore[no-any-return]


def test_the_slowest_by_the_peers_of_its_stage_is_shown_first() -> None:
    found = build(*(rank(number, times) for number, times in TIMES.items()))
    assert (found.data["of"], found.data["peers"]) == ("1", 1)
    assert (found.data["ns"], found.data["other_ns"], found.data["factor"]) == (22 * MS, 15 * MS, 22 / 15)
    assert found.tables["types"].table.text("type").tolist() == ["MatMulV3", "Add"]
    assert (column(found, "ns"), column(found, "other_ns")) == ([16 * MS, 6 * MS], [11 * MS, 4 * MS])
    assert column(found, "factor") == [16 / 11, 1.5]
    assert sum(column(found, "ns")) == found.data["ns"]


def test_a_chosen_rank_is_compared_with_the_median_of_all_others_without_stages() -> None:
    spans = [rank(number, times, stages=1) for number, times in TIMES.items()]
    found = build(*spans, of="3")
    assert (found.data["of"], found.data["peers"], found.data["other_ns"]) == ("3", 3, 22 * MS)
    assert column(found, "other_ns") == [16 * MS, 4 * MS]
    shapes = kernel_ranks.VIEW.extra_tables["shapes"](ViewInput(spans, {"of": "3"})).table
    assert dict(zip(shapes.text("input_shapes").tolist(), shapes.ints("ns").tolist()))["4,4"] == 1 * MS
    assert sum(shapes.ints("ns").tolist()) == found.data["ns"]


def test_all_kernels_by_one_factor_mean_the_clock() -> None:
    kinds = ("MatMulV3", "Add", "SoftmaxV2")

    def one(number: int, ns: int) -> TestSpan:
        rows = [
            {"step": "1", "name": kind, "type": kind, "core": "AI_CORE", "start_ns": 0, "dur_ns": ns} for kind in kinds
        ]
        return TestSpan({"kernels": table_of("kernels", rows)}, Capture(rank=number), token=str(number))

    found = build(one(0, MS), one(1, MS), one(2, 2 * MS))
    assert found.data["of"] == "2" and "clock" in found.data["text"] and "2.00" in found.data["text"]
    assert build(one(0, MS), one(1, MS)).data["text"] == ""


def test_one_rank_is_not_compared() -> None:
    found = build(rank(0, (10, 4)))
    assert (found.data["of"], found.tables) == (None, {})
    assert len(kernel_ranks.VIEW.extra_tables["shapes"](ViewInput([rank(0, (10, 4))], {})).table) == 0
