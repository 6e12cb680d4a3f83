"""Transfers whose size is not a multiple of 512 bytes, which links move slower."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.waiting import RDMA
from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.transfers import packet_rule
from tb_npu_plugin.tables import Table

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


_FIX = Fix("fix.byte_alignment")
_CODES = ("finding.byte_alignment", "check.byte_alignment")
RULE = packet_rule("byte_alignment", _are_unaligned, LEAST_UNALIGNED, _CODES, _FIX, is_whole=False)
