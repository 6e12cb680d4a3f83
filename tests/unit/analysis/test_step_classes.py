"""Classes of kernels, and of a step: parts that are disjoint in time and sum to the step."""

from __future__ import annotations

from typing import Optional

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.comparison import diff
from tb_npu_plugin.analysis.comparison.step_classes import (
    ClassTimes,
    StepKernels,
    by_class,
    class_times,
    mean_classes,
)
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.steps import partition as steps
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import Table
from tests.support.span import table_of

Parts = dict[str, Optional[int]]


def kernels(*rows: tuple[str, str, int, int]) -> Table:
    keys = ("type", "core", "start_ns", "dur_ns")
    return table_of("kernels", [{"name": "k", **dict(zip(keys, row))} for row in rows])


def parts(computing: int | None, exposed: int | None, free: int | None, **more: int) -> Parts:
    return {"computing": computing, "communication_not_overlapped": exposed, "free": free, "bubble": None, **more}


def of_one(step: Parts, table: Table | None) -> ClassTimes:
    (found,) = class_times([step], None if table is None else StepKernels(table, [np.arange(len(table))]))
    return found


def test_every_moment_counts_once() -> None:
    """Overlapped communication entered in full, and so did kernels that ran at the same time."""
    found = of_one(
        parts(100, 20, 30),
        kernels(("MatMulV2", "AI_CORE", 0, 60), ("Add", "AIV", 40, 60), ("hcom_allReduce_", "HCCL", 50, 70)),
    )
    assert found.times == {"matmul": 60, "other": 40, "communication": 20, "idle": 30}
    assert found.total == 150
    assert found.calls == {"matmul": 1, "other": 1, "communication": 1}


def test_bubble_is_taken_out_of_communication_and_copying_is_a_part() -> None:
    rows = kernels(("MatMulV2", "AI_CORE", 0, 60), ("Memcpy", kineto.MEMCPY_KIND, 60, 10))
    found = of_one(parts(60, 50, 5, bubble=40, copying=10), rows)
    assert found.times == {"matmul": 60, "copying": 10, "communication": 10, "bubble": 40, "idle": 5}


def test_waiting_is_taken_out_of_communication_without_the_bubble() -> None:
    found = of_one(parts(60, 50, 5, bubble=40, waiting=8), None)
    assert found.times == {"computing": 60, "communication": 2, "waiting": 8, "bubble": 40, "idle": 5}
    assert of_one(parts(60, 50, 5, bubble=40, waiting=80), None).total == 115


def test_rounding_of_a_file_makes_no_class_but_missing_kernels_do() -> None:
    rows = kernels(("MatMulV2", "AI_CORE", 0, 60_000))
    assert of_one(parts(60_019, 0, 0), rows).times == {"matmul": 60_019, "idle": 0}
    assert of_one(parts(90_000, 0, 0), rows).times == {"matmul": 60_000, "computing": 30_000, "idle": 0}
    assert of_one(parts(90_000, 0, 0), None).times == {"computing": 90_000, "idle": 0}


def test_idle_is_left_out_unless_both_sides_know_their_step() -> None:
    whole, partial = of_one(parts(1, 2, 3), None), of_one(parts(1, 2, None), None)
    assert partial.total is None
    assert [entry.id for entry in by_class(whole, whole)] == ["computing", "communication", "idle"]
    assert [entry.id for entry in by_class(whole, partial)] == ["computing", "communication"]


SPANS = st.lists(
    st.tuples(
        st.sampled_from(["MatMulV2", "Add", "TransData", "hcom_allReduce_"]),
        st.integers(0, 5000),
        st.integers(0, 3000),
    ),
    min_size=1,
    max_size=12,
)


@given(st.lists(SPANS, min_size=1, max_size=3), st.lists(SPANS, min_size=1, max_size=3))
def test_classes_sum_to_the_step_exactly(
    before: list[list[tuple[str, int, int]]], after: list[list[tuple[str, int, int]]]
) -> None:
    sides = []
    for side in (before, after):
        times = []
        for rows in side:
            table = kernels(*((kind, "HCCL" if kind[0] == "h" else "AI_CORE", at, dur) for kind, at, dur in rows))
            step = vars(steps.from_kernels(table)[0])
            times.append(of_one(step, table))
            assert times[-1].total == step["stage"]
            assert "computing" not in times[-1].times  # all of it is explained by kernels
        sides.append(mean_classes(times, len(times)))
    found = by_class(*sides)
    for side, name in zip(sides, ("baseline_ns", "experimental_ns")):
        assert sum(getattr(entry, name) for entry in found) == side.total
    assert found == [] or found[-1].running_ns == (sides[1].total or 0) - (sides[0].total or 0)


@pytest.mark.parametrize(
    ("type_", "core", "name"),
    [
        ("Conv3DBackpropInput", "AI_CORE", "conv_backward"),
        ("Unique2", "AI_CPU", "ai_cpu"),
        ("hcom_allReduce_", "HCCL", "communication"),
        ("AllReduce", "AI_CORE", "communication"),
        ("ACertainKernel", "AI_CORE", "unknown"),
    ],
)
def test_the_class_is_the_meaning_unless_the_core_tells_more(type_: str, core: str, name: str) -> None:
    assert CLASSES[classes(kernels((type_, core, 0, 1)))[0]] == name


def test_what_is_on_one_side_only_changed() -> None:
    """It was in neither list: its ratio is unknown."""

    def side(**times: int) -> Table:
        return table_of("kernels", [{"name": name, "type": "A", "dur_ns": time} for name, time in times.items()])

    table = diff.kernels(
        [diff.Side(one, {}) for one in (side(gone=10, same=100, slow=100), side(new=10, same=104, slow=105))]
    )
    changed = dict(zip(table.text("name").tolist(), table.text("changed").tolist()))
    assert changed == {"gone": "faster", "same": None, "slow": "slower", "new": "slower"}
