"""Rules about MindSpore up to 2.2, and about hosts."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis.findings import cluster_outlier, slow_host, step_gap
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.model import Capture
from tests.support.span import TestSpan, table_of

MS = 1_000_000


def points(rank: int, gap: int, **tables: list[dict[str, Any]]) -> TestSpan:
    """A rank with three steps of 100 ms."""
    rows = [
        {
            "step": str(step),
            "average": 0,
            "total_ns": 100 * MS,
            "interval_ns": gap * MS,
            "fp_bp_ns": (90 - gap) * MS,
            "tail_ns": 10 * MS,
        }
        for step in (1, 2, 3)
    ]
    made = {name: table_of(name, own) for name, own in tables.items()}
    return TestSpan({"iterations": table_of("iterations", rows), **made}, Capture(rank=rank), token=str(rank))


def test_a_gap_names_the_operator_that_delays_the_data() -> None:
    ops = [
        {"op_id": 0, "name": "Batch", "workers": 4, "parent_id": None},
        {
            "op_id": 1,
            "name": "TFReader",
            "workers": 4,
            "parent_id": 0,
            "capacity": 64,
            "average": 20.0,
            "queue_usage": 0.3,
        },
    ]
    found = step_gap.RULE.find(RunData([points(0, 10), points(1, 60, minddata_ops=ops)]))
    assert [(one.subject.rank, one.subject.operator, one.cost_ns) for one in found] == [(1, "TFReader", 60 * MS)]
    assert not step_gap.RULE.find(RunData([points(0, 0)]))


def test_a_rank_that_waits_longer_before_its_steps_is_an_outlier() -> None:
    found = cluster_outlier.RULE.find(RunData([points(rank, 40 if rank == 2 else 10) for rank in range(4)]))
    assert [(one.subject.rank, one.cost_ns) for one in found] == [(2, 30 * MS)]
    assert not cluster_outlier.RULE.find(RunData([points(rank, 10) for rank in range(4)]))


def on_host(rank: int, host: str, computing: int) -> TestSpan:
    times = {
        "computing": computing * MS,
        "communication_not_overlapped": 0,
        "overlapped": 0,
        "free": (100 - computing) * MS,
    }
    tables = {"step_trace": table_of("step_trace", [{"step": "1", **times}])}
    return TestSpan(tables, Capture(rank=rank, host=host), token=str(rank))


@pytest.mark.parametrize(
    ("times", "expected"),
    [((50, 50, 90, 90), 40), ((50, 90, 50, 90), None), ((50, 50, 51, 51), None), ((50, 60, 55, 95), None)],
)
def test_a_host_is_slow_if_all_its_ranks_are(times: tuple[int, ...], expected: int | None) -> None:
    ranks = [on_host(rank, "ab"[rank // 2], time) for rank, time in enumerate(times)]
    found = [one for one in slow_host.RULE.find(RunData(ranks)) if one.part == "computing"]
    assert [(one.subject.worker, one.cost_ns) for one in found] == ([] if expected is None else [("b", expected * MS)])
    assert all("90.00 ms" in str(one.message) and "80 %" in str(one.message) for one in found)
