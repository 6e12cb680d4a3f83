"""All rules. A new rule is a module with RULE and a line here."""

from __future__ import annotations

from collections.abc import Collection

from tb_npu_plugin.analysis.findings import (
    ai_cpu,
    allocator,
    block_dim,
    bubble,
    byte_alignment,
    capture_quality,
    cluster_outlier,
    compute_bound,
    conjectured_gc,
    contention,
    core_binding,
    dynamic_shapes,
    exposed_communication,
    format_conversions,
    frequency_drop,
    fusion,
    garbage_collection,
    host_bound,
    input_bound,
    launch_bound,
    memory_bound,
    memory_use,
    operator_compile,
    optimizer,
    retransmission,
    slow_host,
    slow_link,
    small_packets,
    stage_imbalance,
    step_gap,
    straggler,
    sync_stream,
    under_utilised,
    unprofiled_rank,
)
from tb_npu_plugin.analysis.findings.model import Rule

RULES: tuple[Rule, ...] = (
    straggler.RULE,
    unprofiled_rank.RULE,
    stage_imbalance.RULE,
    bubble.RULE,
    slow_host.RULE,
    cluster_outlier.RULE,
    slow_link.RULE,
    exposed_communication.RULE,
    small_packets.RULE,
    contention.RULE,
    retransmission.RULE,
    byte_alignment.RULE,
    input_bound.RULE,
    step_gap.RULE,
    garbage_collection.RULE,
    conjectured_gc.RULE,
    sync_stream.RULE,
    operator_compile.RULE,
    allocator.RULE,
    core_binding.RULE,
    launch_bound.RULE,
    host_bound.RULE,
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
#: Rules about one kind of device alone; for runs of others they are not applicable.
_NPU_ONLY = (
    ai_cpu,
    block_dim,
    byte_alignment,
    core_binding,
    dynamic_shapes,
    format_conversions,
    frequency_drop,
    operator_compile,
)
_DEVICE = {**{module.RULE.id: "NPU" for module in _NPU_ONLY}, launch_bound.RULE.id: "GPU"}


def rules_for(devices: Collection[str]) -> tuple[Rule, ...]:
    """The rules that apply to a run on these kinds of devices ("NPU", "GPU")."""
    return tuple(rule for rule in RULES if rule.id not in _DEVICE or _DEVICE[rule.id] in devices)
