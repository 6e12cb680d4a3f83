"""Experts of MoE: the rank whose grouped matrix products take longest, and what must not be called so."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis.findings import expert_imbalance
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.model import Capture
from tb_npu_plugin.views import distributed
from tb_npu_plugin.views.base import ViewInput
from tests.support.span import TestSpan, table_of

MS = 1_000_000
LAYERS = 4


def rank_of(rank: int, before: int, experts: int, waits: str, slower: float = 1.0, first: str = "MatMulV3") -> TestSpan:
    """A rank of two steps. In each layer it runs a matrix product of `before` ms, a dispatch, experts of `experts` ms and a
    combine; the kernel `waits` lasts until 40 ms after the start of the layer, the other one takes 1 ms."""
    kernels: list[dict[str, Any]] = []
    for step in (1, 2):
        for layer in range(LAYERS):
            at = (step * 1000 + layer * 40) * MS
            end = at + 40 * MS

            def add(kind: str, dur: float, step: int = step) -> None:
                nonlocal at
                shapes = {"input_shapes": "8,8", "core": "AI_CORE", "name": kind, "type": kind}
                kernels.append({"step": str(step), **shapes, "start_ns": at, "dur_ns": round(dur)})
                at += round(dur)

            add(first, before * MS * slower)
            add("MoeDistributeDispatchV2", 30 * MS - at % (40 * MS) if waits == "Dispatch" else MS)
            add("GroupedMatmul", experts * MS * slower)
            add("MoeDistributeCombineV2", end - at)
    steps = [
        {"step": str(step), "device_id": rank, "computing": LAYERS * 40 * MS, "free": 0, "stage": LAYERS * 40 * MS}
        | dict.fromkeys(("communication", "communication_not_overlapped", "overlapped", "bubble"), 0)
        for step in (1, 2)
    ]
    tables = {"kernels": table_of("kernels", kernels), "step_trace": table_of("step_trace", steps)}
    return TestSpan(tables, Capture(rank=rank), token=f"s{rank}")


def find(ranks: list[TestSpan]) -> list[tuple[int | None, int, str]]:
    run = RunData(ranks)
    assert expert_imbalance.RULE.missing(run) is None
    return [(one.subject.rank, one.cost_ns, str(one.message)) for one in expert_imbalance.RULE.find(run)]


def test_the_rank_whose_experts_take_longest() -> None:
    ((rank, cost, text),) = find([rank_of(rank, 5, 20 if rank == 2 else 10, "Combine") for rank in range(4)])
    assert (rank, cost) == (2, LAYERS * round(7.5 * MS))  # 20 ms less the mean of 12.5
    assert "80.00 ms per step" in text and "60 %" in text


@pytest.mark.parametrize(
    "ranks",
    [
        [rank_of(rank, 5, 10, "Combine") for rank in range(4)],
        # Late before the dispatch: attention or the host.
        [rank_of(rank, 20 if rank == 2 else 5, 10, "Dispatch", first="GroupedMatmul") for rank in range(4)],
        # All kernels of the rank are slower.
        [rank_of(rank, 10, 10, "Combine", 1.6 if rank == 2 else 1.0) for rank in range(4)],
        [rank_of(2, 5, 20, "Combine")],
    ],
    ids=["equal", "before the dispatch", "a slow rank", "alone"],
)
def test_what_is_no_imbalance_of_experts(ranks: list[TestSpan]) -> None:
    assert find(ranks) == []


def test_experts_by_rank_and_layer() -> None:
    ranks = [rank_of(rank, 5, 20 if rank == 1 else 10, "Combine") for rank in range(2)]
    table = distributed.build(ViewInput(ranks, {})).tables["experts"].table
    rows = list(zip(*(table.data[key].tolist() for key in ("rank", "call", "kernel", "time_ns", "ratio"))))
    assert rows[0] == (0, 1, "GroupedMatmul", 10 * MS, pytest.approx(2 / 3))
    assert rows[-1] == (1, LAYERS, "GroupedMatmul", 20 * MS, pytest.approx(4 / 3)) and len(rows) == 2 * LAYERS
    other = rank_of(1, 5, 10, "Combine")
    kernels = other.tables["kernels"]
    other.tables["kernels"] = kernels.take(kernels.ints("start_ns") < 2000 * MS + 80 * MS)
    assert "experts" not in distributed.build(ViewInput([ranks[0], other], {})).tables
