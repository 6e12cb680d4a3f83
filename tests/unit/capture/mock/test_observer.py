"""Shapes that the observer records are those of PyTorch's profiler."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.backend import HostSwitches
from tb_npu_plugin.capture.mock import observer, torch_profiler
from tb_npu_plugin.capture.mock.host import OBSERVED, TRACE
from tb_npu_plugin.capture.mock.kineto import LIST, Reader, Signature
from tb_npu_plugin.capture.simulation.records import outer_first
from tb_npu_plugin.errors import BadFile
from tests.oracle.raw import Raw
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch

LEVEL1 = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)


@pytest.fixture
def built() -> None:
    if not observer.is_there():
        pytest.skip("the observer is not built: see docs/capture.md")


def layers() -> None:
    """A training step of what a network has."""
    import torch

    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.ConvTranspose2d(8, 4, 3),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 4),
    )
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(2, 3, 16, 16)).sum().backward()
        optimizer.step()


def lists() -> None:
    """Lists of tensors, of several types, some of them empty or optional."""
    import torch

    ones = torch.ones(4)
    torch.cat([ones.bfloat16(), ones.bfloat16()])
    torch.stack([ones.half(), ones.half()])
    torch.split(ones, [1, 3])
    ones[torch.tensor([1, 2])] = 3.0
    torch.index_put(ones, [torch.tensor([0])], torch.tensor([1.0]))
    torch._foreach_add([torch.zeros(2, 3), torch.zeros(5)], 1.0)


def observe(work: Callable[[], None], folder: Path) -> dict[int, list[Signature]]:
    """What the observer sees of this."""
    observer.start()
    try:
        work()
    finally:
        (folder / OBSERVED).write_bytes(observer.stop())
    return observer.read(folder / OBSERVED)


def names(found: dict[int, list[Signature]]) -> set[str]:
    return {signature.name for signatures in found.values() for signature in signatures}


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("work", [layers, lists])
def test_shapes_equal_those_of_pytorchs_profiler(tmp_path: Path, work: Callable[[], None]) -> None:
    profiler = torch_profiler.make(HostSwitches(), shapes=True)
    profiler.prepare_trace()
    torch_profiler.start_operators(profiler)
    tid = threading.get_native_id()
    ours = observe(work, tmp_path)[tid]
    torch_profiler.stop(profiler)
    torch_profiler.save(profiler, tmp_path / TRACE)
    calls = Reader().read(tmp_path / TRACE, lambda done: None).calls
    theirs = [call.signature for call in outer_first(calls) if call.tid == tid]
    assert len(ours) > 20 and [one.name for one in ours] == [one.name for one in theirs]
    for one, other in zip(ours, theirs):
        assert [shape for shape, _ in one.tensors] == [shape for shape, _ in other.tensors], one.name
        types = [(mine, other_type) for (_, mine), (_, other_type) in zip(one.tensors, other.tensors)]
        assert all(mine == other_type or (other_type == LIST and mine != LIST) for mine, other_type in types), (
            one.name,
            types,
        )
        assert len(one.values) == len(other.values), one.name
        assert all(mine in ("", value) for mine, value in zip(one.values, other.values)), (one.values, other.values)
    assert any(value not in ("", "True", "False") for one in ours for value in one.values)


@pytest.mark.usefixtures("built")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_is_not_observed_and_can_observe_itself(tmp_path: Path) -> None:
    """Cause: worker processes of a DataLoader recorded shapes without end."""
    import torch

    observer.start()
    torch.ones(2).cos()  # the parent's: the child does not tell them
    pid = os.fork()
    if not pid:
        try:
            torch.ones(2).exp()
            text = observer.stop()
            found = observe(lambda: torch.ones(2).sin(), tmp_path)
            once = [one.name for one in found[threading.get_native_id()]].count("aten::sin") == 1
            os._exit(0 if text == b"[]" and once else 1)
        finally:  # whatever it raises: not a second one that runs the tests
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    torch.ones(2).neg()
    (tmp_path / OBSERVED).write_bytes(observer.stop())
    assert "aten::neg" in names(observer.read(tmp_path / OBSERVED))


def kernels(folder: Path) -> list[tuple[str, ...]]:
    return [(row.get("Step Id", ""), row["Name"], row["Type"], row["Input Shapes"]) for row in Raw(folder).kernels]


@pytest.mark.usefixtures("built")
def test_shapes_that_change_from_step_to_step_without_a_schedule(tmp_path: Path) -> None:
    """Cause: a step before the capture knows its own shapes alone, and without a schedule there is none."""

    import torch

    def record(shapes: bool) -> list[tuple[str, ...]]:
        handler = profiler.tensorboard_trace_handler(str(tmp_path / str(shapes)))
        with profiler.profile(on_trace_ready=handler, record_shapes=shapes, experimental_config=LEVEL1):
            for size in (3, 5, 9):
                torch.ones(size, 4) @ torch.ones(4, size)
                if size > 4:
                    torch.ones(size).exp()
        return kernels(next((tmp_path / str(shapes)).glob("*_ascend_pt")))

    found = record(False)
    assert len(found) > 4 and found == record(True)


def test_one_that_was_built_against_another_pytorch_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    observer._native.cache_clear()
    monkeypatch.setattr(torch, "__version__", "1.0.0+cpu")
    try:
        assert not observer.is_there()
    finally:
        observer._native.cache_clear()


@pytest.mark.parametrize("text", ["", "{}", "[[1, [[]], [0]]]", '[[1, [["a"]], [1]]]', '[[1, [["a", {"b": 1}]], [0]]]'])
def test_a_file_that_is_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / OBSERVED).write_text(text)
    with pytest.raises(BadFile, match="cannot be used"):
        observer.read(tmp_path / OBSERVED)
