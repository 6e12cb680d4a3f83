"""The device as part of PyTorch: names, mixing, streams, random numbers, memory formats, fork."""

from __future__ import annotations

import copy
import io
import os

import pytest
import torch
import torch_npu
from torch import nn
from torch.autograd import forward_ad
from torch.nn import functional as F
from torch.npu.memory import max_memory_allocated
from torch.utils.checkpoint import checkpoint

from tb_npu_plugin.capture.device import records
from tests.unit.capture.device.inside import names


def test_devices_do_not_mix() -> None:
    host, device = torch.ones(3), torch.ones(3, device="npu")
    for mixed in (
        lambda: host + device,
        lambda: device.add_(host),
        lambda: torch.cat((host, device)),
        lambda: F.linear(device, torch.ones(2, 3)),
        lambda: device + torch.ones(3, device="npu:1"),
        lambda: torch.zeros(()).add_(device[0]),
    ):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    assert (device * torch.tensor(2.0)).tolist() == [2, 2, 2]  # a single number may come from the host
    assert device[torch.tensor([0])].tolist() == [1]  # and so may indices


def test_the_device_that_was_set_is_used() -> None:
    with torch.npu.device(3):
        assert torch.ones(1, device="npu").device == torch.device("npu:3")
    assert torch.npu.current_device() == 0
    with pytest.raises(RuntimeError, match="TB_NPU_DEVICES"):
        torch.npu.set_device(99)


def test_views_share_memory_and_resized_results_keep_theirs() -> None:
    x = torch.zeros(2, 3, device="npu")
    x.t()[1].fill_(5)
    out = torch.empty(0, device="npu")
    torch.add(x, 1, out=out)
    assert x.tolist() == [[0, 5, 0], [0, 5, 0]] and out.tolist() == [[1, 6, 1], [1, 6, 1]]
    assert x.view(6).resize_(8).shape == (8,) and x.unsqueeze_(0).shape == (1, 2, 3)


def test_layouts_survive_copies() -> None:
    image = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    moved = image.npu()
    assert moved.is_contiguous(memory_format=torch.channels_last) and torch.equal(moved.cpu(), image)
    target = torch.zeros(3, 2, device="npu")
    target.t().copy_(torch.arange(6.0).reshape(2, 3))
    assert target.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.randn(3, dtype=torch.complex64).conj().npu().cpu().shape == (3,)


def test_random_numbers_of_the_device_are_its_own() -> None:
    torch.manual_seed(7)
    state = torch.get_rng_state()
    first = torch.rand(4, device="npu")
    F.dropout(torch.ones(100, device="npu"), 0.5)
    assert torch.equal(torch.get_rng_state(), state)
    torch.npu.manual_seed_all(7)
    assert torch.equal(torch.rand(4, device="npu"), first)
    saved = torch.npu.get_rng_state()
    one = torch.randn(3, device="npu")
    torch.npu.set_rng_state(saved)
    assert torch.equal(torch.randn(3, device="npu"), one)
    generator = torch.Generator("npu").manual_seed(3)
    assert torch.rand(2, device="npu", generator=generator).device.type == "npu"


def test_streams_and_events() -> None:
    stream, before = torch.npu.Stream(), torch.npu.current_stream()
    first, second = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    records.start()
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == stream != torch.npu.default_stream()
        first.record()
        second.record(stream)
    before.wait_event(second)
    recording = records.stop()
    assert torch.npu.current_stream() == before and first.elapsed_time(second) >= 0
    recorded, waited = recording.of(records.Kind.EVENT_RECORD), recording.of(records.Kind.STREAM_WAIT)
    assert recorded["stream"].tolist() == [stream.stream_id] * 2
    assert waited["id"].tolist() == [recorded["id"][1]] and waited["stream"].tolist() == [0]


def test_models_can_be_saved_and_copied() -> None:
    model = nn.Linear(3, 2).npu()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for place in (None, "cpu", "npu:1"):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert torch.equal(loaded["weight"].cpu(), model.weight.detach().cpu())
        assert loaded["weight"].device.type == ("cpu" if place == "cpu" else "npu")
    assert copy.deepcopy(model).weight.device == model.weight.device


def test_parameters_stay_themselves_when_a_model_moves() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    weight, model = first.weight, nn.Sequential(first, second)
    for place in ("npu", "cpu", "npu"):
        model.to(place)
        assert first.weight is second.weight is weight and weight.device.type == place
    plain = nn.Parameter(torch.ones(2))
    plain.data = plain.data.npu()
    plain.sum().backward()
    assert plain.grad is not None and plain.grad.device.type == "npu"


def test_types_that_only_the_cpu_lacks() -> None:
    counts = torch.histc(torch.tensor([0, 1, 1, 3], dtype=torch.int32, device="npu"), bins=4, min=0, max=3)
    assert counts.tolist() == [1, 2, 0, 1] and counts.dtype == torch.int32
    with pytest.raises(RuntimeError):
        torch.cumsum(torch.zeros(2, dtype=torch.complex64, device="npu"), 0).histc()


def test_forward_mode_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not vary has a derivative without memory."""
    monkeypatch.setenv("PYTORCH_JIT", "0")  # compiles no formulas of other operators first
    at = torch.tensor([1.0, 2.0], device="npu")
    with forward_ad.dual_level():
        x = forward_ad.make_dual(at, torch.ones_like(at))
        value, derivative = forward_ad.unpack_dual(x * x + 3)
    assert (value.tolist(), derivative.tolist()) == ([4.0, 7.0], [2.0, 4.0])


def test_torch_compile_runs_eagerly(capfd: pytest.CaptureFixture[str]) -> None:
    model = torch.compile(nn.Linear(2, 2).npu())
    assert model(torch.ones(1, 2, device="npu")).shape == (1, 2)
    assert torch.compile(dynamic=True)(lambda x: x)(3) == 3
    assert capfd.readouterr().err.count("torch.compile") <= 1


if hasattr(getattr(torch, "accelerator", None), "memory_stats"):  # since PyTorch 2.9

    def test_torch_accelerator_is_the_device() -> None:
        torch.ones(1000, device="npu")
        assert str(torch.accelerator.current_accelerator()) == "npu"
        assert torch.accelerator.memory_allocated() == torch.npu.memory_allocated()
        assert torch.accelerator.max_memory_allocated() == torch.npu.max_memory_allocated() > 0


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_repeats_random_numbers(reentrant: bool) -> None:
    x = torch.ones(1000, device="npu", requires_grad=True)
    y = checkpoint(F.dropout, x, use_reentrant=reentrant)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_names_that_are_not_simulated_say_so() -> None:
    assert not hasattr(torch.npu, "NPUGraph")
    with pytest.raises(AttributeError, match="NPUGraph \\(graph capture\\) does not exist on the simulated NPU"):
        _ = torch.npu.NPUGraph
    with pytest.raises(AttributeError, match="quantized"):
        _ = torch_npu.npu_quant_matmul
    assert "npu_moe_distribute_dispatch" not in dir(torch_npu)


def test_names_of_the_frameworks() -> None:
    names = (
        "is_available device_count current_device set_device synchronize get_device_name get_device_properties Stream Event "
        "stream set_stream current_stream default_stream empty_cache memory_allocated max_memory_allocated memory_reserved "
        "max_memory_reserved memory_stats memory_summary mem_get_info reset_peak_memory_stats manual_seed manual_seed_all "
        "seed_all initial_seed get_rng_state set_rng_state amp config set_compile_mode set_option mstx utilization "
        "is_bf16_supported get_amp_supported_dtype random memory"
    )
    assert [name for name in names.split() if not hasattr(torch.npu, name)] == []
    assert torch.npu.memory_stats()["allocated_bytes.all.current"] == torch.npu.memory_allocated()
    assert torch_npu.npu is torch.npu and torch_npu.profiler.profile and torch.npu.mstx.mark
    assert max_memory_allocated is torch.npu.max_memory_allocated


def test_a_forked_process_computes_and_records_nothing_of_its_parent() -> None:
    records.start()
    x = torch.ones(3, device="npu")
    child = os.fork()
    if child == 0:
        os._exit(0 if (x + 1).sum().item() == 6 and len(records.stop().records) < 10 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert names(records.stop()) == ["aten::fill_.Scalar"]
