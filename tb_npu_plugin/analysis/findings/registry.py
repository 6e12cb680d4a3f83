"""All rules. A new rule is a module with RULE and a line here."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings import (
    byte_alignment,
    contention,
    input_bound,
    retransmission,
    slow_link,
    small_packets,
    stage_imbalance,
    straggler,
    unprofiled_rank,
)
from tb_npu_plugin.analysis.findings.model import Rule

RULES: tuple[Rule, ...] = (
    straggler.RULE,
    unprofiled_rank.RULE,
    stage_imbalance.RULE,
    slow_link.RULE,
    small_packets.RULE,
    contention.RULE,
    retransmission.RULE,
    byte_alignment.RULE,
    input_bound.RULE,
)
