"""Most transfers are too small to reach the bandwidth of their links."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.waiting import is_small
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent, speed
from tb_npu_plugin.analysis.findings.transfers import is_costly, missing_table, packet_uses, transfer_finding
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import Table

#: Least share of small packets, by number.
_LEAST_PACKETS = 0.2


def find(run: RunData) -> list[Finding]:
    """The rank that loses most to small packets, if these are many and slow."""
    uses = [use for use in packet_uses(run, _are_small) if use.share > _LEAST_PACKETS]
    use = max(uses, key=lambda one: one.lost, default=None)
    if use is None or not is_costly(run, use.lost):
        return []
    message = Message(
        "finding.small_packets", share=percent(use.share), time=duration(use.time), speed=speed(use.bandwidth)
    )
    return [
        transfer_finding(
            RULE, run, use.span, message, use.lost, Message("fix.small_packets"), Message("check.small_packets")
        )
    ]


def _are_small(packets: Table) -> NDArray[np.bool_]:
    return np.asarray(is_small(packets) == 1)


def missing(run: RunData) -> Optional[Unchecked]:
    """Packets by size."""
    return missing_table(run, RULE.id, "comm_packets")


RULE = Rule("small_packets", "communication", find, missing)
