"""`*_ascend_ms` results (mindspore.profiler.profile, MindSpore 2.5 and newer): files, keys and values. Files shared
with torch_npu are declared there. Source: docs/facts/ascend_ms.md, Folder name."""

from __future__ import annotations

import re

#: Suffix of result folders.
SUFFIX = "_ascend_ms"

#: Files in a result or in raw data that no other profiler writes.
ONLY_MINDSPORE = re.compile(
    r"ascend_mindspore_profiler(_\d+)?\.db|dataset\.csv|minddata_|mindspore\.|cpu_ms_memory_record"
)

#: In raw data of the simulated NPU: what is there once the capture has ended, and the code that parses them.
SIMULATED_HOST = "host.json"
ANALYSE_SIMULATED = 'from tb_npu_plugin.capture.mindspore.parse import parse_folder; parse_folder("{path}")'

#: Keys of profiler_info_{rank}.json. A file of MindSpore before 2.3 has the same name and no PARAMETERS.
PARAMETERS = "profiler_parameters"
MS_INFO = "ms_profiler_info"
RANK_ID, DEVICE_ID = "rank_id", "device_id"
MS_VERSION, CANN_VERSION, JIT_LEVEL = "ms_version", "cann_version", "jit_level"
#: Keys of PARAMETERS; all values except the schedule are texts or switches.
SCHEDULE, IS_SET_SCHEDULE = "schedule", "is_set_schedule"

#: profiler_level -> its number, also in older files of DynamicProfilerMonitor; -1: no kernels.
LEVELS = {"LevelNone": -1, "Level0": 0, "Level1": 1, "Level2": 2}
#: Settings of PARAMETERS that do not switch any recording.
NO_SWITCHES = frozenset({IS_SET_SCHEDULE, "start_profile", "sync_enable", "data_simplification"})
#: Name of aic_metrics "None", as stored.
NO_METRICS = "AiCoreNone"

#: Separator in Name of kernel_details.csv: "launch event/kernel" if the host was profiled. Names of kernels in graphs
#: contain "/" too.
LAUNCH_SEPARATOR = "/"
#: Framework events are "Module::Event::Name"; those that launch kernels have one of these in the event.
EVENT_SEPARATOR = "::"
LAUNCHES = ("KernelLaunch", "LaunchTask")

#: "MB" of memory_record.csv: KiB divided by 1000. operator_memory.csv has MB of 1024 * 1024.
MEMORY_RECORD_MB = 1024 * 1000
#: Components of memory_record.csv; APP rows come last.
MINDSPORE, GE, BOTH, APP = "MindSpore", "GE", "MindSpore+GE", "APP"

#: Columns in these files, by key of the declaration; (): all.
OPERATOR_KEYS = ("name", "input_shapes")
MEMORY_RECORD_KEYS = ("component", "time_ns", "allocated_bytes", "reserved_bytes", "active_bytes", "device")
#: Separator of the inputs in Input Shapes: "6,2;;".
SHAPE_SEPARATOR = ";"
#: The only step in communication.json without step marks.
WHOLE_STEP = "step0"
#: Key of communication_matrix.json that is "Op Name" in files of torch_npu. If the operator name holds no type known to
#: the profiler (sends and receives), the type is the name with its group: "hcom_send__075_0_1@123-top1@123".
OP_NAME = "op_name"
#: Operators whose name contains one of these are p2p; "hcom_send_" does not.
P2P_WORDS = ("Send", "Receive")
#: Operators counted as Bubble in step_trace_time.csv.
BUBBLE = re.compile(r"hcom_\w+SendRecv__\d+|hcom_send__\d+|hcom_receive__\d+|Receive-op|Send-op")

# trace_view.json: framework processes with their ids, and contents of events.
PROCESS_MINDSPORE, PROCESS_CPU_OP, PROCESS_SCOPE = "MindSpore", "CPU OP", "Scope Layer"
PIDS = {PROCESS_MINDSPORE: 1, PROCESS_CPU_OP: 2, PROCESS_SCOPE: 3}
SORTS = {PROCESS_MINDSPORE: 1, PROCESS_CPU_OP: 2, PROCESS_SCOPE: 12}
#: Categories and names of flows: between events of the framework, from a launch to its kernel.
SELF_FLOW = ("async_mindspore", "mindspore_to_self")
NPU_FLOW = ("async_npu", "mindspore_to_npu")
#: Argument of a launched device event: name of the launch.
LAUNCHED_BY = "mindspore_op"
#: Category of Python frames (`with_stack`).
PYTHON = "python_function"

# Databases: those of msprof.
PROFILER_DB = "ascend_mindspore_profiler"
COMMUNICATION_DB = "communication_analyzer.db"
#: Tables shared with torch_npu's databases (schema/torch_npu_db.py): all except the framework's.
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
    "MSTX_EVENTS",
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
#: msprof has no steps and no grouping: no `step` or `type`, and a row per operator and link in the matrix.
COMMUNICATION_DB_TABLES: dict[str, str] = {
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC",
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, "
    "total_duration NUMERIC",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC",
}
