"""Transfers of a run that several rules judge: packets by size, with the time that they lose against a link's bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import FloatArray, Table, known

#: Bandwidth that large transfers reach on a link, 1e9 bytes per second: 80 % of the empirical HCCS 18, PCIe 20, RDMA 12.5
#: (the advisor of msprof-analyze).
EXPECTED = {"HCCS": 14.4, "PCIE": 16.0, "RDMA": 10.0}
#: Item of the part "communication" that these rules share, so that no transfer counts twice.
TRANSFER = "transfer"
#: Least cost of a finding, as a share of the step, and ns per step: short transfers measure latency, not bandwidth.
LEAST_SHARE, LEAST_LOST_NS = 0.01, 500_000


@dataclass(frozen=True)
class PacketUse:
    """Some packets of a rank. time, lost: ns per step; lost: time beyond what EXPECTED takes. bandwidth: 1e9 bytes/s."""

    span: SpanData
    share: float
    time: float
    lost: float
    bandwidth: float


def packet_uses(run: RunData, choose: Callable[[Table], NDArray[np.bool_]]) -> list[PacketUse]:
    """The chosen packets of each rank. Links run side by side, so the time of packets is scaled to that of their operator."""
    found = [_use(run, span, choose) for span in run.spans]
    return [one for one in found if one is not None]


def _use(run: RunData, span: SpanData, choose: Callable[[Table], NDArray[np.bool_]]) -> Optional[PacketUse]:
    ops, packets = span.table("comm_ops"), span.table("comm_packets")
    if ops is None or packets is None:
        return None
    usable = known(packets.ints("packet_bytes")) & known(packets.ints("time_ns")) & (packets.ints("time_ns") > 0)
    packets = packets.take(usable & packets.text("transport").isin(EXPECTED))
    chosen = choose(packets)
    if not chosen.any():
        return None
    counts, sizes, times = (packets.ints(key) for key in ("count", "packet_bytes", "time_ns"))
    wall = _wall_times(ops, packets)
    least = np.array([EXPECTED[name or ""] for name in packets.text("transport").tolist()])
    lost = wall * np.maximum(0.0, 1 - sizes * counts / times / least)
    return PacketUse(
        span,
        share=float(counts[chosen].sum() / max(1, counts.sum())),
        time=float(wall[chosen].sum()) / run.step_count,
        lost=float(lost[chosen].sum()) / run.step_count,
        bandwidth=float((sizes * counts)[chosen].sum() / times[chosen].sum()),
    )


def _wall_times(ops: Table, packets: Table) -> FloatArray:
    """Part of the transfer time of its operator that each row of packets takes, ns."""
    keys = ("step", "kind", "name", "group")
    groups = Groups([packets.text(key) for key in keys], len(packets))
    transit = dict(zip(zip(*(ops.text(key).tolist() for key in keys)), np.maximum(ops.ints("transit_ns"), 0).tolist()))
    places = zip(*(packets.text(key).take(groups.first).tolist() for key in keys))
    time = np.array([transit.get(place, 0) for place in places], dtype=np.float64)
    return np.asarray(
        packets.ints("time_ns") * (time / np.maximum(groups.sum(packets.ints("time_ns")), 1))[groups.of_row]
    )


def is_costly(run: RunData, lost: float) -> bool:
    """Whether a loss per step, ns, is worth a finding."""
    return run.step_ns > 0 and lost >= max(LEAST_SHARE * run.step_ns, LEAST_LOST_NS)


def transfer_finding(
    rule: Rule,
    run: RunData,
    span: SpanData,
    message: Message,
    cost: float,
    fix: Message,
    check: Message,
    operator: Optional[str] = None,
) -> Finding:
    """A finding about the transfers of a rank."""
    name = span.worker_label if span.capture.rank is None else None
    return Finding(
        rule=rule.id,
        category=rule.category,
        subject=Subject(span.capture.rank, name, operator=operator),
        message=message,
        cost_ns=round(cost),
        cost_kind="upper bound",
        part="communication",
        confidence=Confidence("measured"),
        evidence=(Evidence("distributed", table="transports"), Evidence("trace", span.token)),
        fix=(fix,),
        check=check,
        costs={TRANSFER: round(cost)},
    )


def missing_table(run: RunData, rule: str, table: str) -> Optional[Unchecked]:
    """A table of communication.json; runs of one rank do not communicate."""
    if any(span.rows(table) is not None for span in run.spans) or (run.world_size or len(run.spans)) < 2:
        return None
    return Unchecked(rule, Message("unchecked.no_communication"), "profiler_level=ProfilerLevel.Level1")
