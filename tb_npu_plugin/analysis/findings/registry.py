"""All rules. A new rule is a module with RULE and a line here."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings import (
    allocator,
    garbage_collection,
    host_bound,
    input_bound,
    operator_compile,
    slow_link,
    stage_imbalance,
    straggler,
    sync_stream,
    unprofiled_rank,
)
from tb_npu_plugin.analysis.findings.model import Rule

RULES: tuple[Rule, ...] = (
    straggler.RULE,
    unprofiled_rank.RULE,
    stage_imbalance.RULE,
    slow_link.RULE,
    input_bound.RULE,
    garbage_collection.RULE,
    sync_stream.RULE,
    operator_compile.RULE,
    allocator.RULE,
    host_bound.RULE,
)
