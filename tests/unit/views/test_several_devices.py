"""A result that several devices recorded: the figures of each, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.model import Capture
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views import distributed, step_trace
from tb_npu_plugin.views.base import ViewInput
from tests.support.span import TestSpan, table_of


def kernel(device: int, step: str, start: int, dur: int, core: str = "AI_CORE") -> dict[str, Any]:
    return {"device_id": device, "step": step, "start_ns": start, "dur_ns": dur, "core": core, "name": "k", "type": "T"}


#: Device 2 computes 10 + 20 and communicates 15, of which 5 beside; device 5 begins its steps earlier and computes longer.
KERNELS = table_of(
    "kernels",
    [
        kernel(2, "1", 100, 10),
        kernel(2, "1", 120, 20),
        kernel(2, "1", 135, 15, "HCCL"),
        kernel(5, "1", 90, 55),
        kernel(5, "1", 145, 5, "HCCL"),
        kernel(2, "2", 160, 30),
        kernel(5, "2", 170, 25),
    ],
)


def span(**tables: Table) -> TestSpan:
    return TestSpan(tables, Capture(rank=4))


def steps(found: TestSpan, **params: str) -> Any:
    return step_trace.build(ViewInput([found], params)).data


def test_step_trace_takes_the_figures_of_the_device_and_refuses_another() -> None:
    keys = ("device_id", "step", "computing", "communication", "free", "stage", "preparing")
    rows = [dict(zip(keys, row)) for row in ((2, "1", 30, 15, 10, 50, 7), (5, "1", 55, 5, 0, 60, 3))]
    figures = table_of("step_trace", rows)
    found, alone = span(kernels=KERNELS, step_trace=figures), span(step_trace=figures)
    assert [steps(found, device=device)["steps"][0]["preparing_ns"] for device in ("2", "5")] == [7, 3]
    assert [[one["total_ns"] for one in steps(alone, device=device)["steps"]] for device in ("", "5")] == [[50], [60]]
    with pytest.raises(BadRequest):
        steps(found, device="3")
    one = span(kernels=KERNELS.take(KERNELS.ints("device_id") == 2))
    assert (steps(one)["devices"], steps(one)["device"]) == ([2], None)


def test_what_no_certain_device_did_stands_alone() -> None:
    ops = table_of("comm_ops", [{"step": "1", "kind": "collective", "name": "a", "group": "g", "elapse_ns": 15}])
    data: Any = distributed.build(ViewInput([span(kernels=KERNELS, comm_ops=ops)], {})).data
    of_first = [(one["device_id"], one["computing"], one["elapse"]) for one in data["budgets"] if one["step"] == "1"]
    assert of_first == [(2, 30, None), (5, 55, None), (None, None, 15)]
