"""`*_ascend_ms` results (mindspore.profiler.profile, MindSpore 2.5 and newer): what they consist of, and the words in
them. Files that are those of torch_npu are declared there. Source: docs/facts/ascend_ms.md, Folder name."""

from __future__ import annotations

import re

#: End of the names of result folders.
SUFFIX = "_ascend_ms"

#: Files of a result, and of raw data, that no other profiler writes.
ONLY_MINDSPORE = re.compile(
    r"ascend_mindspore_profiler(_\d+)?\.db|dataset\.csv|minddata_|mindspore\.|cpu_ms_memory_record"
)

#: Keys of profiler_info_{rank}.json. A file of MindSpore before 2.3 has the same name and no PARAMETERS.
PARAMETERS = "profiler_parameters"
MS_INFO = "ms_profiler_info"
RANK_ID, DEVICE_ID = "rank_id", "device_id"
CANN_INFO = "cann_profiler_info"
COST = "analysis_cost_time"
MS_VERSION, CANN_VERSION, JIT_LEVEL = "ms_version", "cann_version", "jit_level"
#: Keys of PARAMETERS; all values are texts or switches, but the schedule.
SCHEDULE, IS_SET_SCHEDULE = "schedule", "is_set_schedule"

#: Settings of PARAMETERS that are no switches of what is recorded.
NO_SWITCHES = frozenset({IS_SET_SCHEDULE, "start_profile", "sync_enable", "data_simplification"})
#: aic_metrics without any, stored as "None".
NO_METRICS = "AiCoreNone"

#: kernel_details.csv: Name is "launch event/kernel" where the host was profiled; kernels in graphs contain "/" as well.
LAUNCH_SEPARATOR = "/"
#: Framework events are "Module::Event::Name"; those that launch kernels have one of these in the event.
EVENT_SEPARATOR = "::"
LAUNCHES = ("KernelLaunch", "LaunchTask")

#: "MB" of memory_record.csv: KiB divided by 1000. operator_memory.csv has MB of 1024 * 1024.
MEMORY_RECORD_MB = 1024 * 1000
#: Components of memory_record.csv; APP rows stand at the end.
MINDSPORE, GE, BOTH, APP = "MindSpore", "GE", "MindSpore+GE", "APP"

#: Columns that these files have, by key of the declaration; () where all are there.
OPERATOR_KEYS = ("name", "input_shapes")
MEMORY_RECORD_KEYS = ("component", "time_ns", "allocated_bytes", "reserved_bytes", "active_bytes", "device")
#: Separator of the inputs in Input Shapes: "6,2;;".
SHAPE_SEPARATOR = ";"
#: communication.json without step marks has this one step.
WHOLE_STEP = "step0"
#: Key of communication_matrix.json that is "Op Name" in files of torch_npu. Of operators whose name holds no type that the
#: profiler knows (sends and receives), the type is the name with its group: "hcom_send__075_0_1@123-top1@123".
OP_NAME = "op_name"
#: Operators whose name contains one of these are p2p; "hcom_send_" does not.
P2P_WORDS = ("Send", "Receive")
#: What counts as Bubble in step_trace_time.csv.
BUBBLE = re.compile(r"hcom_\w+SendRecv__\d+|hcom_send__\d+|hcom_receive__\d+|Receive-op|Send-op")

# trace_view.json: processes of the framework with their ids, and what the events hold.
PROCESS_MINDSPORE, PROCESS_CPU_OP, PROCESS_SCOPE = "MindSpore", "CPU OP", "Scope Layer"
PIDS = {PROCESS_MINDSPORE: 1, PROCESS_CPU_OP: 2, PROCESS_SCOPE: 3}
SORTS = {PROCESS_MINDSPORE: 1, PROCESS_CPU_OP: 2, PROCESS_SCOPE: 12}
#: Categories and names of flows: between events of the framework, from a launch to its kernel.
SELF_FLOW = ("async_mindspore", "mindspore_to_self")
NPU_FLOW = ("async_npu", "mindspore_to_npu")
#: Argument of a device event that was launched: name of the launch.
LAUNCHED_BY = "mindspore_op"
#: Category of Python frames (with_stack).
PYTHON = "python_function"

# Databases: those of msprof.
PROFILER_DB = "ascend_mindspore_profiler"
PROFILER_DB_PATTERN = re.compile(r"ascend_mindspore_profiler(?:_(\d+))?\.db")
COMMUNICATION_DB = "communication_analyzer.db"
#: Tables of torch_npu's databases that these have as well (schema/torch_npu_db.py): all but the framework's.
DB_TABLES = (
    "STRING_IDS",
    "RANK_DEVICE_MAP",
    "HOST_INFO",
    "SESSION_TIME_INFO",
    "NPU_INFO",
    "META_DATA",
    "TASK",
    "COMPUTE_TASK_INFO",
    "COMMUNICATION_OP",
    "COMMUNICATION_TASK_INFO",
    "CANN_API",
    "TASK_PMU_INFO",
    "NIC",
    "ROCE",
    "PCIE",
    "HCCS",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "HBM",
    "LLC",
    "AICORE_FREQ",
)
#: msprof knows no steps and sorts nothing: neither `step` nor `type`, and a row per operator and link in the matrix.
COMMUNICATION_DB_TABLES: dict[str, str] = {
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC",
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, "
    "total_duration NUMERIC",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC",
}
