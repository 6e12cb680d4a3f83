"""All rules. A new rule is a module with RULE and a line here."""

from __future__ import annotations

from typing import Optional

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
    expert_imbalance,
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
from tb_npu_plugin.analysis.findings.model import Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message

RULES: tuple[Rule, ...] = (
    straggler.RULE,
    unprofiled_rank.RULE,
    stage_imbalance.RULE,
    bubble.RULE,
    expert_imbalance.RULE,
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
#: Rules about devices that only an NPU has, or that use files that only its profilers write.
_NPU_ONLY = (
    ai_cpu.RULE,
    block_dim.RULE,
    byte_alignment.RULE,
    compute_bound.RULE,
    contention.RULE,
    core_binding.RULE,
    dynamic_shapes.RULE,
    expert_imbalance.RULE,
    format_conversions.RULE,
    frequency_drop.RULE,
    fusion.RULE,
    memory_bound.RULE,
    memory_use.FRAGMENTATION,
    memory_use.LEAK,
    memory_use.PEAK_HOLDERS,
    operator_compile.RULE,
    optimizer.RULE,
    retransmission.RULE,
    slow_link.RULE,
    small_packets.RULE,
    under_utilised.RULE,
)
_DEVICE = {**{rule.id: "NPU" for rule in _NPU_ONLY}, launch_bound.RULE.id: "GPU"}
_SEVERAL_RANKS = frozenset(
    rule.id
    for rule in (
        straggler.RULE,
        unprofiled_rank.RULE,
        stage_imbalance.RULE,
        bubble.RULE,
        expert_imbalance.RULE,
        slow_link.RULE,
        exposed_communication.RULE,
        small_packets.RULE,
        contention.RULE,
        retransmission.RULE,
        byte_alignment.RULE,
    )
)
_TRAINING = frozenset((bubble.RULE.id, optimizer.RULE.id))


def inapplicable(rule: Rule, run: RunData) -> Optional[Unchecked]:
    """Why a rule has nothing to check in a run: another kind of device, one rank, no backward pass. None if it applies."""
    device = _DEVICE.get(rule.id)
    reason = None
    if run.recorded.is_of_cpu:
        reason = Message("unchecked.for_devices")
    elif device is not None and device not in run.recorded.device_kinds:
        reason = Message("unchecked.for_device", device=device)
    elif rule.id in _SEVERAL_RANKS and run.has_one_rank:
        reason = Message("unchecked.for_ranks")
    elif rule.id in _TRAINING and not run.recorded.may_train:
        reason = Message("unchecked.for_training")
    return None if reason is None else Unchecked(rule.id, reason, "", "not_applicable")
