"""The device idles because of the host: a rule for each cause, the last for no cause that another rule names."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from tb_npu_plugin.analysis.findings import late_launches
from tb_npu_plugin.analysis.findings.fixes import Fix, is_set
from tb_npu_plugin.analysis.findings.idle import IdleCost, finding_of, highest_cost, idle_rule, missing_trace
from tb_npu_plugin.analysis.findings.late_launches import PREEMPTED, SILENT, has_collections
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message

_MEMORY = Fix(torch="fix.allocator", gpu="fix.allocator.gpu", mindspore="fix.allocator.mindspore")
_COMPILE = Fix("fix.operator_compile", torch="fix.operator_compile.torch")
_BINDING = Fix("fix.core_binding.common", torch="fix.core_binding", mindspore="fix.core_binding.mindspore")
_GRAPHS = Fix(torch="fix.launch_bound")
_STILL = Fix("fix.conjectured_gc", torch="fix.conjectured_gc.torch", gpu="fix.conjectured_gc")
_SCRIPT = Fix("fix.host_bound.script")
_LATE = Fix(
    "fix.host_bound", torch="fix.host_bound.torch", gpu="fix.host_bound.gpu", mindspore="fix.host_bound.mindspore"
)
#: Environment variable and the value that it should have ("": any) -> what to do without it, on an NPU.
_SETTINGS = (
    ("TASK_QUEUE_ENABLE", "2", Fix(torch="fix.host_bound.queue")),
    ("CPU_AFFINITY_CONF", "", Fix(torch="fix.core_binding", mindspore="fix.core_binding.mindspore")),
)


def _find_collections(run: RunData) -> list[Finding]:
    """The rank whose device idles longest during collections."""
    found = highest_cost(run, "garbage_collection")
    if found is None:
        return []
    rule = GARBAGE_COLLECTION
    message = Message("finding.garbage_collection", rank=found.rank, time=found.time, share=found.percent)
    return [finding_of(found, rule.id, rule.category, message, (Message("fix.garbage_collection"),))]


def _missing_collections(run: RunData) -> Optional[Unchecked]:
    """Collections in a trace, if launches are late enough to matter."""
    if highest_cost(run, "host_late") is not None and not any(has_collections(span) for span, _ in run.idle):
        option = "gc_detect_threshold=1.0" if run.recorded.has_npu and run.recorded.is_torch else ""
        return Unchecked(GARBAGE_COLLECTION.id, Message("unchecked.no_garbage_collection"), option)
    return missing_trace(run, GARBAGE_COLLECTION.id)


def _find_conjectured(run: RunData) -> list[Finding]:
    """The rank whose host stands still for longest; where collections were recorded, they are not the reason."""
    return [] if any(has_collections(span) for span, _ in run.idle) else list(_SILENT.find(run))


def _fix_host(run: RunData, found: IdleCost) -> tuple[Message, ...]:
    if found.is_of_script:
        return _SCRIPT.of(run)
    unset = [fix for name, value, fix in _SETTINGS if run.recorded.has_npu and not is_set(run, name, value)]
    return (*_LATE.of(run), *(text for fix in unset for text in fix.of(run)))


#: Python collects garbage.
GARBAGE_COLLECTION = Rule("garbage_collection", "host", _find_collections, _missing_collections)
_SILENT = idle_rule("conjectured_gc", "host", (SILENT,), "finding.conjectured_gc", _STILL, "inferred")
#: The host stands still: Python may collect garbage, which the profiler did not record.
CONJECTURED_GC = replace(_SILENT, find=_find_conjectured)
#: The host compiles operators.
COMPILE = idle_rule("operator_compile", "host", ("compile",), "finding.operator_compile", _COMPILE, device="NPU")
#: The host allocates or frees device memory.
ALLOCATOR = idle_rule("allocator", "memory", ("allocator",), "finding.allocator", _MEMORY)
#: A launch call stands still: another process has the core of the launching thread.
CORE_BINDING = idle_rule(
    "core_binding", "host", (PREEMPTED,), "finding.core_binding", _BINDING, "inferred", device="NPU"
)
#: A GPU waits because its tasks take less time than their launches.
LAUNCH_BOUND = idle_rule(
    "launch_bound", "host", (late_launches.LAUNCH_BOUND,), "finding.launch_bound", _GRAPHS, device="GPU"
)
#: The host launches kernels late, for no reason that another rule names.
HOST_BOUND = idle_rule("host_bound", "host", ("host_late",), "finding.host_bound", _fix_host)
