"""A result that several devices recorded: the figures of each, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.model import Capture
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views import distributed, overview, step_trace
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
STEP_TRACE = table_of(
    "step_trace",
    [
        {
            "device_id": 2,
            "step": "1",
            "computing": 30,
            "communication": 15,
            "communication_not_overlapped": 10,
            "overlapped": 5,
            "free": 10,
            "stage": 50,
            "preparing": 7,
        },
        {
            "device_id": 5,
            "step": "1",
            "computing": 55,
            "communication": 5,
            "communication_not_overlapped": 5,
            "overlapped": 0,
            "free": 0,
            "stage": 60,
            "preparing": 3,
        },
    ],
)


def span(**tables: Table) -> TestSpan:
    return TestSpan(tables, Capture(rank=4))


def steps(found: TestSpan, **params: str) -> Any:
    return step_trace.build(ViewInput([found], params)).data


def test_step_trace_shows_one_device_at_a_time() -> None:
    found = span(kernels=KERNELS)
    first, other = steps(found), steps(found, device="5")
    assert (first["devices"], first["device"], other["device"]) == ([2, 5], 2, 5)
    # step, total, gap to the next step (of the last unknown), forward and backward, tail, communication
    assert [
        tuple(one[key] for key in ("step", "total_ns", "gap_ns", "fp_bp_ns", "tail_ns", "reduce_ns"))
        for one in first["steps"]
    ] == [("1", 60, 10, 40, 10, 15), ("2", 30, None, 30, 0, 0)]
    assert [
        tuple(one[key] for key in ("step", "total_ns", "gap_ns", "fp_bp_ns", "tail_ns", "reduce_ns"))
        for one in other["steps"]
    ] == [("1", 80, 20, 55, 5, 5), ("2", 25, None, 25, 0, 0)]
    assert other["averaged"] == ["1"]


def test_step_trace_takes_preparing_of_the_device_and_refuses_another() -> None:
    found = span(kernels=KERNELS, step_trace=STEP_TRACE)
    assert [steps(found, device=device)["steps"][0]["preparing_ns"] for device in ("2", "5")] == [7, 3]
    assert [steps(found, device=device)["steps"][0]["total_ns"] for device in ("2", "5")] == [50, 60]
    alone = span(step_trace=STEP_TRACE)
    assert [[one["total_ns"] for one in steps(alone, device=device)["steps"]] for device in ("", "5")] == [[50], [60]]
    with pytest.raises(BadRequest):
        steps(found, device="3")
    one = span(kernels=KERNELS.take(KERNELS.ints("device_id") == 2))
    assert (steps(one)["devices"], steps(one)["device"]) == ([2], None)
    single = span(kernels=table_of("kernels", [{"step": "1", "start_ns": 3, "dur_ns": 4}]))
    assert (steps(single)["devices"], steps(single)["device"]) == ([], None)


@pytest.mark.parametrize("tables", [{"kernels": KERNELS}, {"kernels": KERNELS, "step_trace": STEP_TRACE}])
def test_distributed_and_overview_keep_the_devices_apart(tables: dict[str, Table]) -> None:
    found = span(**tables)
    data: Any = distributed.build(ViewInput([found], {})).data
    first = {one["device_id"]: one for one in data["budgets"] if one["step"] == "1"}
    assert len(first) == 2 and {one["rank"] for one in data["budgets"]} == {4}
    wait = 0 if "step_trace" in tables else {2: 10, 5: 20}  # until the next step starts
    for device, (computing, bare, overlapped, free) in {2: (30, 10, 5, 10), 5: (55, 5, 0, 0)}.items():
        one = first[device]
        free += wait[device] if wait else 0
        assert one["computing"] == computing and one["communication_not_overlapped"] == bare
        assert (one["overlapped"], one["free"]) == (overlapped, free)
    shown = {
        (one["step"], one["device_id"]): one["computing"]
        for one in overview.build(ViewInput([found], {})).data["steps"]
    }
    assert shown[("1", 2)] == 30 and shown[("1", 5)] == 55
    # Device 2 pauses for 10 ns between its kernels, device 5 runs through.
    assert (first[2]["idle_at_once"], first[5]["idle_at_once"]) == (10, 0 if "step_trace" not in tables else 3)


def test_what_no_certain_device_did_stands_alone() -> None:
    ops = table_of("comm_ops", [{"step": "1", "kind": "collective", "name": "a", "group": "g", "elapse_ns": 15}])
    data: Any = distributed.build(ViewInput([span(kernels=KERNELS, comm_ops=ops)], {})).data
    of_first = [(one["device_id"], one["computing"], one["elapse"]) for one in data["budgets"] if one["step"] == "1"]
    assert of_first == [(2, 30, None), (5, 55, None), (None, None, 15)]
