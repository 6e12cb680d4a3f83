"""The CSV files of ASCEND_PROFILER_OUTPUT (torch_npu.profiler, text export). Source: docs/facts/ascend_pt.md."""

from __future__ import annotations

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.schema.link_files import LINK_FILES
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD, MODULE_MEMORY, OP_MEMORY
from tb_npu_plugin.tables import Column, Kind, column_texts

LEVEL_1 = Condition("profiler_level=ProfilerLevel.Level1", Message("written.level_1"))
NPU = Condition("activities=[ProfilerActivity.NPU, ...]", Message("written.npu"))
CPU = Condition("activities=[ProfilerActivity.CPU, ...]", Message("written.host"))

#: Keys of what a kernel reads and writes.
TENSORS = ("input_shapes", "input_types", "input_formats", "output_shapes", "output_types", "output_formats")
KERNELS = ResultFile(
    id="kernels",
    name="kernel_details.csv",
    condition=NPU,
    extra="metric",
    columns=columns_of("kernels"),
    doc="One row per device computation task and one per communication operator, by start time.",
)

OPERATORS = ResultFile(
    id="operators",
    name="operator_details.csv",
    condition=CPU,
    columns=columns_of("operators"),
    doc="One row per operator call on the host, in start order, without ProfilerStep marks.",
)

#: Computed by the reader of operators.
NESTED = Column("nested", Kind.INT, *column_texts("nested"), "identity")

OP_STATISTIC = ResultFile(
    id="op_statistic",
    name="op_statistic.csv",
    condition=LEVEL_1,
    columns=columns_of("op_statistic"),
    doc="Kernels by type and core, communication left out, by total time.",
)

API_STATISTIC = ResultFile(
    id="api_statistic",
    name="api_statistic.csv",
    condition=LEVEL_1,
    columns=columns_of("api_statistic"),
    doc="CANN API calls on the host.",
)

#: Unit of all columns of step_trace_time.csv; its headers have none.
STEP_TRACE_UNIT = "us"

STEP_TRACE = ResultFile(
    id="step_trace",
    name="step_trace_time.csv",
    unit=STEP_TRACE_UNIT,
    condition=NPU,
    columns=columns_of("step_trace"),
    doc="One row per device and step. Headers name no unit: the figures are microseconds.",
)
#: Columns that readers add to the table of steps, computed from the kernels.
STEP_START = Column("start_ns", Kind.TIME, *column_texts("step.start_ns"), "time")
STEP_LEAD = Column("lead_ns", Kind.DURATION, *column_texts("lead_ns"), "time")
COPYING = Column("copying", Kind.DURATION, *column_texts("copying"), "time")
DATA_PREPROCESS = ResultFile(
    id="data_preprocess",
    name="data_preprocess.csv",
    condition=Condition("profiler_level=ProfilerLevel.Level2", Message("written.ai_cpu"), always=False),
    columns=columns_of("data_preprocess"),
    doc="AI CPU tasks.",
)

L2_CACHE = ResultFile(
    id="l2_cache",
    name="l2_cache.csv",
    condition=Condition("l2_cache=True", Message("written.l2_cache")),
    columns=columns_of("l2_cache"),
    doc="L2 cache hits of AI core tasks.",
)

TASK_TIME = ResultFile(
    id="task_time", name="task_time.csv", condition=NPU, columns=columns_of("task_time"), doc="Every device task."
)

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
