"""Most transfers are too small to reach the bandwidth of their links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.waiting import is_small
from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.transfers import packet_rule
from tb_npu_plugin.tables import Table

#: Least share of small packets, by number.
_LEAST_PACKETS = 0.2


def _are_small(packets: Table) -> NDArray[np.bool_]:
    return np.asarray(is_small(packets) == 1)


_FIX = Fix(
    "fix.small_packets",
    torch="fix.small_packets.torch",
    megatron="fix.small_packets.megatron",
    mindspore="fix.small_packets.mindspore",
)
_CODES = ("finding.small_packets", "check.small_packets")
RULE = packet_rule("small_packets", _are_small, _LEAST_PACKETS, _CODES, _FIX, is_whole=True)
