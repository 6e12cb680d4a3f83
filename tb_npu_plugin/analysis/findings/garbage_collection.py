"""The device idles while Python collects garbage."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.idle import finding_of, highest_cost, missing_trace
from tb_npu_plugin.analysis.findings.late_launches import has_collections
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message


def find(run: RunData) -> list[Finding]:
    """The rank whose device idles longest during collections."""
    found = highest_cost(run, "garbage_collection")
    if found is None:
        return []
    message = Message("finding.garbage_collection", rank=found.rank, time=found.time, share=found.percent)
    return [finding_of(found, RULE.id, RULE.category, message, (Message("fix.garbage_collection"),))]


def missing(run: RunData) -> Optional[Unchecked]:
    """Collections in a trace, if launches are late enough to matter."""
    if highest_cost(run, "host_late") is not None and not any(has_collections(span) for span, _ in run.idle):
        option = "gc_detect_threshold=1.0" if run.recorded.has_npu and run.recorded.is_torch else ""
        return Unchecked(RULE.id, Message("unchecked.no_garbage_collection"), option)
    return missing_trace(run, RULE.id)


RULE = Rule("garbage_collection", "host", find, missing)
