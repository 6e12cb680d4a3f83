"""What an awaited rank runs longer than the others."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis.comparison.excess import Excess, excess_of
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.model import Capture
from tests.support.span import TestSpan, table_of

MS = 1_000_000
KINDS = ("MatMulV3", "Add", "SoftmaxV2", "LayerNormV4")


def excess(**changed: dict[str, Any]) -> Excess:
    """Of rank 1, whose kernels differ from those of ranks 0 and 2 by type."""
    spans = []
    for rank in range(3):
        rows = [
            {
                "step": "1",
                "name": kind,
                "type": kind,
                "core": "AI_CORE",
                "input_shapes": "8,16",
                "dur_ns": 10 * MS,
                "start_ns": 0,
            }
            | (changed.get(kind, {}) if rank == 1 else {})
            for kind in KINDS
        ]
        spans.append(TestSpan({"kernels": table_of("kernels", rows)}, Capture(rank=rank), token=str(rank)))
    lines = RunCommunication(spans).lines
    found = excess_of(lines[1:2], [lines[0], lines[2]])
    assert found is not None
    return found


def test_all_kernels_longer_means_the_clock() -> None:
    found = excess(**{kind: {"dur_ns": 15 * MS} for kind in KINDS})
    assert (found.kind, found.factor) == ("clock", pytest.approx(1.5))


def test_one_kernel_longer_means_that_kernel() -> None:
    found = excess(Add={"dur_ns": 40 * MS})
    assert (found.kind, found.factor, found.computing[0].type) == ("kernel", pytest.approx(4), "Add")


def test_other_shapes_mean_other_work() -> None:
    found = excess(Add={"dur_ns": 40 * MS, "input_shapes": "4096,1,151936"})
    assert (found.kind, found.by_type[0], found.vocabulary) == ("work", ("Add", 30 * MS), (151936, 40 * MS))


def test_equal_ranks_have_no_excess() -> None:
    assert excess().kind == ""
