"""The host blocks until the device is done, and the device idles until it launches again."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.idle import idle_rule
from tb_npu_plugin.analysis.findings.late_launches import AFTER_SYNC

_CODES = ("finding.sync_stream", "fix.sync_stream", "fix.sync_stream.mindspore", "fix.sync_stream.gpu")
RULE = idle_rule("sync_stream", "host", ("synchronization", AFTER_SYNC), _CODES)
