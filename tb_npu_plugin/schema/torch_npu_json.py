"""The JSON files of a `*_ascend_pt` result.
Source: docs/facts/ascend_pt.md, profiler_info.json, profiler_metadata.json, communication.json,
communication_matrix.json, trace_view.json."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import scan_keys
from tb_npu_plugin.schema.core import Condition, ResultFile, join_settings
from tb_npu_plugin.tables import Column, Kind, column_texts

_COMM = Condition(
    join_settings("profiler_level=ProfilerLevel.Level1", Message("option.ranks")),
    Message("written.text_when_communicating"),
    always=False,
)
_ALWAYS = Condition("export_type=[ExportType.Text]", Message("written.text"))

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
TIME, DUR, TRAFFIC, RATIO, BANDWIDTH = Kind.TIME, Kind.DURATION, Kind.TRAFFIC, Kind.RATIO, Kind.BANDWIDTH

_STEP = Column("step", T, *column_texts("communication.step"), "identity")
_SORT = Column("kind", T, *column_texts("communication.kind"), "identity")
_NAME = Column("name", T, *column_texts("comm_ops.name"), "identity", required=True)
_GROUP = Column("group", T, *column_texts("communication.group"), "identity")

#: Capture file of the mock device, in FRAMEWORK: parsing it needs no CANN.
MOCK_CAPTURE = "capture.json"
#: Next to it after the capture: the data recorded by PyTorch.
MOCK_TRACE = "torch.json"
ANALYSE_MOCK = 'from tb_npu_plugin.capture.pytorch import analyse; analyse("{path}")'
#: Structural keys of communication.json.
COMM_TIME_INFO = "Communication Time Info"
COMM_BANDWIDTH_INFO = "Communication Bandwidth Info"
COMM_TOTAL = "Total Op Info"
COMM_SIZE_DISTRIBUTION = "Size Distribution"
#: Key of a step, before its number.
STEP_KEY = "step"
#: Key of an operator, or of a type and statistic.
ENTRY_KEY = "name@group"
#: The two parts of a step.
COMM_KINDS = ("p2p", "collective")
#: Keys of figures.
START = "Start Timestamp(us)"
ELAPSE = "Elapse Time(ms)"
TRANSIT = "Transit Time(ms)"
WAIT = "Wait Time(ms)"
SYNC = "Synchronization Time(ms)"
IDLE = "Idle Time(ms)"
WAIT_RATIO = "Wait Time Ratio"
SYNC_RATIO = "Synchronization Time Ratio"
SIZE = "Transit Size(MB)"
BANDWIDTH_GBS = "Bandwidth(GB/s)"
LARGE_PACKETS = "Large Packet Ratio"
#: Minimum size of large packets, in MB of 1e6 bytes, exclusive: as counted by CANN's parser (HcclAnalysisTool).
LARGE_PACKET_MB = {"HCCS": 32, "PCIE": 32, "SIO": 32, "RDMA": 0.5}
TRANSPORT = "Transport Type"
OP_NAME = "Op Name"
#: Keys that are written together: of an operator's times, of a transport and of a link.
TIME_KEYS = (START, ELAPSE, TRANSIT, WAIT, SYNC, IDLE, WAIT_RATIO, SYNC_RATIO)
BANDWIDTH_KEYS = (SIZE, TRANSIT, BANDWIDTH_GBS, LARGE_PACKETS, COMM_SIZE_DISTRIBUTION)
LINK_KEYS = (TRANSPORT, SIZE, TRANSIT, BANDWIDTH_GBS)
#: Transport of copies within a device.
LOCAL = "LOCAL"
#: The second is MindSpore's spelling.
OP_NAMES = (OP_NAME, "op_name")
#: The statistic that sums all operators of a type.
TOTAL = "total"
#: Transports that include others and are never added to them.
ROLLUP_TRANSPORTS = frozenset({"SDMA"})

#: Largest difference between the file's idle time and elapsed - transit - wait that rounding explains.
IDLE_TOLERANCE_NS = 1_000

#: communication.json as three tables, without rollup rows ("Total Op Info").
COMM_OPS_COLUMNS = (
    _STEP,
    _SORT,
    _NAME,
    _GROUP,
    Column("start_ns", TIME, *column_texts("device.start_ns"), "time", (START,)),
    Column("elapse_ns", DUR, *column_texts("comm_ops.elapse_ns"), "time", (ELAPSE,)),
    Column("transit_ns", DUR, *column_texts("comm_ops.transit_ns"), "time", (TRANSIT,)),
    Column("wait_ns", DUR, *column_texts("comm_ops.wait_ns"), "time", (WAIT,)),
    Column("sync_ns", DUR, *column_texts("comm_ops.sync_ns"), "time", (SYNC,)),
    Column("idle_ns", DUR, *column_texts("comm_ops.idle_ns"), "time", (IDLE,), least=-IDLE_TOLERANCE_NS),
    Column("wait_ratio", RATIO, *column_texts("wait_ratio"), "", (WAIT_RATIO,)),
    Column("sync_ratio", RATIO, *column_texts("sync_ratio"), "", (SYNC_RATIO,)),
)
COMM_BANDWIDTH_COLUMNS = (
    _STEP,
    _SORT,
    _NAME,
    _GROUP,
    Column("transport", T, *column_texts("comm_bandwidth.transport"), "identity", required=True),
    Column("rollup", I, *column_texts("rollup"), "identity"),
    Column("size_bytes", TRAFFIC, *column_texts("comm_bandwidth.size_bytes"), "", (SIZE,)),
    Column("time_ns", DUR, *column_texts("comm_bandwidth.time_ns"), "time", (TRANSIT,)),
    Column("bandwidth", BANDWIDTH, *column_texts("comm_bandwidth.bandwidth"), "", (BANDWIDTH_GBS,)),
    Column("large_packet_ratio", RATIO, *column_texts("comm_bandwidth.large_packet_ratio"), "", (LARGE_PACKETS,)),
)
COMM_PACKETS_COLUMNS = (
    _STEP,
    _SORT,
    _NAME,
    _GROUP,
    Column("transport", T, *column_texts("comm_packets.transport"), "identity"),
    Column("packet_bytes", TRAFFIC, *column_texts("packet_bytes"), ""),
    Column("count", I, *column_texts("comm_packets.count"), ""),
    Column("time_ns", DUR, *column_texts("comm_packets.time_ns"), "time"),
)
COMM_LINKS_COLUMNS = (
    _STEP,
    _SORT,
    Column("op_type", T, *column_texts("op_type"), "identity"),
    Column("stat", T, *column_texts("stat"), "identity"),
    _GROUP,
    Column("src", I, *column_texts("src"), "identity"),
    Column("dst", I, *column_texts("dst"), "identity"),
    Column("transport", T, *column_texts("comm_links.transport"), "identity", (TRANSPORT,)),
    Column("size_bytes", TRAFFIC, *column_texts("comm_bandwidth.size_bytes"), "", (SIZE,)),
    Column("time_ns", DUR, *column_texts("comm_links.time_ns"), "time", (TRANSIT,)),
    Column("bandwidth", BANDWIDTH, *column_texts("comm_bandwidth.bandwidth"), "", (BANDWIDTH_GBS,)),
    Column("op_name", T, *column_texts("op_name"), "identity", OP_NAMES),
)

COMMUNICATION = ResultFile(
    id="communication",
    name="communication.json",
    condition=_COMM,
    columns=COMM_OPS_COLUMNS,
    fills=("comm_ops", "comm_bandwidth", "comm_packets"),
    doc="Times and data of each communication operator of a step.",
)
COMMUNICATION_MATRIX = ResultFile(
    id="comm_links",
    name="communication_matrix.json",
    condition=_COMM,
    columns=COMM_LINKS_COLUMNS,
    doc="Data that each link of this rank carried, by operator type.",
)
TRACE_VIEW = ResultFile(
    id="trace",
    name="trace_view.json",
    condition=_ALWAYS,
    doc="Chrome trace events of host and device.",
    stages=("trace",),
)
PROFILER_INFO = ResultFile(
    id="profiler_info",
    name="profiler_info.json",
    condition=_ALWAYS,
    in_root=True,
    settings=True,
    pattern=re.compile(r"profiler_info(?:_(\d+))?\.json"),
)
PROFILER_METADATA = ResultFile(
    id="profiler_metadata",
    name="profiler_metadata.json",
    condition=Condition(
        Message("option.either", one="add_metadata", other=Message("option.distributed")), Message("written.metadata")
    ),
    in_root=True,
    settings=True,
)
JSON_FILES = (COMMUNICATION, COMMUNICATION_MATRIX, TRACE_VIEW, PROFILER_INFO, PROFILER_METADATA)

#: Key of torch_npu's settings in profiler_info.json.
CONFIG = "config"
#: Keys of profiler_metadata.json.
ENVIRONMENT = "ENV_VARIABLES"
GROUPS = scan_keys.GROUPS
DISTRIBUTED = scan_keys.MEGATRON
#: Names of the pipeline in Megatron's groups and arguments.
PIPELINE, STAGES = "pp", "pipeline_model_parallel_size"
#: Key of our mock device: the device side is simulated.
SIMULATED = "tb_npu_simulated"
#: Its list of what the simulation leaves out (MindSpore), and what that may be.
LEFT_OUT = "left_out"
MEMORY_BLOCKS, SUNK_GRAPH = "memory_blocks", "sunk_graph"

#: Folder of the parsed files inside a result folder.
OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
#: Core names of communication rows in kernel_details.csv (older, newer).
COMMUNICATION_CORES = ("HCCL", "COMMUNICATION")
