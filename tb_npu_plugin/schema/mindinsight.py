"""Files of legacy MindSpore results (flat `profiler/` folders, up to 2.2): steps, cluster, operators, communication.
Source: docs/facts/mindinsight.md, Files, Units and definitions."""

from __future__ import annotations

import re

from tb_npu_plugin.schema.files import result_file

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

STEP_TRACE_RAW = result_file("mindinsight.iterations")
POINT_INFO = result_file("mindinsight.step_points")
CLUSTER_ANALYSE = result_file("mindinsight.parallel_times")
STEP_FILES = (STEP_TRACE_RAW, POINT_INFO, CLUSTER_ANALYSE)


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


AICORE_TYPES = result_file("mindinsight.aicore_types")
AICORE_OPS = result_file("mindinsight.aicore_ops")
AICPU_OPS = result_file("mindinsight.aicpu_ops")
FRAMEWORK = result_file("mindinsight.framework_ops")
OP_FLOPS = result_file("mindinsight.op_flops")
TIMELINE_DATA = result_file("mindinsight.kernels")
FLOPS_SUMMARY = result_file("mindinsight.flops_summary")
MEMORY_SUMMARY = result_file("mindinsight.memory_summary")
HCCL_RAW = result_file("mindinsight.hccl_raw")
TIMELINE = result_file("mindinsight.trace")
INFO = result_file("mindinsight.profiler_info")

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
