"""The device idles while the host allocates or frees device memory."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.idle import idle_rule

_CODES = ("finding.allocator", "fix.allocator", "fix.allocator.mindspore", "fix.allocator.gpu")
RULE = idle_rule("allocator", "memory", ("allocator",), _CODES)
