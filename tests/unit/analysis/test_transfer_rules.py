"""Rules about transfers on hand-made captures: one that is healthy, and what changes the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis.findings import contention, retransmission, transfers
from tb_npu_plugin.analysis.findings.model import Finding, Rule
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.communicators import group_hash
from tests.support.span import TestSpan, table_of

MS = 1_000_000
RULES = (transfers.BYTE_ALIGNMENT, contention.RULE, retransmission.RULE, transfers.SMALL_PACKETS)
GROUP = "10.0.0.1%eth0_60000_1"
ALIGNED, UNALIGNED = 16_000_000, 16_000_001


def rank(
    number: int,
    times: tuple[int, ...] = (20, 20, 20),
    speed: float = 15,
    size: int = ALIGNED,
    transport: str = "HCCS",
    apart: int = 10,
    kernels: tuple[tuple[str, int, int], ...] = (("MatMulV2", 0, 10), ("Add", 30, 10), ("MatMulV2", 60, 10)),
    role: str = "dp",
    **more: Any,
) -> TestSpan:
    """A step of 100 ms or more. times: elapsed ms of the collectives, which run one after the other, `apart` ms apart, and
    transfer all the time. speed: GB/s. kernels: type, start and duration, ms."""
    start, ops, moved, packets = 10, [], [], []
    for place, time in enumerate(times):
        name = {"step": "1", "kind": "collective", "name": f"allReduce_{place}", "group": group_hash(GROUP)}
        spent = {"elapse_ns": time * MS, "transit_ns": time * MS, "wait_ns": 0, "sync_ns": 0}
        ops.append({**name, "start_ns": start * MS, **spent})
        link = {**name, "transport": transport, "time_ns": time * MS}
        moved.append({**link, "rollup": 0, "size_bytes": round(time * MS * speed)})
        packets.append({**link, "packet_bytes": size, "count": round(time * MS * speed / size)})
        start += time + apart
    busy = [
        {"step": "1", "type": kind, "name": kind, "core": "AI_CORE", "start_ns": at * MS, "dur_ns": dur * MS}
        for kind, at, dur in kernels
    ]
    step = {"computing": 30, "communication_not_overlapped": sum(times), "overlapped": 0, "free": 10}
    budget = {"step": "1", "device_id": 0, "bubble": 0} | {key: time * MS for key, time in step.items()}
    rows = {"comm_ops": ops, "comm_bandwidth": moved, "comm_packets": packets, "kernels": busy, "step_trace": [budget]}
    tables = {name: table_of(name, found) for name, found in rows.items()}
    capture = Capture(rank=number, groups={GROUP: {"group_name": role, "global_ranks": [0, 1]}})
    return TestSpan(tables, capture, token=f"s{number}", **more)


def found(rule: Rule, **unusual: Any) -> list[Finding]:
    run = RunData([rank(0), rank(1, **unusual)] if "times" not in unusual else [rank(0, **unusual), rank(1, **unusual)])
    assert rule.missing(run) is None
    return list(rule.find(run))


HIDDEN, BESIDE = (("MatMulV2", 0, 200),), (("MatMulV2", 0, 20), ("MatMulV2", 45, 5), ("MatMulV2", 75, 5))


@pytest.mark.parametrize(
    ("rule", "unusual", "expected"),
    [
        (transfers.SMALL_PACKETS, {}, None),
        (transfers.SMALL_PACKETS, {"size": 1_000_000, "speed": 7.2}, 30),
        (transfers.SMALL_PACKETS, {"size": 1_000_000}, None),  # small, but as fast as large ones
        (transfers.SMALL_PACKETS, {"size": 1_500_000, "speed": 5, "transport": "RDMA"}, None),
        (transfers.SMALL_PACKETS, {"size": 500_000, "speed": 5, "transport": "RDMA"}, 30),
        (transfers.BYTE_ALIGNMENT, {"size": UNALIGNED}, None),
        (transfers.BYTE_ALIGNMENT, {"size": UNALIGNED, "speed": 7.2}, 30),
        (transfers.BYTE_ALIGNMENT, {"speed": 7.2}, None),
        (transfers.BYTE_ALIGNMENT, {"size": UNALIGNED, "speed": 5, "transport": "RDMA"}, None),
        (contention.RULE, {"speed": 7.2}, None),  # slow without matrix products, too
        (contention.RULE, {"speed": 7.2, "kernels": BESIDE}, 30),
        (contention.RULE, {"speed": 7.2, "kernels": HIDDEN}, None),
        (contention.RULE, {"kernels": BESIDE}, None),
        (retransmission.RULE, {"transport": "RDMA"}, None),
        (retransmission.RULE, {"transport": "RDMA", "times": (4100, 20, 20)}, 4100),
        (retransmission.RULE, {"times": (4100, 20, 20)}, None),
    ],
)
def test_a_transfer_is_named_where_it_loses_time(rule: Any, unusual: dict[str, Any], expected: float | None) -> None:
    findings = found(rule, **unusual)
    assert [pytest.approx(one.cost_ns / MS, rel=0.01) for one in findings] == ([] if expected is None else [expected])
    for one in findings:
        assert one.part == "communication" and one.costs == {"transfer": one.cost_ns}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_a_rule_says_what_is_missing(rule: Rule) -> None:
    bare = [TestSpan(capture=Capture(rank=number), token=f"s{number}") for number in (0, 1)]
    assert rule.missing(RunData(bare)) is not None
    assert rule.missing(RunData(bare[:1])) is None and rule.find(RunData(bare[:1])) == []
