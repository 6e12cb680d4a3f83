"""The device idles while the host stands still: Python may collect garbage, which the profiler did not record."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import idle_rule
from tb_npu_plugin.analysis.findings.late_launches import SILENT, has_collections
from tb_npu_plugin.analysis.findings.model import Finding
from tb_npu_plugin.analysis.findings.run_data import RunData

_FIX = Fix("fix.conjectured_gc", torch="fix.conjectured_gc.torch", gpu="fix.conjectured_gc")
_STILL = idle_rule("conjectured_gc", "host", (SILENT,), "finding.conjectured_gc", _FIX, "inferred")


def find(run: RunData) -> list[Finding]:
    """The rank whose host stands still for longest; where collections were recorded, they are not the reason."""
    return [] if any(has_collections(span) for span, _ in run.idle) else list(_STILL.find(run))


RULE = replace(_STILL, find=find)
