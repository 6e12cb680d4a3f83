"""The device idles while the host allocates or frees device memory."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import idle_rule

_FIX = Fix(torch="fix.allocator", gpu="fix.allocator.gpu", mindspore="fix.allocator.mindspore")
RULE = idle_rule("allocator", "memory", ("allocator",), "finding.allocator", _FIX)
