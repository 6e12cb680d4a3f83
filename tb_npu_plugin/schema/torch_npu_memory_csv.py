"""The memory files of ASCEND_PROFILER_OUTPUT. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from tb_npu_plugin.schema.files import result_file

OP_MEMORY = result_file("torch_npu.op_memory")
MEMORY_RECORD = result_file("torch_npu.memory_record")
MODULE_MEMORY = result_file("torch_npu.module_memory")
