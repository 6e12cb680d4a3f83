"""The device idles while the host compiles operators."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.idle import finding_of, highest_cost, missing_launches
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message


def find(run: RunData) -> list[Finding]:
    """The rank whose device waits longest for compilers."""
    found = highest_cost(run, "compile")
    if found is None:
        return []
    message = Message(
        "finding.operator_compile", rank=found.rank, time=found.time, share=found.percent, place=found.place
    )
    return [
        finding_of(
            found,
            RULE.id,
            RULE.category,
            message,
            Message("fix.operator_compile" if run.is_torch else "fix.operator_compile.mindspore"),
        )
    ]


def missing(run: RunData) -> Optional[Unchecked]:
    """Launches in a trace."""
    return missing_launches(run, RULE.id)


RULE = Rule("operator_compile", "host", find, missing)
