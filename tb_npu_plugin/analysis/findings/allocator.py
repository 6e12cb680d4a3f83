"""The device idles while the host allocates or frees device memory."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.idle import finding_of, highest_cost, missing_launches
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message


def find(run: RunData) -> list[Finding]:
    """The rank whose device waits longest for memory."""
    found = highest_cost(run, "allocator")
    if found is None:
        return []
    message = Message("finding.allocator", rank=found.rank, time=found.time, share=found.percent, place=found.place)
    return [
        finding_of(
            found,
            RULE.id,
            RULE.category,
            message,
            Message("fix.allocator" if run.is_torch else "fix.allocator.mindspore"),
        )
    ]


def missing(run: RunData) -> Optional[Unchecked]:
    """Launches in a trace."""
    return missing_launches(run, RULE.id)


RULE = Rule("allocator", "memory", find, missing)
