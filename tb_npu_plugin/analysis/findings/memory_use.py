"""Memory of the device: fragmentation, growth from step to step, and what is live at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix, is_set
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import percent, rank_name, size
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.memory import AllocatorPeak, allocator_peak, live_at
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import IntArray, Table

#: Reserved but not allocated memory at the peak, as a share of reserved memory.
_LEAST_FRAGMENTED = 0.2
#: Growth of the least allocated memory of a step to that of the next, by the peak; and least number of such steps.
_LEAST_GROWTH, _LEAST_STEPS = 0.01, 3
#: Operators that a sentence names.
_NAMED = 3
_FRAGMENTED_FIX = Fix(torch="fix.fragmentation.torch", mindspore="fix.fragmentation.mindspore")
_MAPPED_FIX = Fix("fix.fragmentation")
_LEAK_FIX = Fix("fix.leak", torch="fix.leak.torch", mindspore="fix.leak.mindspore")
_PEAK_FIX = Fix(
    "fix.peak_holders",
    torch="fix.peak_holders.torch",
    megatron="fix.peak_holders.megatron",
    mindspore="fix.peak_holders.mindspore",
)


def _finding(
    rule: Rule, span: SpanData, ranks: int, message: Message, fix: tuple[Message, ...], check: Optional[Message] = None
) -> Finding:
    """Memory costs no time, but training fails without it."""
    return Finding(
        rule=rule.id,
        category="memory",
        subject=Subject.of(span),
        message=message,
        cost_ns=0,
        part="computing",
        confidence=Confidence("confirmed" if ranks > 1 else "measured", ranks),
        evidence=(Evidence("memory", span.token),),
        fix=fix,
        check=check,
    )


def _peaks(run: RunData) -> list[tuple[SpanData, AllocatorPeak]]:
    """Peak of the allocators on each NPU."""
    return [(span, allocator_peak(run.allocators[span.token])) for span in run.spans if span.token in run.allocators]


def find_fragmentation(run: RunData) -> list[Finding]:
    """The rank whose reserved memory is most fragmented at its peak."""
    found = [(span, peak) for span, peak in _peaks(run) if peak.fragmentation > _LEAST_FRAGMENTED]
    if not found:
        return []
    span, peak = max(found, key=lambda one: one[1].fragmentation)
    message = Message(
        "finding.fragmentation",
        rank=rank_name(span),
        share=percent(peak.fragmentation),
        reserved=size(peak.reserved),
        allocated=size(peak.allocated),
    )
    is_mapped = is_set(run, "PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True")
    fix = (_MAPPED_FIX if is_mapped else _FRAGMENTED_FIX).of(run)
    return [_finding(FRAGMENTATION, span, len(found), message, fix, Message("check.fragmentation"))]


def find_leak(run: RunData) -> list[Finding]:
    """The rank whose least allocated memory grows most from step to step."""
    found = []
    for rank in run.kernels:
        troughs, peak = least_of_steps(rank, run.allocators.get(rank.span.token))
        growth = np.diff(troughs)
        if len(troughs) >= _LEAST_STEPS and (growth >= _LEAST_GROWTH * peak).all():
            found.append((float(growth.mean()), rank, len(troughs)))
    if not found:
        return []
    growth_of, rank, steps = max(found, key=lambda one: one[0])
    message = Message("finding.leak", rank=rank.name, size=size(growth_of), count=steps)
    return [_finding(LEAK, rank.span, len(found), message, _LEAK_FIX.of(run), Message("check.leak"))]


def least_of_steps(rank: RankKernels, records: Optional[Table]) -> tuple[IntArray, int]:
    """Least allocated memory of each step and the largest of all, bytes. A step begins with its first kernel; steps without
    a record are left out. records: see `allocator_records`."""
    marked = rank.marked
    if records is None or not len(marked):
        return np.zeros(0, dtype=np.int64), 0
    groups = Groups([marked.text("step")], len(marked))
    starts = np.sort(groups.min(marked.ints("start_ns")))
    end = int((marked.ints("start_ns") + marked.ints("dur_ns")).max())
    time, allocated = records.ints("time_ns"), records.ints("allocated_bytes")
    bounds = np.searchsorted(time, [*starts.tolist(), end])
    parts = [allocated[first:last] for first, last in zip(bounds, bounds[1:]) if last > first]
    return np.asarray([part.min() for part in parts], dtype=np.int64), int(allocated.max(initial=0))


def find_peak_holders(run: RunData) -> list[Finding]:
    """What holds most memory at the peak of the rank with the highest."""
    peaks = [(span, peak) for span, peak in _peaks(run) if span.table("op_memory") is not None]
    if not peaks:
        return []
    span, peak = max(peaks, key=lambda one: one[1].allocated)
    allocations = span.table("op_memory")
    assert allocations is not None
    live = live_at(allocations, peak.at)
    if not len(live):
        return []
    groups = Groups([live.text("name")], len(live))
    sums = groups.sum(live.ints("size_bytes"))
    all_names = live.text("name").take(groups.first).tolist()
    order = np.array(sorted(range(len(all_names)), key=lambda place: (-int(sums[place]), all_names[place] or "")))[
        :_NAMED
    ]
    names: Sequence[Optional[str]] = [all_names[place] for place in order.tolist()]
    message = Message(
        "finding.peak_holders",
        rank=rank_name(span),
        allocated=size(peak.allocated),
        operators=", ".join(f"{name or '–'} {size(held)}" for name, held in zip(names, sums[order].tolist())),
        share=percent(min(float(live.ints("size_bytes").sum()) / peak.allocated, 1.0)),
    )
    return [_finding(PEAK_HOLDERS, span, 1, message, _PEAK_FIX.of(run))]


def _missing(rule: str, run: RunData, *tables: str) -> Optional[Unchecked]:
    """What a rule lacks that needs these tables."""
    if not run.recorded.has_npu or any(all(span.table(name) is not None for name in tables) for span in run.spans):
        return None
    return Unchecked(rule, Message("unchecked.no_memory"), "profile_memory=True")


def _missing_for_leak(run: RunData) -> Optional[Unchecked]:
    found = _missing("leak", run, "memory_record")
    if found is not None or not run.recorded.has_npu:
        return found
    if run.kernels and run.marked_steps >= _LEAST_STEPS:
        return None
    count = sum(step is not None for step in run.steps)
    return Unchecked("leak", Message("unchecked.few_steps", count=count, least=_LEAST_STEPS), "schedule(active=3)")


FRAGMENTATION = Rule(
    "fragmentation", "memory", find_fragmentation, lambda run: _missing("fragmentation", run, "memory_record"), "NPU"
)
LEAK = Rule("leak", "memory", find_leak, _missing_for_leak, "NPU")
PEAK_HOLDERS = Rule(
    "peak_holders",
    "memory",
    find_peak_holders,
    lambda run: _missing("peak_holders", run, "memory_record", "op_memory"),
    "NPU",
)
