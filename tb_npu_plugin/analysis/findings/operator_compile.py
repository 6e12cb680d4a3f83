"""The device idles while the host compiles operators."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import idle_rule

_FIX = Fix("fix.operator_compile", torch="fix.operator_compile.torch")
RULE = idle_rule("operator_compile", "host", ("compile",), "finding.operator_compile", _FIX, device="NPU")
