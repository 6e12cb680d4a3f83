"""The device idles while a launch call stands still: another process has the core of the launching thread."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.idle import idle_rule
from tb_npu_plugin.analysis.findings.late_launches import PREEMPTED

_CODES = ("finding.core_binding", "fix.core_binding", "fix.core_binding.mindspore", "fix.core_binding")
RULE = idle_rule("core_binding", "host", (PREEMPTED,), _CODES, "inferred")
