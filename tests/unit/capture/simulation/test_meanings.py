"""What kernels of mocks do is what the table of kernel meanings says: it knows each of them, and fits how they are simulated."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tb_npu_plugin.capture.mindspore.parse import OPERATORS
from tb_npu_plugin.capture.models.catalog import MODELS
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.chips import DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.collectives import CALLS, COLLECTIVES
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import RULES, SAME
from tb_npu_plugin.capture.simulation.records import BATCH, RECEIVE, SEND, Kernel
from tb_npu_plugin.capture.simulation.work import is_convolution
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.kernel_meaning import (
    MEANINGS,
    meaning_of,
    meaning_of_kernel,
    own_meaning_of,
    use_user_table,
)
from tests.oracle.raw import Raw
from tests.support.mock import CLUSTER, rank_folder, written

MATRIX = {"matmul", "grouped_matmul", "attention", "conv_forward", "conv_backward"}
#: Kind of a rule -> what its kernels may mean.
FITS = {
    "matmul": {"matmul", "grouped_matmul"},
    "attention": {"attention"},
    "conv": {"conv_forward"},
    "conv_grad": {"conv_backward"},
    "gather": {"copy_memory", "embedding"},
    "dropout": {"random_dropout"},
    "reduction": {"reduction", "normalization", "loss_softmax"},
    "adam": {"optimizer"},
    "elementwise": set(MEANINGS) - MATRIX,
}
#: Reductions that mean more than that.
MORE_THAN_REDUCTIONS = {"LpNormV2": "normalization", "NLLLoss": "loss_softmax"}
TENSORS = ((64, 32, 8, 8), (64, 32, 8, 8), (64, 32, 8, 8))
SHAPES = {"matmul": ((8, 16), (16, 4)), "gather": ((100, 16), (8,))}
#: Faults that add kernels to a decoder.
FAULTS = ("ai-cpu", "casts", "unfused", "memory-leak", "sync-stream")


def meaning(kernel: Kernel) -> str:
    found = meaning_of_kernel(kernel.name, kernel.type)
    assert found is not None, f"{kernel.name} ({kernel.type}) is not in kernel_meaning.csv"
    assert not found.waits_inside, kernel.name
    return found.meaning


@cache
def kernels_of(op: str) -> tuple[Kernel, ...]:
    shapes = SHAPES.get(RULES[op].kind, TENSORS)
    launches = KernelFactory(CHIPS[DEFAULT_CHIP]).launches(op, shapes, ("float",) * len(shapes))
    assert launches
    return tuple(launch.kernel for launch in launches)


@pytest.mark.parametrize("op", [op for op, rule in RULES.items() if rule.kind != "view"])
def test_the_meaning_of_each_kernel_fits_its_kind(op: str) -> None:
    kind = RULES[op].kind
    found = {kernel.type: meaning(kernel) for kernel in kernels_of(op)}
    if kind.startswith("conv"):
        assert found.pop("TransData") == "cast_format"  # around a convolution
    assert found and set(found.values()) <= FITS[kind]
    if kind == "reduction":
        assert found == {type_: MORE_THAN_REDUCTIONS.get(type_, "reduction") for type_ in found}


def test_operators_of_mindspore_and_second_names_become_operators_with_a_rule() -> None:
    assert set(OPERATORS.values()) | set(SAME.values()) - {"aten::index_put_"} <= set(RULES)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fused", [True, False])
def test_each_kernel_of_a_model_has_a_meaning(model: str, fused: bool) -> None:
    recipe = Recipe(model, faults=("ai-cpu",))
    if model not in ("linear", "resnet50"):
        recipe = replace(recipe, faults=FAULTS, sizes=replace(recipe.sizes, layers=1, dropout=True, fused=fused))
    launches = recipe.cluster().workload.program(0, 0).launches
    assert {meaning(launch.kernel) for launch in launches} <= set(MEANINGS)


def test_collectives_of_mocks_communicate_and_wait_inside() -> None:
    for type_, call in CALLS.items():
        found, launched = meaning_of_kernel(f"{type_}_564_0_1", type_), meaning_of(call, "host_op")
        expected = "point_to_point" if type_ in (SEND, RECEIVE, BATCH) else "collective"
        assert found is not None and (found.meaning, found.waits_inside) == (expected, True), type_
        assert launched is not None and launched.meaning == expected, call
    for type_ in COLLECTIVES:
        found = meaning_of_kernel(None, type_)
        assert found is not None and (found.meaning, found.waits_inside) == ("collective", True), type_


def test_each_row_that_a_mock_writes_has_a_meaning_and_only_collectives_wait() -> None:
    folder = rank_folder(written(CLUSTER)[0], 3)
    for row in Raw(folder).csv("kernel_details.csv"):
        found = meaning_of_kernel(row["Name"], row["Type"])
        assert found is not None, row["Name"]
        assert found.waits_inside == (found.meaning in ("collective", "point_to_point")) == (row["Type"][:5] == "hcom_")


def test_a_users_table_does_not_change_what_is_simulated(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("where,match,pattern,meaning\nkernel_type,regex,^Conv2D$,other\n")
    use_user_table(str(table))
    try:
        assert meaning_of("Conv2D", "kernel_type") != own_meaning_of("Conv2D", "kernel_type")
        assert is_convolution("Conv2D")
    finally:
        use_user_table("")
