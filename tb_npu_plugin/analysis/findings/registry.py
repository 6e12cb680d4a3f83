"""All rules. A new rule is a module with RULE and a line here."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings import (
    ai_cpu,
    block_dim,
    capture_quality,
    compute_bound,
    dynamic_shapes,
    format_conversions,
    frequency_drop,
    fusion,
    input_bound,
    memory_bound,
    memory_use,
    optimizer,
    slow_link,
    stage_imbalance,
    straggler,
    under_utilised,
    unprofiled_rank,
)
from tb_npu_plugin.analysis.findings.model import Rule

RULES: tuple[Rule, ...] = (
    straggler.RULE,
    unprofiled_rank.RULE,
    stage_imbalance.RULE,
    slow_link.RULE,
    input_bound.RULE,
    ai_cpu.RULE,
    dynamic_shapes.RULE,
    format_conversions.RULE,
    frequency_drop.RULE,
    under_utilised.RULE,
    memory_bound.RULE,
    compute_bound.RULE,
    block_dim.RULE,
    optimizer.RULE,
    fusion.RULE,
    memory_use.FRAGMENTATION,
    memory_use.LEAK,
    memory_use.PEAK_HOLDERS,
    capture_quality.RULE,
)
