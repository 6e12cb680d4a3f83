from __future__ import annotations

import math

import pytest

from tb_npu_plugin.analysis.comparison import diff
from tb_npu_plugin.analysis.kernels.classes import class_of
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


def test_what_is_on_one_side_only_changed() -> None:
    """It was in neither list: its ratio is unknown."""
    table = diff.kernels(
        kernels(("gone", "A", "X", 10), ("same", "B", "X", 100), ("slow", "C", "X", 100)),
        kernels(("new", "D", "X", 10), ("same", "B", "X", 104), ("slow", "C", "X", 105)),
    )

    changed = dict(zip(table.text("name").tolist(), table.text("changed").tolist()))
    assert changed == {"gone": "faster", "same": None, "slow": "slower", "new": "slower"}
