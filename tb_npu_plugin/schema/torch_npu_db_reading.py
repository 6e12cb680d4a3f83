"""Tables and columns that readers take from databases, by name, newest first.
Source: docs/facts/databases.md; docs/facts/ascend_pt.md, Differences between versions.

torch_npu_db.py declares the tables as the newest release writes them. Readers refer to a column by its key, so that
a changed name is changed here only.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from tb_npu_plugin.schema import torch_npu_db as names
from tb_npu_plugin.schema.link_files import HCCS_KINDS, PCIE_KINDS


class Content(enum.Enum):
    """Content of a column's cells; SQLite does not enforce types."""

    INT = "an integer, or text that is one"
    FLOAT = "a number"
    STRING = "the id of a text in STRING_IDS"
    TEXT = "text"


@dataclass(frozen=True)
class Field:
    """One column to read. names: newest first. required: a row without a valid value is skipped. seldom: not every release
    writes it."""

    key: str
    names: tuple[str, ...]
    content: Content = Content.INT
    required: bool = False
    seldom: bool = False


@dataclass(frozen=True)
class Select:
    """Columns to read from one table."""

    table: str
    fields: tuple[Field, ...]


def together(*tables: str) -> list[tuple[str, frozenset[str]]]:
    """Tables that are written together: each with the others, which prove it."""
    return [(table, frozenset(tables) - {table}) for table in tables]


#: Keys of the start and the end of a row with a duration.
START, END = "start_ns", "end_ns"
#: Keys of all times, ns since the epoch.
MOMENTS = (START, END, "time_ns", "alloc_ns", "release_ns", "active_release_ns")


def _required(key: str, *columns: str, content: Content = Content.INT) -> Field:
    return Field(key, columns, content, required=True)


def _int(key: str, *columns: str) -> Field:
    return Field(key, columns)


def _float(key: str, *columns: str) -> Field:
    return Field(key, columns, Content.FLOAT)


def _string(key: str, *columns: str) -> Field:
    return Field(key, columns, Content.STRING)


def _text(key: str, *columns: str) -> Field:
    return Field(key, columns, Content.TEXT)


def _seldom(field: Field) -> Field:
    return replace(field, seldom=True)


STRING_IDS = Select("STRING_IDS", (_required("id", "id"), _text("value", "value")))
API_TYPE_NAMES = Select("ENUM_API_TYPE", (_required("id", "id"), _text("value", "name")))
MODULE_NAMES = Select("ENUM_MODULE", (_required("id", "id"), _text("value", "name")))
DATA_TYPE_NAMES = Select("ENUM_HCCL_DATA_TYPE", (_required("id", "id"), _text("value", "name")))
LINK_TYPE_NAMES = Select("ENUM_HCCL_LINK_TYPE", (_required("id", "id"), _text("value", "name")))
TRANSPORT_NAMES = Select("ENUM_HCCL_TRANSPORT_TYPE", (_required("id", "id"), _text("value", "name")))
RANK_DEVICE = Select("RANK_DEVICE_MAP", (_int("rank", "rankId"), _int("device_id", "deviceId")))
NPU_INFO = Select("NPU_INFO", (_text("name", "name"),))
HOST_INFO = Select("HOST_INFO", (_text("host", "hostName"),))
META_DATA = Select("META_DATA", (_text("name", "name"), _text("value", "value")))
#: Tables with settings of the capture.
SETTINGS = (META_DATA, RANK_DEVICE, NPU_INFO, HOST_INFO)

TASK = Select(
    "TASK",
    (
        _required("start_ns", "startNs"),
        _required("end_ns", "endNs"),
        _int("device_id", "deviceId"),
        _int("connection", "connectionId"),
        _required("id", "globalTaskId"),
        _int("pid", "globalPid"),
        _string("kind", "taskType"),
        _int("context_id", "contextId"),
        _int("stream_id", "streamId"),
        _int("task_id", "taskId"),
        _int("model_id", "modelId"),
    ),
)
COMPUTE_TASK = Select(
    "COMPUTE_TASK_INFO",
    (
        _required("name", "name", content=Content.STRING),
        _required("id", "globalTaskId"),
        _int("block_dim", "blockNum", "blockDim"),
        _int("mix_block_dim", "mixBlockNum", "mixBlockDim"),
        _string("core", "taskType"),
        _string("type", "opType"),
        _seldom(_string("op_state", "opState")),
        _seldom(_string("hf32", "hf32Eligible")),
        _string("input_shapes", "inputShapes"),
        _string("input_types", "inputDataTypes"),
        _string("input_formats", "inputFormats"),
        _string("output_shapes", "outputShapes"),
        _string("output_types", "outputDataTypes"),
        _string("output_formats", "outputFormats"),
    ),
)
#: Tasks of the AI CPU that schedule a communication operator; text files list them with the kernels.
COMMUNICATION_SCHEDULE = Select(
    "COMMUNICATION_SCHEDULE_TASK_INFO",
    (
        _required("name", "name", content=Content.STRING),
        _required("id", "globalTaskId"),
        _string("core", "taskType"),
        _string("type", "opType"),
    ),
)
COMMUNICATION_OP = Select(
    "COMMUNICATION_OP",
    (
        _required("name", "opName", content=Content.STRING),
        _required("start_ns", "startNs"),
        _required("end_ns", "endNs"),
        _int("connection", "connectionId"),
        _string("group", "groupName"),
        _int("op", "opId"),
        _int("data_type", "dataType"),
        _string("algorithm", "algType"),
        _int("count", "count"),
        _string("type", "opType"),
        _seldom(_int("device_id", "deviceId")),
    ),
)
COMMUNICATION_TASK = Select(
    "COMMUNICATION_TASK_INFO",
    (
        _required("id", "globalTaskId"),
        _string("kind", "taskType"),
        _int("plane", "planeId"),
        _string("group", "groupName"),
        _int("notify", "notifyId"),
        _int("src", "srcRank"),
        _int("dst", "dstRank"),
        _int("transport", "transportType"),
        _int("size", "size"),
        _int("data_type", "dataType"),
        _int("link", "linkType"),
        _int("op", "opId"),
        _seldom(_float("bandwidth", "bandwidth")),
    ),
)
METRICS = Select(
    "TASK_PMU_INFO", (_required("task", "globalTaskId"), _required("name", "name"), _float("value", "value"))
)
CANN_API = Select(
    "CANN_API",
    (
        _required("start_ns", "startNs"),
        _required("end_ns", "endNs"),
        _required("level", "type"),
        _int("thread", "globalTid"),
        _int("connection", "connectionId"),
        _required("name", "name", content=Content.STRING),
    ),
)
PYTORCH_API = Select(
    "PYTORCH_API",
    (
        _required("start_ns", "startNs"),
        _required("end_ns", "endNs"),
        _int("thread", "globalTid"),
        _int("connection", "connectionId"),
        _required("name", "name", content=Content.STRING),
        _int("sequence", "sequenceNumber"),
        _int("forward_thread", "fwdThreadId"),
        _string("input_types", "inputDtypes"),
        _string("input_shapes", "inputShapes"),
        _int("chain", "callchainId"),
        _required("kind", "type"),
    ),
)
CONNECTIONS = Select("CONNECTION_IDS", (_required("id", "id"), _required("connection", "connectionId")))
CALL_CHAINS = Select(
    "PYTORCH_CALLCHAINS", (_required("id", "id"), _string("frame", "stack"), _required("depth", "stackDepth"))
)
STEP_TIME = Select("STEP_TIME", (_required("id", "id"), _required("start_ns", "startNs"), _required("end_ns", "endNs")))
GC_RECORD = Select(
    "GC_RECORD", (_required("start_ns", "startNs"), _required("end_ns", "endNs"), _int("thread", "globalTid"))
)

MEMORY_RECORD = Select(
    "MEMORY_RECORD",
    (
        _required("component", "component", content=Content.STRING),
        _required("time_ns", "timestamp"),
        _int("allocated_bytes", "totalAllocated"),
        _int("reserved_bytes", "totalReserved"),
        _int("active_bytes", "totalActive"),
        _int("stream", "streamPtr"),
        _int("device_id", "deviceId"),
    ),
)
OP_MEMORY = Select(
    "OP_MEMORY",
    (
        _required("name", "name", content=Content.STRING),
        _required("size_bytes", "size"),
        _required("alloc_ns", "allocationTime"),
        _int("release_ns", "releaseTime"),
        _int("active_release_ns", "activeReleaseTime"),
        _int("dur_ns", "duration"),
        _int("active_dur_ns", "activeDuration"),
        _int("alloc_allocated_bytes", "allocationTotalAllocated"),
        _int("alloc_reserved_bytes", "allocationTotalReserved"),
        _int("alloc_active_bytes", "allocationTotalActive"),
        _int("release_allocated_bytes", "releaseTotalAllocated"),
        _int("release_reserved_bytes", "releaseTotalReserved"),
        _int("release_active_bytes", "releaseTotalActive"),
        _int("stream", "streamPtr"),
        _int("device_id", "deviceId"),
    ),
)
NPU_MEMORY = Select(
    "NPU_MEM",
    (
        _required("place", "type", content=Content.STRING),
        _int("ddr", "ddr"),
        _int("hbm", "hbm"),
        _required("time_ns", "timestampNs"),
        _int("device_id", "deviceId"),
    ),
)
MODULE_MEMORY = Select(
    "NPU_MODULE_MEM",
    (
        _required("module", "moduleId"),
        _required("time_ns", "timestampNs"),
        _int("reserved_bytes", "totalReserved"),
        _int("device_id", "deviceId"),
    ),
)
HBM = Select(
    "HBM",
    (
        _int("device_id", "deviceId"),
        _required("time_ns", "timestampNs"),
        _float("bandwidth", "bandwidth"),
        _int("bank", "hbmId"),
        _string("way", "type"),
    ),
)
LLC = Select(
    "LLC",
    (
        _int("device_id", "deviceId"),
        _int("bank", "llcId"),
        _required("time_ns", "timestampNs"),
        _float("hit_rate", "hitRate"),
        _float("throughput", "throughput"),
        _string("way", "mode"),
    ),
)
AICORE_FREQ = Select(
    "AICORE_FREQ", (_int("device_id", "deviceId"), _required("time_ns", "timestampNs"), _float("mhz", "freq"))
)
_PACKETS = tuple(
    field
    for way in ("rx", "tx")
    for field in (
        _float(f"{way}_packet_rate", f"{way}PacketRate"),
        _float(f"{way}_rate", f"{way}ByteRate"),
        _int(f"{way}_packets", f"{way}Packets"),
        _int(f"{way}_errors", f"{way}Errors"),
        _int(f"{way}_dropped", f"{way}Dropped"),
    )
)
_NETWORK = (
    _int("device_id", "deviceId"),
    _required("time_ns", "timestampNs"),
    _float("bandwidth", "bandwidth"),
    *_PACKETS,
    _int("port", "funcId"),
)
NIC, ROCE = Select("NIC", _NETWORK), Select("ROCE", _NETWORK)
PCIE = Select(
    "PCIE",
    (
        _int("device_id", "deviceId"),
        _required("time_ns", "timestampNs"),
        *(
            _float(f"{key}_{end.lower()}", f"{name}{end}")
            for key, (name, _) in PCIE_KINDS.items()
            for end in ("Min", "Max", "Avg")
        ),
    ),
)
HCCS = Select(
    "HCCS",
    (
        _int("device_id", "deviceId"),
        _required("time_ns", "timestampNs"),
        *(_float(key, name) for key, (name, _) in HCCS_KINDS.items()),
    ),
)

ACC_PMU = Select(
    "ACC_PMU",
    (
        _required("acc", "accId"),
        _int("read_bandwidth", "readBwLevel"),
        _int("write_bandwidth", "writeBwLevel"),
        _int("read_ost", "readOstLevel"),
        _int("write_ost", "writeOstLevel"),
        _required("time_ns", "timestampNs"),
        _int("device_id", "deviceId"),
    ),
)
SOC_BANDWIDTH = Select(
    "SOC_BANDWIDTH_LEVEL",
    (
        _int("l2_buffer", "l2BufferBwLevel"),
        _int("mata", "mataBwLevel"),
        _required("time_ns", "timestampNs"),
        _int("device_id", "deviceId"),
    ),
)
QOS = Select(
    "QOS",
    (
        _int("device_id", "deviceId"),
        _required("event", "eventName", content=Content.STRING),
        _float("bandwidth", "bandwidth"),
        _required("time_ns", "timestampNs"),
    ),
)
MEMCPY = Select(
    "MEMCPY_INFO", (_required("id", "globalTaskId"), _int("size", "size"), _int("operation", "memcpyOperation"))
)
MEMCPY_OPERATIONS = Select("ENUM_MEMCPY_OPERATION", (_required("id", "id"), _text("value", "name")))
MSTX = Select(
    "MSTX_EVENTS",
    (
        _required("start_ns", "startNs"),
        _required("end_ns", "endNs"),
        _int("type", "eventType"),
        _string("message", "message"),
        _int("thread", "globalTid"),
        _string("domain", "domainId"),
        _int("connection", "connectionId"),
    ),
)
MSTX_TYPES = Select("ENUM_MSTX_EVENT_TYPE", (_required("id", "id"), _text("value", "name")))

# analysis.db
STEP_TRACE = Select(
    "StepTraceTime",
    (
        _seldom(_int("device_id", "deviceId")),
        _text("step", "step"),
        _float("computing", "computing"),
        _float("communication_not_overlapped", "communication_not_overlapped"),
        _float("overlapped", "overlapped"),
        _float("communication", "communication"),
        _float("free", "free"),
        _float("stage", "stage"),
        _float("bubble", "bubble"),
        _float("communication_not_overlapped_and_exclude_receive", "communication_not_overlapped_and_exclude_receive"),
        _float("preparing", "preparing"),
    ),
)
_COMM_OP = (
    _required("name", "hccl_op_name", content=Content.TEXT),
    _text("group", "group_name"),
    _seldom(_text("step", "step")),
    _seldom(_text("kind", "type")),
)
COMM_TIME = Select(
    "CommAnalyzerTime",
    (
        *_COMM_OP,
        _float("start_us", "start_timestamp"),
        _float("elapse_ms", "elapse_time", "elapsed_time"),
        _float("transit_ms", "transit_time"),
        _float("wait_ms", "wait_time"),
        _float("sync_ms", "synchronization_time"),
        _float("idle_ms", "idle_time"),
    ),
)
COMM_BANDWIDTH = Select(
    "CommAnalyzerBandwidth",
    (
        *_COMM_OP,
        _required("transport", "transport_type", "band_type", content=Content.TEXT),
        _float("size_mb", "transit_size"),
        _float("time_ms", "transit_time"),
        _float("bandwidth", "bandwidth"),
        _float("large_packet_ratio", "large_packet_ratio"),
        _float("packet_mb", "package_size"),
        _int("count", "count"),
        _float("packets_ms", "total_duration"),
    ),
)
COMM_MATRIX = Select(
    "CommAnalyzerMatrix",
    (
        *_COMM_OP,
        _int("src", "src_rank"),
        _int("dst", "dst_rank"),
        _text("transport", "transport_type"),
        _float("size_mb", "transit_size"),
        _float("time_ms", "transit_time"),
        _float("bandwidth", "bandwidth"),
        _seldom(_text("op_name", "op_name")),
    ),
)

#: Table, and the tables that prove it: where all of these are there and the table is not, it was lost.
PROVEN: tuple[tuple[str, frozenset[str]], ...] = (
    *together(COMM_TIME.table, COMM_BANDWIDTH.table, COMM_MATRIX.table),
    *together(COMMUNICATION_OP.table, COMMUNICATION_TASK.table),
    *together("HBM", "LLC"),
    *together(PYTORCH_API.table, CONNECTIONS.table),
    (OP_MEMORY.table, frozenset({MEMORY_RECORD.table, PYTORCH_API.table})),  # operators are of the CPU's activity
    (MEMORY_RECORD.table, frozenset({OP_MEMORY.table})),
    (NPU_MEMORY.table, frozenset({MODULE_MEMORY.table})),
    (
        CANN_API.table,
        frozenset({TASK.table, PYTORCH_API.table}),
    ),  # an option of msprof leaves it out, none of torch_npu
    # Level_none writes neither TASK nor AICORE_FREQ.
    *together(
        TASK.table,
        STRING_IDS.table,
        NPU_INFO.table,
        HOST_INFO.table,
        RANK_DEVICE.table,
        META_DATA.table,
        AICORE_FREQ.table,
    ),
)
#: Table -> texts of STRING_IDS that only its rows have: where one is there and the table is not, it was lost.
TEXTS_OF = {METRICS.table: ("aic_total_time", "aiv_total_time")}

#: All of the above.
SELECTS: tuple[Select, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Select))

#: Types of PYTORCH_API by their use in readers: operators that set marks are operators, as in text exports.
TORCH_KINDS = {
    "op": (names.API_TYPES["op"], names.API_TYPES["mstx"]),
    "queue": (names.API_TYPES["queue"],),
    "trace": (names.API_TYPES["trace"],),
}
#: Metrics of TASK_PMU_INFO with another name in the text export.
METRIC_NAMES = {"aic_total_time": "aicore_time", "aiv_total_time": "aiv_time", "total_time": "aicore_time"}
#: Counters of units that a core lacks; text exports omit these columns.
NO_SUCH_UNIT = ("aiv_mac_", "aiv_mte1_", "aiv_fixpipe_", "aic_vec_", "aic_mte3_")
#: Task type of copies.
COPY = "MEMCPY_ASYNC"
#: Name of the process memory in NPU_MEM, and its component in text exports.
APP_MEMORY, APP_COMPONENT = "app", "APP"
WORKSPACE = "WORKSPACE"
#: Prefix of the graph engine's blocks in text exports.
GRAPH_ENGINE_PREFIX = "cann::"
#: Name of the communication type in older databases (see API_TYPES).
OLD_COMMUNICATION = "hccl"
COMMUNICATION_TYPE = names.API_TYPES["communication"]
