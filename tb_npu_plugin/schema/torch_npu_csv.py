"""The CSV files of ASCEND_PROFILER_OUTPUT (torch_npu.profiler, text export). Source: docs/facts/ascend_pt.md."""

from __future__ import annotations

from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.link_files import LINK_FILES
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD, MODULE_MEMORY, OP_MEMORY
from tb_npu_plugin.tables import Column, Kind, column_texts

#: Keys of what a kernel reads and writes.
TENSORS = ("input_shapes", "input_types", "input_formats", "output_shapes", "output_types", "output_formats")
KERNELS = result_file("torch_npu.kernels")
OPERATORS = result_file("torch_npu.operators")

#: Computed by the reader of operators.
NESTED = Column("nested", Kind.INT, *column_texts("nested"), "identity")

OP_STATISTIC = result_file("torch_npu.op_statistic")
API_STATISTIC = result_file("torch_npu.api_statistic")

#: Unit of all columns of step_trace_time.csv; its headers have none.
STEP_TRACE_UNIT = "us"

STEP_TRACE = result_file("torch_npu.step_trace")
#: Columns that readers add to the table of steps, computed from the kernels.
STEP_START = Column("start_ns", Kind.TIME, *column_texts("step.start_ns"), "time")
STEP_LEAD = Column("lead_ns", Kind.DURATION, *column_texts("lead_ns"), "time")
COPYING = Column("copying", Kind.DURATION, *column_texts("copying"), "time")
DATA_PREPROCESS = result_file("torch_npu.data_preprocess")

L2_CACHE = result_file("torch_npu.l2_cache")
TASK_TIME = result_file("torch_npu.task_time")

CSV_FILES: tuple[ResultFile, ...] = (
    STEP_TRACE,
    KERNELS,
    OP_STATISTIC,
    API_STATISTIC,
    OPERATORS,
    OP_MEMORY,
    MEMORY_RECORD,
    MODULE_MEMORY,
    DATA_PREPROCESS,
    L2_CACHE,
    TASK_TIME,
    *LINK_FILES,
)
