"""Transfers of a run that several rules judge: packets by size, with the time that they lose against a link's bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.waiting import RDMA, is_small
from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent, speed
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import FloatArray, IntArray, Table, known

#: Bandwidth that large transfers reach on a link, 1e9 bytes per second: 80 % of the empirical HCCS 18, PCIe 20, RDMA 12.5
#: (the advisor of msprof-analyze).
EXPECTED = {"HCCS": 14.4, "PCIE": 16.0, "RDMA": 10.0}
#: Item of the part "communication" that these rules share, so that no transfer counts twice.
TRANSFER = "transfer"
#: Most time that a packet takes beside its transfer, ns (assumed): longer ones wait for something else.
_PACKET_NS = 30_000
#: Packets that are faster than this, relative to EXPECTED, are not to blame for what their operators take beside.
_SLOW = 0.9
#: Least cost of a finding, as a share of the step, and ns per step: short transfers measure latency, not bandwidth.
LEAST_SHARE, LEAST_LOST_NS = 0.01, 500_000


Choose = Callable[[Table], NDArray[np.bool_]]
_KEYS = ("step", "kind", "name", "group")


@dataclass(frozen=True)
class PacketUse:
    """Some packets of a rank. time, lost: ns per step; lost: time beyond what EXPECTED takes. bandwidth: 1e9 bytes/s."""

    span: SpanData
    share: float
    time: float
    lost: float
    bandwidth: float


def packet_rule(
    rule: str, choose: Choose, least_share: float, codes: tuple[str, str], fix: Fix, is_whole: bool
) -> Rule:
    """The rule about packets that are many and slow. least_share: of packets, by number; codes: of finding and check;
    is_whole: the packets are to blame for what their operators take beside the transfer, too."""

    def find(run: RunData) -> list[Finding]:
        """The rank that loses most."""
        lines = [(at, line.span) for at, line in enumerate(run.communication.lines) if line.comm_ops is not None]
        found = (_use(run, at, span, choose, is_whole) for at, span in lines)
        uses = [use for use in found if use is not None and use.share >= least_share]
        use = max(uses, key=lambda one: one.lost, default=None)
        if use is None or not is_costly(run, use.lost):
            return []
        text, check = codes
        message = Message(text, share=percent(use.share), time=duration(use.time), speed=speed(use.bandwidth))
        return [transfer_finding(made, run, use.span, message, use.lost, fix.of(run), Message(check))]

    made = Rule(
        rule, "communication", find, lambda run: missing_table(run, rule, "comm_packets"), "NPU", needs_ranks=True
    )
    return made


def _use(run: RunData, at: int, span: SpanData, choose: Choose, is_whole: bool) -> Optional[PacketUse]:
    """The chosen packets of a rank. Links run side by side, so the time of packets is scaled to that of their operator."""
    ops, packets = span.table("comm_ops"), span.table("comm_packets")
    if ops is None or packets is None:
        return None
    usable = known(packets.ints("packet_bytes")) & known(packets.ints("time_ns")) & (packets.ints("time_ns") > 0)
    packets = packets.take(usable & packets.text("transport").isin(EXPECTED) & run.is_averaged(packets))
    chosen = choose(packets)
    if not chosen.any():
        return None
    counts, sizes, times = (packets.ints(key) for key in ("count", "packet_bytes", "time_ns"))
    transit = np.maximum(ops.ints("transit_ns"), 0)
    wall = whole = _wall_times(ops, packets, transit)
    if is_whole:
        start, end = run.communication.transfer_times(at)
        beside = _wall_times(ops, packets, np.maximum(end - start - transit, 0))
        whole = wall + np.minimum(beside, _PACKET_NS * counts)
    speeds, least = (
        sizes * counts / times,
        np.array([EXPECTED[name or ""] for name in packets.text("transport").tolist()]),
    )
    whole = np.where(speeds < _SLOW * least, whole, wall)
    lost = whole - wall * np.minimum(1.0, speeds / least)
    places = set(zip(*(packets.text(key).take(chosen).tolist() for key in _KEYS)))
    own = np.array([place in places for place in zip(*(ops.text(key).tolist() for key in _KEYS))], dtype=bool)
    return PacketUse(
        span,
        share=float(counts[chosen].sum() / max(1, counts.sum())),
        time=float(whole[chosen].sum()) / run.step_count,
        lost=min(float(lost[chosen].sum()), exposed_time(run, at, own)) / run.step_count,
        bandwidth=float((sizes * counts)[chosen].sum() / times[chosen].sum()),
    )


def exposed_time(run: RunData, at: int, chosen: NDArray[np.bool_]) -> float:
    """Time of these operators of a line, without its wait for the last rank, that no computing hides, ns; infinite if unknown."""
    computing = run.communication.lines[at].computing()
    if computing is None:
        return float("inf")
    start, end = (one[chosen] for one in run.communication.transfer_times(at))
    transfer = intervals.union(start, end)
    return float(intervals.subtract(transfer, computing).total)


def _wall_times(ops: Table, packets: Table, taken: IntArray) -> FloatArray:
    """Part of the time of its operator that each row of packets takes, ns. taken: ns of each operator."""
    groups = Groups([packets.text(key) for key in _KEYS], len(packets))
    times = dict(zip(zip(*(ops.text(key).tolist() for key in _KEYS)), taken.tolist()))
    places = zip(*(packets.text(key).take(groups.first).tolist() for key in _KEYS))
    time = np.array([times.get(place, 0) for place in places], dtype=np.float64)
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
    fix: tuple[Message, ...],
    check: Message,
    operator: Optional[str] = None,
) -> Finding:
    """A finding about the transfers of a rank."""
    return Finding(
        rule=rule.id,
        category=rule.category,
        subject=Subject.of(span, operator=operator),
        message=message,
        cost_ns=round(cost),
        part="communication",
        confidence=Confidence("measured"),
        evidence=(Evidence("distributed", table="transports"), Evidence("trace", span.token)),
        fix=fix,
        check=check,
        costs={TRANSFER: round(cost)},
    )


def missing_table(run: RunData, rule: str, table: str) -> Optional[Unchecked]:
    """A table of communication.json; runs of one rank do not communicate."""
    if any(span.rows(table) is not None for span in run.spans) or (run.world_size or len(run.spans)) < 2:
        return None
    return Unchecked(rule, Message("unchecked.no_communication"), "profiler_level=ProfilerLevel.Level1")


# Most transfers are too small to reach the bandwidth of their links.

#: Least share of small packets, by number.
_LEAST_SMALL = 0.2
_SMALL_FIX = Fix(
    "fix.small_packets",
    torch="fix.small_packets.torch",
    megatron="fix.small_packets.megatron",
    mindspore="fix.small_packets.mindspore",
)


def _are_small(packets: Table) -> NDArray[np.bool_]:
    return np.asarray(is_small(packets) == 1)


_CODES = ("finding.small_packets", "check.small_packets")
SMALL_PACKETS = packet_rule("small_packets", _are_small, _LEAST_SMALL, _CODES, _SMALL_FIX, is_whole=True)

# Links move transfers slower whose size is not a multiple of 512 bytes.

#: Size of which SDMA packets should be a multiple, bytes; packets up to it need not be.
_ALIGNED = 512
#: Least share of packets that are not aligned, by number.
LEAST_UNALIGNED = 0.2


def share_of_unaligned(packets: Table, transport: str) -> float:
    """Share of the packets of a transport, by number; 0 of none."""
    packets = packets.take(packets.text("transport").equals(transport))
    counts = np.maximum(packets.ints("count"), 0)
    return float(counts[_are_unaligned(packets)].sum() / max(1, counts.sum()))


def _are_unaligned(packets: Table) -> NDArray[np.bool_]:
    size = packets.ints("packet_bytes")
    return np.asarray((size > _ALIGNED) & (size % _ALIGNED != 0) & ~packets.text("transport").equals(RDMA))


_UNALIGNED_CODES = ("finding.byte_alignment", "check.byte_alignment")
BYTE_ALIGNMENT = packet_rule(
    "byte_alignment", _are_unaligned, LEAST_UNALIGNED, _UNALIGNED_CODES, Fix("fix.byte_alignment"), is_whole=False
)
