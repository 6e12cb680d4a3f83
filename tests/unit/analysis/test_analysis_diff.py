from __future__ import annotations

import math

import pytest

from tb_npu_plugin.analysis import diff
from tb_npu_plugin.analysis.operator_classes import class_of
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.span import table_of


@pytest.mark.parametrize(
    ("label", "core", "name"),
    [
        ("Conv2D", "AI_CORE", "conv_forward"),
        ("Conv3DBackpropInput", "AI_CORE", "conv_backward"),
        ("ConvertTypes", "AI_VECTOR_CORE", "vector"),
        ("MatMulV2", "AI_CORE", "matmul"),
        ("GroupedMatmul", "MIX_AIC", "matmul"),
        ("FlashAttentionScoreGrad", "MIX_AIC", "attention"),
        ("RotaryMul", "AI_VECTOR_CORE", "attention"),
        ("RmsNorm", "AI_VECTOR_CORE", "normalisation"),
        ("BNTrainingReduce", "AI_VECTOR_CORE", "normalisation"),
        ("ForeachAddList", "AI_VECTOR_CORE", "optimizer"),
        ("ForeachNorm", "AI_VECTOR_CORE", "optimizer"),
        ("ApplyAdamW", "AI_VECTOR_CORE", "optimizer"),
        ("TransData", "AI_VECTOR_CORE", "data_movement"),
        ("TensorMove", "AI_VECTOR_CORE", "data_movement"),
        ("Cast", "AI_VECTOR_CORE", "data_movement"),
        ("ReduceSum", "MIX_AIV", "vector"),
        ("LogSoftmaxV2", "AI_VECTOR_CORE", "vector"),
        ("Unique2", "AI_CPU", "ai_cpu"),
        ("hcom_allReduce_", "HCCL", "communication"),
        ("hcom_allReduce_", "COMMUNICATION", "communication"),
        ("aclnnForeachAddListV2_ForeachAddList_ForeachAddList", None, "optimizer"),
        ("trans_TransData_0", None, "data_movement"),
    ],
)
def test_class_of(label: str, core: str | None, name: str) -> None:
    assert class_of(label, core) == name


def kernels(*rows: tuple[str, str | None, str, int]) -> Table:
    keys = ("name", "type", "core", "dur_ns")
    return table_of("kernels", [{**dict(zip(keys, row)), "start_ns": 0} for row in rows])


BEFORE = kernels(("c1", "Conv2D", "AI_CORE", 10), ("m", "MatMulV2", "AI_CORE", 20), ("m", "MatMulV2", "AI_CORE", 5))
AFTER = kernels(("c1", "Conv2D", "AI_CORE", 4), ("h", "hcom", "HCCL", 7), ("trans_TransData_1", None, "N/A", 1))


def test_classes_sum_to_the_kernels_time_and_run() -> None:
    (before, _), (after, _) = diff.class_sums(BEFORE), diff.class_sums(AFTER)

    found = diff.by_class(before, after, (100, 90))

    assert [
        (entry.id, entry.baseline_ns, entry.experimental_ns, entry.difference_ns, entry.running_ns) for entry in found
    ] == [
        ("conv_forward", 10, 4, -6, -6),
        ("matmul", 25, 0, -25, -31),
        ("data_movement", 0, 1, 1, -30),
        ("communication", 0, 7, 7, -23),
        ("idle", 100, 90, -10, -33),
    ]
    assert [(entry.baseline_calls, entry.experimental_calls) for entry in found] == [
        (1, 1),
        (2, 0),
        (0, 1),
        (0, 1),
        (0, 0),
    ]
    assert sum(entry.baseline_ns for entry in found if entry.id != "idle") == 35


def test_idle_is_left_out_unless_both_sides_know_it() -> None:
    before, _ = diff.class_sums(BEFORE)

    assert [entry.id for entry in diff.by_class(before, before, (100, None))] == ["conv_forward", "matmul"]


def test_kernels_of_both_sides() -> None:
    table = diff.kernels(BEFORE, AFTER)

    assert table.text("name").tolist() == ["c1", "m", "h", "trans_TransData_1"]
    assert table.text("class").tolist() == ["conv_forward", "matmul", "communication", "data_movement"]
    assert table.ints("baseline_calls").tolist() == [1, 2, 0, 0]
    assert table.ints("experimental_ns").tolist() == [4, 0, 7, 1]
    assert table.ints("difference_ns").tolist() == [-6, -25, 7, 1]
    ratios = table.floats("ratio").tolist()
    assert ratios[:2] == [-0.6, -1.0]
    assert all(math.isnan(ratio) for ratio in ratios[2:])  # nothing to relate to


def test_operators_of_both_sides() -> None:
    before = table_of(
        "operators", [{"name": "mm", "host_self_ns": 10, "device_self_ns": 4}, {"name": "old", "host_self_ns": 1}]
    )
    after = table_of("operators", [{"name": "new", "host_self_ns": 3}, {"name": "mm", "host_self_ns": 15}])

    table = diff.operators(before, after)

    assert table.text("name").tolist() == ["mm", "old", "new"]
    assert table.ints("difference_host_self_ns").tolist() == [5, -1, 3]
    assert table.floats("ratio_host_self").tolist()[:2] == [0.5, -1.0]
    assert table.ints("difference_device_self_ns").tolist()[0] == NULL_INT  # the other file has no device time


def test_class_sums_of_all_and_of_each_step() -> None:
    rows = [("1", "Conv2D", 1), ("2", "Conv2D", 2), ("2", "Add", 4), (None, "Add", 8)]
    table = table_of(
        "kernels",
        [
            {"step": step, "name": "k", "type": kind, "core": "X", "start_ns": 0, "dur_ns": dur}
            for step, kind, dur in rows
        ],
    )

    whole, by_step = diff.class_sums(table)

    assert whole == diff.ClassSums({"conv_forward": 3, "vector": 12}, {"conv_forward": 2, "vector": 2})
    assert {step: sums.times for step, sums in by_step.items()} == {
        "1": {"conv_forward": 1},
        "2": {"conv_forward": 2, "vector": 4},
        None: {"vector": 8},
    }
