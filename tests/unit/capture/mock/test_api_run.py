"""Calls of the API in real runs: what a profile does beside its schedule."""

from __future__ import annotations

import gzip
import json
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.mock import observer, torch_profiler
from tests.oracle.raw import Raw
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch


def run(out: Path, work: Callable[[], Any], **switches: Any) -> Raw:
    """The result of a capture without a schedule."""
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(out)), **switches):
        work()
    return Raw(next(out.glob("*_ascend_pt")))


def operators(raw: Raw) -> list[str]:
    return [row["Name"] for row in raw.csv("operator_details.csv")]


@pytest.mark.parametrize("error", [ValueError, pytest.param(KeyboardInterrupt, marks=pytest.mark.full)])
def test_an_exception_in_the_training_ends_the_capture(error: type[BaseException], tmp_path: Path) -> None:
    import torch

    def work() -> None:
        torch.ones(4, 4) @ torch.ones(4, 4)
        raise error("mine")

    with pytest.raises(error, match="mine"):
        run(tmp_path, work)
    (folder,) = tmp_path.glob("*_ascend_pt")
    assert "aten::mm" in operators(Raw(folder))
    assert (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").exists()


@pytest.mark.parametrize(
    ("moment", "observes"),
    [
        ("start_trace", True),
        pytest.param("start_trace", False, marks=pytest.mark.full),
        pytest.param("start_operators", False, marks=pytest.mark.full),
        ("stop", False),
    ],
)
def test_control_c_leaves_no_profiler_of_pytorch_behind(
    moment: str, observes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook the next capture begins; a folder in which nothing was recorded is gone."""
    import torch

    if observes and not observer.is_there():
        pytest.skip("the observer is not built: see docs/capture.md")
    monkeypatch.setattr(observer, "is_there", lambda: observes)
    owner: Any = torch.profiler._KinetoProfile if moment == "start_trace" else torch_profiler
    do, interrupts = getattr(owner, moment), [KeyboardInterrupt]

    def interrupted(*arguments: Any) -> None:
        if moment != "stop" or not interrupts:
            do(*arguments)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(owner, moment, interrupted)
    plan = None if moment == "start_trace" else profiler.schedule(0, 2, 1)
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    with pytest.raises(KeyboardInterrupt), profiler.profile(on_trace_ready=handler, schedule=plan) as prof:
        prof.step()
    assert not torch_profiler.is_running()
    assert list(tmp_path.iterdir()) == []
    assert "aten::mm" in operators(run(tmp_path, lambda: torch.ones(4, 4) @ torch.ones(4, 4)))


@pytest.mark.parametrize("name", ["back\\slash \udc80"])
def test_folders_with_names_that_pytorch_does_not_take(name: str, tmp_path: Path) -> None:
    import torch

    raw = run(tmp_path / name, lambda: torch.ones(4, 4) @ torch.ones(4, 4))
    assert "aten::mm" in operators(raw)
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_threads_that_ask_for_it_are_recorded(tmp_path: Path) -> None:
    import torch

    tids: dict[str, int] = {}

    def thread(name: str, asks: bool) -> None:
        tids[name] = threading.get_native_id()
        torch.zeros(3).sin()
        if asks:
            profiler.profile.enable_profiler_in_child_thread()
            torch.zeros(3).cos()
            profiler.profile.disable_profiler_in_child_thread()
        torch.zeros(3).tan()

    def work() -> None:
        for name, asks in (("asks", True), ("does not", False)):
            one = threading.Thread(target=thread, args=(name, asks))
            one.start()
            one.join()
        torch.zeros(3).exp()

    raw = run(tmp_path, work)
    math = ("aten::sin", "aten::cos", "aten::tan", "aten::exp")
    shown = {(event["name"], event["tid"]) for event in raw.slices if event["name"] in math}
    assert {name for name, _ in shown} == {"aten::cos", "aten::exp"}
    assert ("aten::cos", tids["asks"]) in shown
    kernels = [row["Name"] for row in raw.csv("kernel_details.csv")]
    assert all(any(name in kernel for kernel in kernels) for name in ("Cos", "Exp"))


def test_a_memory_timeline_is_that_of_torch_profiler(tmp_path: Path) -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.Adam(model.parameters())
    with profiler._KinetoProfile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(16, 64)).sum().backward()
            optimizer.step()
    recorder: Any = profile.prof_if._recorded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("raw.json.gz", "plain.json", "packed.json.gz"):
            profile.export_memory_timeline(str(tmp_path / f"ours.{name}"), device="npu:0")
            recorder._profiler.export_memory_timeline(str(tmp_path / f"torch.{name}"), device="cpu")

    def content(name: str) -> Any:
        data = (tmp_path / name).read_bytes()
        return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)

    raw = content("torch.raw.json.gz")
    assert content("ours.raw.json.gz") == raw and len({category for *_, category in raw}) > 4
    for name in ("plain.json", "packed.json.gz"):
        ours, theirs = content(f"ours.{name}"), content(f"torch.{name}")
        assert ours[1][-1] == theirs[1][-1] and max(map(sum, ours[1])) == max(map(sum, theirs[1]))
