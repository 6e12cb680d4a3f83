"""Traces of torch.profiler on NVIDIA and AMD GPUs (Kineto). Source: output of torch 2.13 on a CPU; for the GPU part,
libkineto's output_json.cpp and CuptiActivity.cpp as documentation."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import scan_keys
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind, column_texts

#: Name of tensorboard_trace_handler: `{host}_{pid}.{ns, older: ms, since the epoch, of the export}.pt.trace.json[.gz]`.
HANDLER_NAME = re.compile(r"(?P<worker>.+?)(?:\.(?P<stamp>\d{13}|\d{19}))?\.pt\.trace\.json(?:\.gz)?")
#: Part of every such name.
HANDLER_END = ".pt.trace.json"
#: Ends of the names of traces.
JSON_ENDS = (".json", ".json.gz")
#: Any name that a user may give to export_chrome_trace.
ANY_NAME = re.compile(r".*\.json")

# Keys before the events; more are in scan_keys.py.
#: Origin of "ts" in ns since the epoch; without this key times are absolute.
BASE_TIME = "baseTimeNanoseconds"
#: Key beside it.
TIME_UNIT = "displayTimeUnit"
DEVICES, DEVICE_ID_KEY, DEVICE_NAME = "deviceProperties", "id", "name"
HOST_NAME = "host_name"
WORLD_SIZE, BACKEND, NCCL_VERSION = scan_keys.WORLD_SIZE, "backend", "nccl_version"
GROUPS, GROUP_NAME, GROUP_RANKS = scan_keys.PROCESS_GROUPS, scan_keys.PROCESS_GROUP, scan_keys.PROCESS_GROUP_RANKS
GROUP_DESCRIPTION = "pg_desc"
#: Switches; 1 is on.
SWITCHES = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
#: Versions as integers: program, and the unit of each number (CUDA 12.4: 12040, HIP 6.2.41134: 60241134).
CUDA_PLACES, HIP_PLACES = (1_000, 10), (10_000_000, 100_000, 1)
VERSIONS = {
    "cuda_runtime_version": ("CUDA runtime", CUDA_PLACES),
    "cuda_driver_version": ("CUDA driver", CUDA_PLACES),
    "hip_runtime_version": ("HIP runtime", HIP_PLACES),
    "hip_driver_version": ("HIP driver", HIP_PLACES),
}
CUPTI_VERSION = "cupti_version"
#: Keys that are written together: in the head, properties of a device, a distributed run, newer releases' groups of
#: it, with NCCL its version, too, and a group.
HEAD_KEYS = (
    (scan_keys.SCHEMA_VERSION, DEVICES),
    (CUPTI_VERSION, "cuda_runtime_version", "cuda_driver_version"),
    ("hip_runtime_version", "hip_driver_version"),
)
DEVICE_KEYS = (DEVICE_ID_KEY, DEVICE_NAME, "totalGlobalMem", "computeMajor", "computeMinor", "warpSize", "numSms")
DISTRIBUTED_KEYS, GROUPS_KEYS = (BACKEND, "rank", WORLD_SIZE), ("pg_count", GROUPS)
NCCL = "nccl"
GROUP_KEYS = (GROUP_NAME, "backend_config", "pg_size", GROUP_RANKS)

# Categories of events, each with its name in PyTorch 1.8 to 1.12, where annotations are operators.
CPU_OP = ("cpu_op", "Operator")
ANNOTATION = ("user_annotation", "Operator")
KERNEL, MEMCPY, MEMSET = ("kernel", "Kernel"), ("gpu_memcpy", "Memcpy"), ("gpu_memset", "Memset")
#: Calls that launch work on a stream, with the same correlation id as the work.
RUNTIME = (
    "cuda_runtime",
    "cuda_driver",
    "hip_runtime",
    "xpu_runtime",
    "xpu_driver",
    "privateuse1_runtime",
    "privateuse1_driver",
    "Runtime",
)
#: Prefix of the categories of MTIA devices, whose events are not read.
MTIA = "mtia"
#: Python functions and modules, with with_stack=True.
PYTHON_FUNCTION = ("python_function",)
MEMORY_EVENT = "[memory]"

#: Planned end of the recording; some versions put it days after the last event.
WINDOW_END = "Record Window End"

# Keys of args.
#: Operator of an event, with its device-side name in PyTorch 1.8 to 1.12.
EXTERNAL_ID = ("External id", "external id")
CORRELATION = "correlation"
#: Input shapes, as spelled by PyTorch 1.8.
OLDER_INPUT_DIMS = "Input dims"
#: Device of a copy between two GPUs.
IN_DEVICE = "inDevice"
#: Keys of a collective recorded by c10d: name, group, number of elements, element type.
COLLECTIVE, COLLECTIVE_GROUP = "Collective name", "Process Group Name"
MESSAGE_ELEMENTS, ELEMENT_TYPE = ("In msg nelems", "Out msg nelems"), "dtype"
#: Keys of [memory] events: bytes (negative: freed), address, type and number of the device, its totals.
MEMORY_ARGS = ("Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved")
#: c10::DeviceType of [memory] events -> name of the device.
MEMORY_DEVICES = {0: "CPU", 1: "GPU", 6: "GPU", 12: "XPU", 20: "NPU"}
CPU_DEVICE = 0

#: Values of the column `core`.
KERNEL_KIND, MEMCPY_KIND, MEMSET_KIND, COMMUNICATION_KIND = "KERNEL", "MEMCPY", "MEMSET", "COMMUNICATION"
#: Kernels of collectives, by name: NCCL, and RCCL, which uses the same names.
COMMUNICATION_KERNEL = re.compile(r"nccl", re.IGNORECASE)
#: Collectives between two ranks.
POINT_TO_POINT = re.compile(r"send|recv", re.IGNORECASE)
#: Bytes of an element of a tensor, by the dtype that c10d records.
ELEMENT_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short", "UInt16"), 2),
    **dict.fromkeys(("Int", "Float", "UInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Long", "Double", "UInt64", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
#: Transport of collectives; the links that NCCL used are not recorded.
TRANSPORT = "NCCL"
#: Allocator of [memory] events.
ALLOCATOR = "PyTorch"

STEP = Column("step", Kind.TEXT, *column_texts("kineto.step"), "identity")
TYPE = Column("type", Kind.TEXT, *column_texts("kineto.type"), "identity")
#: Titled "Activity": GPUs have no separate accelerator cores.
CORE = Column("core", Kind.TEXT, *column_texts("kernel.core"), "identity")
KERNEL_COLUMNS = columns_of("gpu_kernels")
#: Keys of args -> columns of kernels.
KERNEL_ARGS = {
    "stream": "stream_id",
    "device": "device_id",
    "correlation": "correlation",
    "grid": "grid",
    "block": "block",
    "registers per thread": "registers",
    "shared memory": "shared_memory_bytes",
    "est. achieved occupancy %": "occupancy",
    "blocks per SM": "blocks_per_sm",
    "warps per SM": "warps_per_sm",
    "bytes": "copied_bytes",
    "memory bandwidth (GB/s)": "bandwidth",
}

_MEMORY = Condition("profile_memory=True", Message("written.gpu_memory"))
_GPU = Condition("activities=[ProfilerActivity.CUDA, ...]", Message("written.gpu"))
_HOST = Condition("activities=[ProfilerActivity.CPU, ...]", Message("written.gpu_host"))
_SERVING = Condition(Message("option.serving"), Message("written.serving"), always=False)
_COLLECTIVES = Condition(Message("option.nccl"), Message("written.nccl"), always=False)

KINETO_TRACE = ResultFile(
    id="kineto_trace",
    name="*.pt.trace.json",
    pattern=ANY_NAME,
    condition=Condition(
        Message("option.either", one="on_trace_ready", other="export_chrome_trace"), Message("written.trace")
    ),
    fills=(
        "trace",
        "kernels",
        "step_trace",
        "step_marks",
        "engine_iterations",
        "operators",
        "memory_record",
        "op_memory",
        "comm_ops",
        "comm_bandwidth",
    ),
    stages=("tables", "trace"),
    in_trace=(
        ("kernels", _GPU),
        ("step_trace", _GPU),
        ("step_marks", _HOST),
        ("engine_iterations", _SERVING),
        ("operators", _HOST),
        ("memory_record", _MEMORY),
        ("op_memory", _MEMORY),
        ("comm_ops", _COLLECTIVES),
        ("comm_bandwidth", _COLLECTIVES),
    ),
    doc="Chrome trace events of host and GPU; all tables are made of them. From documentation: what runs on the GPU.",
)
