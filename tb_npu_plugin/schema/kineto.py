"""Traces of torch.profiler on NVIDIA and AMD GPUs (Kineto). Source: what torch 2.13 writes on a CPU, and for the GPU's
part libkineto's output_json.cpp and CuptiActivity.cpp, as documentation."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import DEVICE_ID, Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
TIME, DUR, BYTES, PERCENT, BANDWIDTH = Kind.TIME, Kind.DURATION, Kind.BYTES, Kind.PERCENT, Kind.BANDWIDTH

#: Name of tensorboard_trace_handler: `{host}_{pid}.{ns, older: ms, since the epoch, of the export}.pt.trace.json[.gz]`.
HANDLER_NAME = re.compile(r"(?P<worker>.+?)(?:\.(?P<stamp>\d{13}|\d{19}))?\.pt\.trace\.json(?:\.gz)?")
#: What is in all such names.
HANDLER_END = ".pt.trace.json"
#: Any name that export_chrome_trace may have been given.
ANY_NAME = re.compile(r".*\.json")

# What stands before the events.
SCHEMA_VERSION = "schemaVersion"
EVENTS = "traceEvents"
#: ns since the epoch that "ts" counts from; times are absolute where it is not there.
BASE_TIME = "baseTimeNanoseconds"
DEVICES, DEVICE_ID_KEY, DEVICE_NAME = "deviceProperties", "id", "name"
HOST_NAME = "host_name"
DISTRIBUTED = "distributedInfo"
RANK, WORLD_SIZE, BACKEND, NCCL_VERSION = "rank", "world_size", "backend", "nccl_version"
GROUPS, GROUP_NAME, GROUP_DESCRIPTION, GROUP_RANKS = "pg_config", "pg_name", "pg_desc", "ranks"
#: Switches, 1 where they were on.
SWITCHES = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
#: Versions as integers, what they are of, and what one of each of their numbers counts (CUDA 12.4: 12040, HIP 6.2.41134:
#: 60241134).
CUDA_PLACES, HIP_PLACES = (1_000, 10), (10_000_000, 100_000, 1)
VERSIONS = {
    "cuda_runtime_version": ("CUDA runtime", CUDA_PLACES),
    "cuda_driver_version": ("CUDA driver", CUDA_PLACES),
    "hip_runtime_version": ("HIP runtime", HIP_PLACES),
    "hip_driver_version": ("HIP driver", HIP_PLACES),
}
CUPTI_VERSION = "cupti_version"

# Categories of events, each with what PyTorch 1.8 to 1.12 call it; there annotations are operators.
CPU_OP = ("cpu_op", "Operator")
ANNOTATION = ("user_annotation", "Operator")
KERNEL, MEMCPY, MEMSET = ("kernel", "Kernel"), ("gpu_memcpy", "Memcpy"), ("gpu_memset", "Memset")
#: Calls that put work on a stream: their correlation is that of the work.
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
#: How the categories of MTIA devices begin, whose events this version does not read.
MTIA = "mtia"
#: Functions of Python and modules, with with_stack=True.
PYTHON_FUNCTION = ("python_function",)
MEMORY_EVENT = "[memory]"

#: The moment until which was recorded, as the profiler planned it: some versions put it days after the last event.
WINDOW_END = "Record Window End"

# Keys of args.
#: The operator that an event belongs to, with what PyTorch 1.8 to 1.12 call it on the device.
EXTERNAL_ID = ("External id", "external id")
CORRELATION = "correlation"
#: Shapes of the inputs as PyTorch 1.8 spells it.
OLDER_INPUT_DIMS = "Input dims"
#: Device of a copy between two GPUs.
IN_DEVICE = "inDevice"
#: What c10d records of a collective: its name, its group, elements of its messages, and their type.
COLLECTIVE, COLLECTIVE_GROUP = "Collective name", "Process Group Name"
MESSAGE_ELEMENTS, ELEMENT_TYPE = ("In msg nelems", "Out msg nelems"), "dtype"
#: Of [memory] events: bytes (less than nothing: given back), address, type and number of the device, totals of it.
MEMORY_ARGS = ("Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved")
#: c10::DeviceType of [memory] events -> name of the device.
MEMORY_DEVICES = {0: "CPU", 1: "GPU", 6: "GPU", 12: "XPU", 20: "NPU"}
CPU_DEVICE = 0

#: What the column `core` says.
KERNEL_KIND, MEMCPY_KIND, MEMSET_KIND, COMMUNICATION_KIND = "KERNEL", "MEMCPY", "MEMSET", "COMMUNICATION"
#: Kernels of collectives, by name: NCCL, and RCCL, whose names are the same.
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
#: The transport of collectives: which wires NCCL used is not recorded.
TRANSPORT = "NCCL"
#: Who keeps the memory of [memory] events.
ALLOCATOR = "PyTorch"

#: Title of the column `core`: GPUs have no accelerator cores to choose from.
ACTIVITY = "Activity"

STEP = Column("step", T, "Step", "Step that launched it, by the host time of the launch.", "identity")
KERNEL_COLUMNS = (
    STEP,
    DEVICE_ID,
    Column("stream_id", I, "Stream ID", "Stream that ran it.", "identity"),
    Column("name", T, "Name", "Kernel or copy.", "identity", required=True),
    Column(
        "type", T, "Type", "Kind of computation, by the kernel's name; unknown where that does not tell.", "identity"
    ),
    Column("core", T, ACTIVITY, "KERNEL, MEMCPY, MEMSET, or COMMUNICATION: kernels of NCCL.", "identity"),
    Column("start_ns", TIME, "Start", "Start on the GPU.", "time", required=True),
    Column("dur_ns", DUR, "Duration", "Time on the GPU.", "time", required=True),
    Column("wait_ns", DUR, "Wait", "Since everything before it on this GPU, any stream, has ended.", "time"),
    Column("grid", T, "Grid", "Blocks in each dimension.", "shape"),
    Column("block", T, "Block", "Threads of a block in each dimension.", "shape"),
    Column("registers", I, "Registers", "Registers of a thread.", "metric"),
    Column("shared_memory_bytes", BYTES, "Shared memory", "Shared memory of a block.", "metric"),
    Column("occupancy", PERCENT, "Est. occupancy", "Occupancy that the profiler estimated, 0 to 100.", "metric"),
    Column("blocks_per_sm", F, "Blocks per SM", "Blocks / multiprocessors.", "metric"),
    Column("warps_per_sm", F, "Warps per SM", "Warps / multiprocessors.", "metric"),
    Column("copied_bytes", BYTES, "Bytes", "Bytes that a copy or set moved.", "metric"),
    Column("bandwidth", BANDWIDTH, "Bandwidth", "Bandwidth of a copy or set, as the profiler gives it.", "metric"),
    Column("correlation", I, "Correlation", "Id that it shares with the call that launched it.", "identity"),
)
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
_COLLECTIVES = Condition("torch.distributed with NCCL", Message("written.nccl"), always=False)

KINETO_TRACE = ResultFile(
    id="kineto_trace",
    name="*.pt.trace.json",
    pattern=ANY_NAME,
    title="Trace of torch.profiler",
    condition=Condition("on_trace_ready, or export_chrome_trace", Message("written.trace")),
    columns=(),
    fills=(
        "trace",
        "kernels",
        "step_trace",
        "step_marks",
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
        ("operators", _HOST),
        ("memory_record", _MEMORY),
        ("op_memory", _MEMORY),
        ("comm_ops", _COLLECTIVES),
        ("comm_bandwidth", _COLLECTIVES),
    ),
    doc="Chrome trace events of host and GPU; all tables are made of them. From documentation: what runs on the GPU.",
)
