"""Calls of torch.distributed that a capture notes: tested with stand-ins, without a process group."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tb_npu_plugin.capture.api import communication, ranks
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded
from tests.unit.capture.scripts import needs_torch


@needs_torch
def test_each_kind_of_call_is_noted(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "communicator", lambda group: group)
    work = SimpleNamespace()
    reduce = communication._record_calls(lambda group: work)
    send = communication._noted_with_peer(lambda group, tensors, peer: None)
    batch = communication._noted_batch(lambda: send("all", [], 3))
    wait = communication._noted_wait(lambda work: "done")
    lookup = communication._noted_lookup(lambda name: name)
    forward = communication._noted_parallel(lambda model: "output")
    with profile(experimental_config=_ExperimentalConfig("Level1")):
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
