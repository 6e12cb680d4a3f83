"""The memory files of ASCEND_PROFILER_OUTPUT. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile

MEMORY = Condition("profile_memory=True", Message("written.memory"))

OP_MEMORY = ResultFile(
    id="op_memory",
    name="operator_memory.csv",
    condition=MEMORY,
    columns=columns_of("op_memory"),
    doc="One row per allocation.",
)

MEMORY_RECORD = ResultFile(
    id="memory_record",
    name="memory_record.csv",
    condition=MEMORY,
    columns=columns_of("memory_record"),
    doc="Totals per component over time.",
)

MODULE_MEMORY = ResultFile(
    id="module_memory",
    name="npu_module_mem.csv",
    condition=MEMORY,
    columns=columns_of("module_memory"),
    doc="Memory of each CANN module, every 20 ms.",
)
