"""What the device records of each operator: names by the table, shapes and types as PyTorch's meta kernels have them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tb_npu_plugin.capture.device import records
from tb_npu_plugin.capture.device.records import Copy, Kind, Sync
from tests.unit.capture.device.inside import names

TABLE = (Path(__file__).parent / "operators.txt").read_text().splitlines()
if not hasattr(
    torch.accelerator if hasattr(torch, "accelerator") else torch, "current_accelerator"
):  # PyTorch 2.4, 2.5
    TABLE = [line for line in TABLE if not line.startswith(("F.scaled_dot_product_attention", "F.grid_sample"))]
#: Types of PyTorch -> their C++ names.
CPP_TYPES = {
    torch.float32: "float",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int",
    torch.bool: "bool",
    torch.float64: "double",
}
#: Their meta kernels ask for values.
WITHOUT_META = ("masked_scatter", "isin", "bucketize", "searchsorted", "kthvalue")


def _tensors(device: str, dtype: torch.dtype) -> dict[str, Any]:
    torch.manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape).to(dtype).to(device)

    return {
        **{"torch": torch, "F": F, "D": device},
        **{"a": random(4, 8), "b": random(4, 8), "v": random(8), "m": random(8, 8), "s": random(3, 8, 8)},
        **{"k": torch.ones(4, 8, dtype=torch.bool).to(device), "i": torch.zeros(4, 8, dtype=torch.int64).to(device)},
        **{"j": torch.tensor([0, 2]).to(device), "t": torch.tensor([1, 2, 3, 0]).to(device)},
        **{"im": random(2, 3, 8, 8), "w": random(4, 3, 3, 3), "w1": random(4, 8, 3), "wt": random(3, 4, 2, 2)},
        **{"p": random(3), "q": torch.ones(3, dtype=dtype).to(device), "p4": random(4), "g": random(2, 4, 4, 2)},
        "h": random(2, 4, 6, 8),
    }


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in _flat(item)] if isinstance(value, (tuple, list)) else []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_operators_are_recorded_exactly(dtype: torch.dtype) -> None:
    wrong = []
    for line in TABLE:
        expression, _, expected = line.partition("  =>")
        scope = _tensors("npu", dtype)
        records.start()
        found = _flat(eval(expression, scope))
        recording = records.stop()
        if names(recording, Kind.OPERATOR, Kind.COPY) != expected.split() or len(recording.of(Kind.SYNC)):
            wrong.append((expression, names(recording, Kind.OPERATOR, Kind.COPY)))
        elif not any(name in expression for name in WITHOUT_META):
            wanted = [(t.shape, t.dtype) for t in _flat(eval(expression, _tensors("meta", dtype)))]
            if [(t.shape, t.dtype) for t in found] != wanted:
                wrong.append((expression, wanted))
            launched = recording.of(Kind.OPERATOR, Kind.COPY)
            results = recording.signatures[launched[0]["signature"]].outputs if len(launched) == 1 else ()
            if results:  # they are those of the expression, which may be views of them
                described = {(shape.numel(), CPP_TYPES[kind]) for shape, kind in wanted}
                if not described & {(math.prod(tensor.shape), tensor.dtype) for tensor in results}:
                    wrong.append((expression, results))
    assert wrong == []


def test_values_are_those_of_the_host() -> None:
    wrong = []
    random = ("rand", "normal_", "uniform_", "bernoulli", "dropout", "empty")
    for line in TABLE:
        expression = line.partition("  =>")[0]
        if any(name in expression for name in random):
            continue
        host, device = (_flat(eval(expression, _tensors(where, torch.float32))) for where in ("cpu", "npu"))
        if not all(torch.allclose(x, y.cpu(), 1e-5, 1e-6, equal_nan=True) for x, y in zip(host, device)):
            wrong.append(expression)
    assert wrong == []


def _syncs(recording: records.Recording) -> list[Sync]:
    return [Sync(detail) for detail in recording.of(Kind.SYNC)["detail"].tolist()]


@pytest.mark.parametrize("options", [{}, {"foreach": False}, {"fused": True}])
def test_a_step_of_adamw_neither_copies_nor_waits(options: dict[str, bool]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).npu()
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for _ in range(2):  # the first step makes the state
        model(torch.ones(4, 8, device="npu")).sum().backward()
        records.start()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recording = records.stop()
    assert _syncs(recording) == [] and {Copy.DEVICE_TO_DEVICE} >= {*recording.of(Kind.COPY)["detail"].tolist()}
    assert recording.lost == 0 and len(names(recording)) > 1


def test_what_the_host_waits_for() -> None:
    x, pinned = torch.ones(4, device="npu"), torch.ones(4).pin_memory()
    numbers = torch.tensor([0, 1], device="npu")
    cases = [
        (lambda: x.sum().item(), [Sync.SCALAR]),
        (lambda: bool(x.any()), [Sync.SCALAR]),
        (lambda: x.cpu(), [Sync.COPY]),
        (lambda: torch.ones(4).npu(), [Sync.COPY]),
        (lambda: pinned.npu(), [Sync.COPY]),
        (lambda: pinned.npu(non_blocking=True), []),
        (lambda: x.nonzero(), [Sync.SHAPE]),
        (lambda: x[x > 0], [Sync.SHAPE]),
        (lambda: x[numbers], []),
        (lambda: torch.npu.synchronize(), [Sync.DEVICE]),
        (lambda: torch.npu.current_stream().synchronize(), [Sync.STREAM]),
    ]
    found = []
    for run, _ in cases:
        records.start()
        run()
        found.append(_syncs(records.stop()))
    assert found == [expected for _, expected in cases]


def test_moments_threads_and_streams() -> None:
    weight = torch.randn(256, 256, device="npu", requires_grad=True)
    stream = torch.npu.Stream()
    records.start()
    with torch.npu.stream(stream):
        out = weight @ weight
    out.sum().backward()
    recording = records.stop()
    operators = recording.of(Kind.OPERATOR)
    product = operators[0]
    assert (
        product["stream"] == stream.stream_id
        and product["entry"] <= product["begin"] < product["end"] <= product["exit"]
    )
    backward = operators[(operators["flags"] & records.BACKWARD) != 0]
    assert {*backward["thread"]} != {product["thread"]}  # PyTorch's engine has a thread for each device


def test_memory_is_counted_and_limited() -> None:
    before = torch.npu.memory_allocated()
    records.start()
    tensor = torch.empty(1000, device="npu")
    recording = records.stop()
    assert recording.of(Kind.ALLOCATE)["bytes"].tolist() == [4000]
    assert torch.npu.memory_allocated() - before == 4096  # 32 bytes more, in multiples of 512
    del tensor
    assert torch.npu.memory_allocated() == before
    with pytest.raises(torch.OutOfMemoryError, match="NPU out of memory"):
        torch.empty(1 << 40, device="npu")


def test_what_has_no_room_is_counted() -> None:
    records.start(ceiling=1 << 20)
    for _ in range(20000):
        torch.ones(1, device="npu")
    recording = records.stop()
    assert recording.lost > 0 and 0 < len(recording.records) < 60000
