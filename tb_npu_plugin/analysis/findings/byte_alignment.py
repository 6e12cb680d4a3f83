"""Transfers whose size is not a multiple of 512 bytes, which links move slower."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.waiting import RDMA
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent, speed
from tb_npu_plugin.analysis.findings.transfers import is_costly, missing_table, packet_uses, transfer_finding
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import Table

#: Size of which SDMA packets should be a multiple, bytes; packets up to it need not be.
_ALIGNED = 512
#: Least share of packets, by number.
_LEAST_PACKETS = 0.2


def find(run: RunData) -> list[Finding]:
    """The rank that loses most to packets that are not aligned, if these are many and slow."""
    uses = [use for use in packet_uses(run, _are_unaligned) if use.share >= _LEAST_PACKETS]
    use = max(uses, key=lambda one: one.lost, default=None)
    if use is None or not is_costly(run, use.lost):
        return []
    message = Message(
        "finding.byte_alignment", share=percent(use.share), time=duration(use.time), speed=speed(use.bandwidth)
    )
    return [
        transfer_finding(
            RULE, run, use.span, message, use.lost, Message("fix.byte_alignment"), Message("check.byte_alignment")
        )
    ]


def _are_unaligned(packets: Table) -> NDArray[np.bool_]:
    size = packets.ints("packet_bytes")
    return np.asarray((size > _ALIGNED) & (size % _ALIGNED != 0) & ~packets.text("transport").equals(RDMA))


def missing(run: RunData) -> Optional[Unchecked]:
    """Packets by size."""
    return missing_table(run, RULE.id, "comm_packets")


RULE = Rule("byte_alignment", "communication", find, missing)
