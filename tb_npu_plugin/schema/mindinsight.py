"""Files of legacy MindSpore results (flat `profiler/` folders, up to 2.2): steps, cluster, operators, communication.
Source: docs/facts/mindinsight.md, Files, Units and definitions."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.schema.torch_npu_csv import KERNELS, OP_STATISTIC
from tb_npu_plugin.schema.torch_npu_json import COMM_OPS_COLUMNS

GRAPH = Condition(Message("option.graph_mode"), Message("written.graph_mode"))
CLUSTER = Condition(Message("option.every_rank"), Message("written.parallel"))

#: One tick of the device's clock, ns: times of iterations are from it, not times of day.
COUNT_NS = 10
#: Step of the row with the recorder's average.
AVERAGE_STEP = "-"
#: Column suffixes of one all-reduce; the column of the duration has no suffix.
REDUCE_START, REDUCE_END = "_start_point", "_end_point"
#: "stream_36_0_AllReduce-op4542" -> stream 36, number 0, operator; older: "stream_10_parallel_0".
REDUCE_NAME = re.compile(r"stream_(?P<stream>\d+)_(?P<name>.+)")

#: Keys of step_trace_point_info.json.
FP_KEYS = ("fp_start",)
BP_KEYS = ("bp_end",)

#: In the names of files of pipeline-parallel jobs.
PIPELINE = "pipeline-parallel"

STEP_TRACE_RAW = ResultFile(
    id="iterations",
    name="step_trace_raw_<rank>_detail_time.csv",
    condition=GRAPH,
    columns=columns_of("iterations"),
    fills=("iterations", "iteration_reduces"),
    doc="Points of each step on the device, in counts of 10 ns, and its all-reduces.",
)
POINT_INFO = ResultFile(
    id="step_points",
    name="step_trace_point_info_<rank>.json",
    condition=GRAPH,
    columns=columns_of("step_points"),
    pattern=re.compile(r"step_trace_point_info(?:_(?P<rank>\d+))?\.json"),
    doc="Operators that delimit forward and backward.",
)
CLUSTER_ANALYSE = ResultFile(
    id="parallel_times",
    name="ascend_cluster_analyse_<mode>_<stages>_<ranks>_<rank>.csv",
    condition=CLUSTER,
    columns=columns_of("parallel_times"),
    unit="ms",
    pattern=re.compile(
        r"ascend_cluster_analyse_(?P<mode>data|model|pipeline)-parallel_(?P<stages>\d+)_(?P<ranks>\d+)"
        r"_(?P<rank>\d+)\.csv"
    ),
    doc="Computation and communication of each step of one rank.",
)
STEP_FILES = (STEP_TRACE_RAW, POINT_INFO, CLUSTER_ANALYSE)


OPS = Condition(Message("option.op_time"), Message("written.mindinsight"))
MEMORY = Condition("profile_memory=True", Message("written.mindinsight_memory"))
HCCL = Condition("profile_communication=True", Message("written.mindinsight_communication"))

AI_CORE, AI_CPU = "AI_CORE", "AI_CPU"

#: Columns of framework_raw_<rank>.csv by header, older and newer spelling.
FRAMEWORK_HEADERS = {
    "stream_id": ("stream_id",),
    "block_dim": ("block_dim",),
    "full_name": ("full_kernel_name", "full_op_name"),
    "kernel": ("kernel_name", "op_name"),
    "type": ("op_type", "kernel_type"),
    "subgraph": ("subgraph",),
    "info": ("op_info",),
}
#: Those that all releases write.
FRAMEWORK_WRITTEN = ("op_info", "subgraph", "stream_id", "block_dim")
#: Words of its op_info.
INPUT, OUTPUT = "input_", "output_"
SHAPE, DATA_TYPE, FORMAT = "shape", "data_type", "format"
#: Prefix of data type names.
TYPE_PREFIX = "NUMBER_TYPE_"

#: Columns of hccl_raw_<rank>.csv.
HCCL_STEP, HCCL_COST, HCCL_WAIT = "step_num", "communication_cost", "wait_cost"
HCCL_LINKS, HCCL_OPS = "link_info", "communication_operator_cost"
HCCL_HEADERS = (HCCL_STEP, HCCL_COST, HCCL_WAIT, HCCL_LINKS, HCCL_OPS)
#: Columns of aicpu_intermediate_<rank>.csv.
AICPU_TYPE, AICPU_TOTAL = "type", "total_time"

#: Keys of flops_summary_<rank>.json by column.
FLOPS_KEYS = {
    "flops": ("FLOPs", "cube_FLOPs"),
    "flops_rate": ("FLOPS", "cube_FLOPS"),
    "utilisation": ("FLOPS_Utilization", "cube_FLOPS_Utilization"),
    "vec_flops": ("vec_FLOPs",),
    "vec_flops_rate": ("vec_FLOPS",),
    "vec_utilisation": ("vec_FLOPS_Utilization",),
}


AICORE_TYPES = ResultFile(
    id="aicore_types",
    name="aicore_intermediate_<rank>_type.csv",
    condition=OPS,
    columns=OP_STATISTIC.columns,
    unit="ms",
    fills=("op_statistic",),
    beside=("aicore_ops",),
    doc="Type, total time, calls and share, by their place in the row: headers differ between versions.",
)
AICORE_OPS = ResultFile(
    id="aicore_ops",
    name="aicore_intermediate_<rank>_detail.csv",
    condition=OPS,
    columns=columns_of("op_totals"),
    unit="ms",
    fills=("op_totals",),
    beside=(AICORE_TYPES.id,),
    doc="Name, mean time and calls, by their place in the row.",
)
AICPU_OPS = ResultFile(
    id="aicpu_ops",
    name="aicpu_intermediate_<rank>.csv",
    condition=OPS,
    columns=OP_STATISTIC.columns,
    unit="ms",
    fills=("op_statistic",),
    doc="One row per call on the AI CPU.",
)
FRAMEWORK = ResultFile(
    id="framework_ops",
    name="framework_raw_<rank>.csv",
    condition=OPS,
    fills=("op_totals",),
    beside=(AICORE_OPS.id, AICORE_TYPES.id),
    doc="Types, shapes and scopes; joined to the times by the full name.",
)
OP_FLOPS = ResultFile(
    id="op_flops",
    name="flops_<rank>.txt",
    condition=OPS,
    fills=("op_totals",),
    doc="FLOPs, FLOPS and utilization; joined to the times by the name.",
)
TIMELINE_DATA = ResultFile(
    id="kernels",
    name="output_timeline_data_<rank>.txt",
    condition=OPS,
    columns=KERNELS.columns,
    unit="ms",
    doc="Name, stream, start and duration of every device task, by their place in the row.",
)
FLOPS_SUMMARY = ResultFile(
    id="flops_summary", name="flops_summary_<rank>.json", condition=OPS, columns=columns_of("flops_summary")
)
MEMORY_SUMMARY = ResultFile(
    id="memory_summary",
    name="memory_usage_summary_<rank>.json",
    condition=MEMORY,
    columns=columns_of("memory_summary"),
    unit="GB",
    doc="Figures in GiB.",
)
HCCL_RAW = ResultFile(
    id="hccl_raw",
    name="hccl_raw_<rank>.csv",
    condition=HCCL,
    columns=COMM_OPS_COLUMNS,
    unit="ms",
    fills=("comm_ops", "comm_bandwidth", "comm_links"),
    doc="Times of the communication operators and traffic of the links, by step.",
)
TIMELINE = ResultFile(
    id="trace",
    name="ascend_timeline_display_<rank>.json",
    condition=OPS,
    pattern=re.compile(r"(?:ascend_)?timeline_display_(?P<rank>\d+)\.json"),
    stages=("trace",),
    doc="Chrome trace events of the device.",
)
INFO = ResultFile(id="profiler_info", name="profiler_info_<rank>.json", condition=CLUSTER, settings=True)

OP_FILES = (
    AICORE_TYPES,
    AICORE_OPS,
    AICPU_OPS,
    FRAMEWORK,
    OP_FLOPS,
    TIMELINE_DATA,
    FLOPS_SUMMARY,
    MEMORY_SUMMARY,
    HCCL_RAW,
    TIMELINE,
    INFO,
)
