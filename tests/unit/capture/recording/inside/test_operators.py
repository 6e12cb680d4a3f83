"""The kernels of a result are the operators that the device recorded, one by one, with their results' shapes and types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.capture.device.records import Copy, Kind, load
from tb_npu_plugin.capture.recording.raw_data import DEVICE
from tests.oracle.raw import Raw
from tests.unit.capture.device.inside.test_operators import TABLE, _tensors

#: Operators of several kernels, or whose kernels have other tensors: convolutions change formats, dropout makes a mask.
OTHERS = ("conv", "dropout")
#: C++ types -> those of kernel_details.csv.
TYPES = {"float": "FLOAT", "c10::BFloat16": "DT_BF16", "long int": "INT64", "bool": "BOOL", "double": "DOUBLE"}
#: In kernel names: the type of the kernel that an expression must be.
OWN = {
    "a.max(1)": "ArgMaxWithValue",
    "a.max()": "ReduceMax",
    "k.any()": "ReduceAny",
    "a.sort(1)": "Sort",
    "a.scatter_add(1, i, b)": "ScatterElementsV2",
    "F.interpolate(im, scale_factor=2)": "ResizeNearestNeighborV2",
    "torch._foreach_mul_([a, b], 2)": "ForeachMulScalar",
}


def captured(out: Path, work: Callable[[], Any], **switches: Any) -> Raw:
    level = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1, data_simplification=False)
    handler = profiler.tensorboard_trace_handler(str(out))
    with profiler.profile(on_trace_ready=handler, experimental_config=level, **switches):
        work()
    return Raw(next(out.glob("*_ascend_pt")))


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.full)])
def test_kernels_are_the_operators_with_their_results(dtype: torch.dtype, tmp_path: Path) -> None:
    lines = [line.partition("  =>")[0] for line in TABLE if not any(name in line for name in OTHERS)]
    scopes = [_tensors("npu", dtype) for _ in lines]
    raw = captured(tmp_path, lambda: [eval(line, scope) for line, scope in zip(lines, scopes)])
    log = load(raw.folder / RAW_FOLDER / DEVICE)
    rows = log.of(Kind.OPERATOR, Kind.COPY)
    assert set(rows["detail"][rows["kind"] == Kind.COPY].tolist()) == {Copy.DEVICE_TO_DEVICE}
    assert len(log.of(Kind.SYNC)) == 0
    launched = [log.signatures[number] for number in rows["signature"].tolist()]
    kernels = raw.kernels
    assert len(kernels) == len(launched) > 180
    wrong = []
    for kernel, signature in zip(kernels, launched):
        tensors = signature.outputs
        if not tensors:  # in place, without results
            continue
        shapes = ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)
        types = ";".join(TYPES.get(tensor.dtype, tensor.dtype) for tensor in tensors)
        shapes = shapes or "N/A"
        if (kernel["Output Shapes"].strip('"'), kernel["Output Data Types"]) != (shapes, types):
            wrong.append(
                (signature.name, kernel["Name"], kernel["Output Shapes"], kernel["Output Data Types"], shapes, types)
            )
    assert wrong == []
    types_of = [kernel["Type"] for kernel in kernels]
    assert {type_ for line, type_ in OWN.items() if line in lines} <= set(types_of)


@pytest.mark.parametrize("options", [{"foreach": True}, pytest.param({"fused": True}, marks=pytest.mark.full)])
def test_a_step_of_an_optimizer_copies_nothing_and_waits_for_nothing(options: dict[str, bool], tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).npu()
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    loss = model(torch.ones(4, 8, device="npu")).sum()
    loss.backward()
    optimizer.step()  # makes the state

    def work() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        loss.item()

    raw = captured(tmp_path, work)
    names = [event["name"] for event in raw.slices]
    assert names.count("AscendCL@aclrtSynchronizeStreamWithTimeout") == names.count("AscendCL@aclrtMemcpyAsync") == 1
    types = [kernel["Type"] for kernel in raw.kernels]
    if "fused" in options:
        assert types.count("ApplyAdamWV2") == len(list(model.parameters()))
    else:
        assert {"ForeachNormScalar", "ForeachAddcdivScalarList"} <= set(types)
