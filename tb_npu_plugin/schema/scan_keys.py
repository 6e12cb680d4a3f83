"""What the scan of a logdir looks for inside files. Imports nothing heavy: a process that only needs these names starts
with every scan that finds new files (discovery/look_process.py)."""

from __future__ import annotations

import re

#: Maximum digits of a rank; int() raises for thousands of digits.
MAX_DIGITS = 9
#: Upper bound of ranks, exclusive.
MAX_RANK = 10**MAX_DIGITS

# Members of profiler_metadata.json: communicators, each with its role and its ranks, and Megatron's arguments.
GROUPS, ROLE, MEMBERS = "parallel_group_info", "group_name", "global_ranks"
MEGATRON, WORLD_SIZE = "distributed_args", "world_size"
MODEL_SIZES = tuple(
    f"{kind}_parallel_size" for kind in ("tensor_model", "pipeline_model", "data", "context", "expert_model")
)
#: The role of the communicator of all ranks.
WORLD = "default_group"
#: The fact that names the largest communicator of a rank.
LARGEST = "largest"

# Who wrote a trace.
TORCH_PROFILER, TORCH_NPU = "torch.profiler", "torch_npu"
#: Texts in the events of a trace that tell its writer: of NPUs, of GPUs (categories), and of host operators alone.
NPU_SIGNS = re.compile(
    rb'"(?:async_npu|torch_to_npu|enqueue_to_dequeue|async_task_queue|HostToDevice|Ascend Hardware|Overlap Analysis)"'
)
_CATEGORY = rb'"cat"\s*:\s*"(?:%b)"'
GPU_SIGNS = re.compile(
    _CATEGORY
    % rb"(?i:kernel|gpu_\w+|cuda_\w+|hip_\w+|xpu_\w+|privateuse1_\w+|mtia_\w+|Memcpy|Memset|Runtime|ac2g|async_gpu)"
)
HOST_SIGNS = re.compile(_CATEGORY % rb"cpu_op|user_annotation|python_function|Operator")

# Members of a Kineto trace beside its events.
SCHEMA_VERSION = "schemaVersion"
EVENTS = "traceEvents"
DISTRIBUTED = "distributedInfo"
RANK = "rank"
PROCESS_GROUPS, PROCESS_GROUP, PROCESS_GROUP_RANKS = "pg_config", "pg_name", "ranks"
#: Members that hold settings; no event has such a key.
SETTING = re.compile(
    r'"(?P<key>schemaVersion|distributedInfo|deviceProperties|baseTimeNanoseconds|displayTimeUnit|host_name|record_shapes'
    r'|profile_memory|with_\w+|cupti_version|(?:cuda|hip)_(?:runtime|driver)_version)"\s*:\s*'
)

# Ranks of a cluster_analysis_output: columns of the step times, keys of communication_group.json, tables of the database.
TYPE_HEADER, INDEX_HEADER = "Type", "Index"
#: Type of the rows of one rank.
BY_RANK = "rank"
#: Type of the rows of pipeline stages, which views compute from those of their ranks.
BY_STAGE = "stage"
#: Numbers in an index: "(0, 1)" for a stage; one number for a rank.
INDEX = re.compile(r"\d{1,9}")
#: Keys of communication_group.json that hold lists of ranks.
GROUP_KINDS = ("collective", "p2p")
# Databases of the profilers: tables that tell the kind, each with the name of such a file, and the question for its ranks.
DB_KINDS = (
    ("PYTORCH_API", "ascend_pytorch_profiler{rank}.db"),
    ("STRING_IDS", "msprof.db"),  # of the device alone
    ("StepTraceTime", "analysis{rank}.db"),
    ("CommAnalyzerTime", "analysis{rank}.db"),
)
DB_RANK = "SELECT DISTINCT rankId FROM RANK_DEVICE_MAP"
LIST_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
DB_STEPS, DB_TIME = "ClusterStepTraceTime", "ClusterCommunicationTime"
DB_RANKS = (
    f"SELECT DISTINCT \"index\" FROM {DB_STEPS} WHERE type = '{BY_RANK}'",
    f"SELECT DISTINCT rank_id FROM {DB_TIME}",
)
