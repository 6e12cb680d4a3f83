"""What a capture hooks into the process: functions, garbage collections, calls of torch.distributed."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture.api import communication, ranks
from tb_npu_plugin.capture.api.enums import ProfilerActivity
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.hooks import Patches
from tests.unit.capture.api.conftest import Recorded, make_profile, quiet
from tests.unit.capture.scripts import needs_torch

CPU, NPU = ProfilerActivity
MODULE = "patched_by_a_test"


class Method:
    """Like a C++ method: bound through an instance, a plain function through its class."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return len if instance is None else lambda: f"bound to {instance}"


class Base:
    def inherited(self) -> str:
        return "of the base"


class Owner(Base):
    method = Method()

    def __repr__(self) -> str:
        return "it"


def wrapped(_: Callable[..., Any]) -> Callable[..., str]:
    return lambda *args: "wrapped"


def test_functions_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(MODULE)
    vars(module).update(Owner=Owner, one=len, other=max)
    monkeypatch.setitem(sys.modules, MODULE, module)
    before = dict(vars(Owner))
    patches = Patches()
    for path in ("Owner.method", "Owner.inherited", "Owner.missing", "Missing.method", "one", "other"):
        patches.replace(MODULE, path, wrapped)
    instance = Owner()
    assert (instance.method(), instance.inherited()) == ("wrapped", "wrapped")
    vars(module)["one"] = min  # somebody else replaces it
    patches.undo()
    assert (instance.method(), instance.inherited()) == ("bound to it", "of the base")
    assert dict(vars(Owner)) == before
    assert (module.one, module.other) == (min, max)


@pytest.mark.parametrize(
    ("activity", "threshold", "records"),
    [(CPU, 0, True), (NPU, 0, False), (CPU, 60_000, False), pytest.param(CPU, 10**300, False, id="large")],
)
def test_garbage_collections(activity: ProfilerActivity, threshold: float, records: bool, recorded: Recorded) -> None:
    before = list(gc.callbacks)
    with make_profile(activities=[activity], experimental_config=quiet(gc_detect_threshold=threshold)):
        gc.collect()
    gc.collect()
    calls = ["prepare", "start", *["collection"] * records, "stop", "finalize"]
    assert list(dict.fromkeys(recorded.take())) == calls
    [recorder] = recorded.recorders
    start, end = recorder.last.get("collection", (0, 0))
    assert (start < end) == records
    assert (recorder.settings.gc_threshold is None) == (activity is NPU)
    assert gc.callbacks == before


@needs_torch
def test_each_kind_of_call_of_torch_distributed_is_noted(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins, without a process group."""
    monkeypatch.setattr(ranks, "communicator", lambda group: group)
    work = SimpleNamespace()
    reduce = communication._noted(lambda group: work)
    send = communication._noted_with_peer(lambda group, tensors, peer: None)
    batch = communication._noted_batch(lambda: send("all", [], 3))
    wait = communication._noted_wait(lambda work: "done")
    lookup = communication._noted_lookup(lambda name: name)
    forward = communication._noted_parallel(lambda model: "output")
    with make_profile(experimental_config=_ExperimentalConfig("Level1")):
        recorded.take()
        assert reduce("dp") is work
        assert (wait(work), wait(work)) == ("done", "done")  # noted once
        send("pp", [], 1)
        batch()
        assert lookup("tp") == "tp"
        assert forward(SimpleNamespace(process_group="ddp")) == "output"
        assert [entry for entry in recorded.take() if entry != "communicators"] == [
            "communication dp None",
            "waited",
            "communication pp 1",
            "communication all None",
            "batch",
            "communication tp None",
            "communication ddp None",
        ]
    reduce("dp")
    assert recorded.take() == ["stop", "finalize"]
