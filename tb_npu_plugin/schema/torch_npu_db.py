"""The databases of a `*_ascend_pt` result: tables, columns as the newest release writes them, and what readers take of these.
Source: docs/facts/databases.md; docs/facts/ascend_pt.md, Differences between versions.

databases.csv declares each column once:
    file: "profiler", "analysis", or "optional" for tables of some recordings of the profiler's database.
    table, column, type: As SQLite declares them.
    key: Name of the column in readers, so that a changed name is changed there only; empty for columns that no reader takes.
    content: Content of its cells.
    need: "required": a row without a valid value is skipped; "seldom": not every release writes the column.
    older_names: Names in older releases, newest first.

Times are ns since the epoch and sizes bytes in the profiler's database, us and ms in analysis.db. Texts of the
profiler's database are ids of STRING_IDS.
"""

from __future__ import annotations

import csv
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.link_files import HCCS_KINDS, PCIE_KINDS

PROFILER_DB = "ascend_pytorch_profiler"
ANALYSIS_DB = "analysis.db"

#: First ids of STRING_IDS by owner of the text: CANN, CANN's copy of framework memory, the framework, its memory.
CANN_STRINGS, ENGINE_STRINGS, TORCH_STRINGS, MEMORY_STRINGS = 0, 1 << 27, 1 << 28, 2 << 28
#: Offset of the connection ids of task queue and forward-backward links, which separates them from CANN's.
CONNECTION_OFFSET = 5 << 28
NO_ID = (1 << 32) - 1


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


class _Row(NamedTuple):
    """A row of databases.csv."""

    file: str
    table: str
    column: str
    type: str
    key: str = ""
    content: str = ""
    need: str = ""
    older_names: str = ""

    @property
    def field(self) -> Field:
        """What readers take of the column."""
        names = (self.column, *filter(None, self.older_names.split("; ")))
        return Field(self.key, names, Content[self.content.upper()], self.need == "required", self.need == "seldom")


def _rows() -> Iterator[_Row]:
    with (Path(__file__).parent / "databases.csv").open(newline="", encoding="utf-8") as file:
        next(file)
        yield from map(_Row._make, csv.reader(file))
    for table in ("NIC", "ROCE", "PCIE", "HCCS"):
        yield _Row("profiler", table, "deviceId", "INTEGER", "device_id", "int")
        yield _Row("profiler", table, "timestampNs", "INTEGER", "time_ns", "int", "required")
        yield from (_Row("profiler", table, *one) for one in _link_columns(table))


def _link_columns(table: str) -> Iterator[tuple[str, ...]]:
    """Bandwidths and rates in bytes per second, latencies in ns; packets and bytes are counted since the device started."""
    if table == "HCCS":
        yield from ((name, "NUMERIC", key, "float") for key, (name, _) in HCCS_KINDS.items())
    elif table == "PCIE":
        for key, (name, _) in PCIE_KINDS.items():
            yield from ((f"{name}{end}", "NUMERIC", f"{key}_{end.lower()}", "float") for end in ("Min", "Max", "Avg"))
    else:
        yield "bandwidth", "INTEGER", "bandwidth", "float"
        for way in ("rx", "tx"):
            yield f"{way}PacketRate", "NUMERIC", f"{way}_packet_rate", "float"
            yield f"{way}ByteRate", "NUMERIC", f"{way}_rate", "float"
            yield f"{way}Packets", "INTEGER", f"{way}_packets", "int"
            yield f"{way}Bytes", "INTEGER"
            yield f"{way}Errors", "INTEGER", f"{way}_errors", "int"
            yield f"{way}Dropped", "INTEGER", f"{way}_dropped", "int"
        yield "funcId", "INTEGER", "port", "int"


def _tables(file: str) -> dict[str, str]:
    """Columns of each table of a file with their declared types, as SQL."""
    found: dict[str, list[str]] = {}
    for row in _ROWS:
        if row.file == file:
            found.setdefault(row.table, []).append(f"{row.column} {row.type}")
    return {table: ", ".join(columns) for table, columns in found.items()}


_ROWS = tuple(_rows())
TABLES, OPTIONAL_TABLES, ANALYSIS_TABLES = _tables("profiler"), _tables("optional"), _tables("analysis")
#: Tables that exist even without rows; others are created with their first row.
ALWAYS = ("STRING_IDS", "RANK_DEVICE_MAP", "HOST_INFO", "SESSION_TIME_INFO", "NPU_INFO", "META_DATA")
INDEXES = {
    "TASK": "TaskIndex ON TASK (startNs, globalTaskId)",
    "COMMUNICATION_TASK_INFO": "CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)",
}


#: Types of PYTORCH_API and CANN_API.
API_TYPES = {
    "runtime": 5000,
    "communication": 5500,
    "node": 10000,
    "model": 15000,
    "acl": 20000,
    "op": 50001,
    "queue": 50002,
    "trace": 50003,
    "mstx": 50004,
}
#: Name prefix of operators that set marks: their type is "mstx"; text exports list them as operators.
MARK_OPERATOR = "mstx_"
_NONE = {"N/A": 65534, "INVALID_TYPE": 65535}


def _numbered(names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split())}


ENUMS: dict[str, dict[str, int]] = {
    "ENUM_API_TYPE": API_TYPES,
    "ENUM_HCCL_DATA_TYPE": _numbered("INT8 INT16 INT32 FP16 FP32 INT64 UINT64 UINT8 UINT16 UINT32 FP64 BFP16 INT128")
    | _NONE,
    "ENUM_HCCL_LINK_TYPE": _numbered("ON_CHIP HCCS PCIE ROCE SIO HCCS_SW STANDARD_ROCE RESERVED") | _NONE,
    "ENUM_HCCL_TRANSPORT_TYPE": _numbered("SDMA RDMA LOCAL") | _NONE,
    "ENUM_HCCL_RDMA_TYPE": _numbered(
        "RDMA_SEND_NOTIFY RDMA_SEND_PAYLOAD RDMA_PAYLOAD_PREPARE RDMA_PAYLOAD_CHECK RDMA_PAYLOAD_ACK RDMA_SEND_OP"
    )
    | _NONE,
    "ENUM_MSTX_EVENT_TYPE": _numbered("marker push/pop start/end marker_ex"),
    # Modules of the driver that hold memory.
    "ENUM_MODULE": _numbered(
        "SLOG IDEDD IDEDH HCCL FMK HIAIENGINE DVPP RUNTIME CCE HDC DRV MDCFUSION MDCLOCATION MDCPERCEPTION MDCFSM "
        "MDCCOMMON MDCMONITOR MDCBSWP MDCDEFAULT MDCSC MDCPNC MLL DEVMM KERNEL LIBMEDIA CCECPU ASCENDDK ROS HCCP "
        "ROCE TEFUSION PROFILING DP APP TS TSDUMP AICPU LP TDT FE MD MB ME IMU IMP GE MDCFUSA CAMERA ASCENDCL "
        "TEEOS ISP SIS HSM DSS PROCMGR BBOX AIVECTOR TBE FV MDCMAP TUNE HSS FFTS OP UDF HICAID TSYNC AUDIO TPRT "
        "ASCENDCKERNEL ASYS ATRACE RTC SYSMONITOR AMP ADETECT MBUFF CUSTOM"
    ),
}

#: What readers take of each table; no reader takes the types of RDMA.
SELECTS = {
    table: Select(table, tuple(row.field for row in _ROWS if row.table == table and row.key))
    for table in dict.fromkeys(row.table for row in _ROWS if row.key)
}
SELECTS |= {
    table: Select(table, (Field("id", ("id",), required=True), Field("value", ("name",), Content.TEXT)))
    for table in ENUMS
    if table != "ENUM_HCCL_RDMA_TYPE"
}
STRING_IDS = SELECTS["STRING_IDS"]
API_TYPE_NAMES = SELECTS["ENUM_API_TYPE"]
MODULE_NAMES = SELECTS["ENUM_MODULE"]
DATA_TYPE_NAMES = SELECTS["ENUM_HCCL_DATA_TYPE"]
LINK_TYPE_NAMES = SELECTS["ENUM_HCCL_LINK_TYPE"]
TRANSPORT_NAMES = SELECTS["ENUM_HCCL_TRANSPORT_TYPE"]
RANK_DEVICE = SELECTS["RANK_DEVICE_MAP"]
NPU_INFO = SELECTS["NPU_INFO"]
HOST_INFO = SELECTS["HOST_INFO"]
META_DATA = SELECTS["META_DATA"]
#: Prefix of its names that describe the database itself, and these rows.
VERSION = "SCHEMA_VERSION"
VERSIONS = {f"{VERSION}_MICRO": "0", f"{VERSION}_MINOR": "0", f"{VERSION}_MAJOR": "1", VERSION: "1.0.0"}
TASK = SELECTS["TASK"]
COMPUTE_TASK = SELECTS["COMPUTE_TASK_INFO"]
#: Tasks of the AI CPU that schedule a communication operator; text files list them with the kernels.
COMMUNICATION_SCHEDULE = SELECTS["COMMUNICATION_SCHEDULE_TASK_INFO"]
COMMUNICATION_OP = SELECTS["COMMUNICATION_OP"]
COMMUNICATION_TASK = SELECTS["COMMUNICATION_TASK_INFO"]
METRICS = SELECTS["TASK_PMU_INFO"]
CANN_API = SELECTS["CANN_API"]
PYTORCH_API = SELECTS["PYTORCH_API"]
CONNECTIONS = SELECTS["CONNECTION_IDS"]
CALL_CHAINS = SELECTS["PYTORCH_CALLCHAINS"]
STEP_TIME = SELECTS["STEP_TIME"]
GC_RECORD = SELECTS["GC_RECORD"]
MEMORY_RECORD = SELECTS["MEMORY_RECORD"]
OP_MEMORY = SELECTS["OP_MEMORY"]
NPU_MEMORY = SELECTS["NPU_MEM"]
MODULE_MEMORY = SELECTS["NPU_MODULE_MEM"]
HBM = SELECTS["HBM"]
LLC = SELECTS["LLC"]
AICORE_FREQ = SELECTS["AICORE_FREQ"]
PCIE = SELECTS["PCIE"]
HCCS = SELECTS["HCCS"]
ACC_PMU = SELECTS["ACC_PMU"]
SOC_BANDWIDTH = SELECTS["SOC_BANDWIDTH_LEVEL"]
QOS = SELECTS["QOS"]
MEMCPY = SELECTS["MEMCPY_INFO"]
MEMCPY_OPERATIONS = SELECTS["ENUM_MEMCPY_OPERATION"]
MSTX = SELECTS["MSTX_EVENTS"]
MSTX_TYPES = SELECTS["ENUM_MSTX_EVENT_TYPE"]
STEP_TRACE = SELECTS["StepTraceTime"]
COMM_TIME = SELECTS["CommAnalyzerTime"]
COMM_BANDWIDTH = SELECTS["CommAnalyzerBandwidth"]
COMM_MATRIX = SELECTS["CommAnalyzerMatrix"]
NIC = SELECTS["NIC"]
ROCE = SELECTS["ROCE"]
#: Tables with settings of the capture.
SETTINGS = (META_DATA, RANK_DEVICE, NPU_INFO, HOST_INFO)

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

#: Types of PYTORCH_API by their use in readers: operators that set marks are operators, as in text exports.
TORCH_KINDS = {
    "op": (API_TYPES["op"], API_TYPES["mstx"]),
    "queue": (API_TYPES["queue"],),
    "trace": (API_TYPES["trace"],),
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
COMMUNICATION_TYPE = API_TYPES["communication"]

#: Data that only databases hold, not text files.
PROFILER_DATABASE = result_file("torch_npu.profiler_db")
ANALYSIS_DATABASE = result_file("torch_npu.analysis_db")
DATABASE_FILES = (PROFILER_DATABASE, ANALYSIS_DATABASE)
