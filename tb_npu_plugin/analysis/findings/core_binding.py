"""The device idles while a launch call stands still: another process has the core of the launching thread."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import idle_rule
from tb_npu_plugin.analysis.findings.late_launches import PREEMPTED

_FIX = Fix("fix.core_binding.common", torch="fix.core_binding", mindspore="fix.core_binding.mindspore")
RULE = idle_rule("core_binding", "host", (PREEMPTED,), "finding.core_binding", _FIX, "inferred", device="NPU")
