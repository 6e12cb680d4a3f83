"""The device idles while the host compiles operators."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.idle import idle_rule

_CODES = ("finding.operator_compile", "fix.operator_compile", "fix.operator_compile.mindspore", "fix.operator_compile")
RULE = idle_rule("operator_compile", "host", ("compile",), _CODES)
