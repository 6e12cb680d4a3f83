"""A GPU waits because its tasks take less time than their launches."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import idle_rule
from tb_npu_plugin.analysis.findings.late_launches import LAUNCH_BOUND

_FIX = Fix(torch="fix.launch_bound")
RULE = idle_rule("launch_bound", "host", (LAUNCH_BOUND,), "finding.launch_bound", _FIX, device="GPU")
