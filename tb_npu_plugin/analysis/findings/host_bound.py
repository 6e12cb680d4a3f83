"""The device idles because the host launches kernels late, for no reason that another rule names."""

from __future__ import annotations

from tb_npu_plugin.analysis.findings.fixes import Fix, is_set
from tb_npu_plugin.analysis.findings.idle import IdleCost, idle_rule
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message

_SCRIPT = Fix("fix.host_bound.script")
_FIX = Fix(
    "fix.host_bound", torch="fix.host_bound.torch", gpu="fix.host_bound.gpu", mindspore="fix.host_bound.mindspore"
)
#: Environment variable and the value that it should have ("": any) -> what to do without it, on an NPU.
_SETTINGS = (
    ("TASK_QUEUE_ENABLE", "2", Fix(torch="fix.host_bound.queue")),
    ("CPU_AFFINITY_CONF", "", Fix(torch="fix.core_binding", mindspore="fix.core_binding.mindspore")),
)


def _fix(run: RunData, found: IdleCost) -> tuple[Message, ...]:
    if found.is_of_script:
        return _SCRIPT.of(run)
    unset = [fix for name, value, fix in _SETTINGS if run.recorded.has_npu and not is_set(run, name, value)]
    return (*_FIX.of(run), *(text for fix in unset for text in fix.of(run)))


RULE = idle_rule("host_bound", "host", ("host_late",), "finding.host_bound", _fix)
