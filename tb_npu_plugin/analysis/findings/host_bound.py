"""The device waits because the host launches late, for no more special reason."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.idle import idle_rule

_CODES = ("finding.host_bound", "fix.host_bound", "fix.host_bound.mindspore", "fix.host_bound.gpu")
RULE = idle_rule("host_bound", "host", ("host_late",), _CODES)
