"""The JSON files of a `*_ascend_pt` result.
Source: docs/facts/ascend_pt.md, profiler_info.json, profiler_metadata.json, communication.json,
communication_matrix.json, trace_view.json."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import scan_keys
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind

_COMM = Condition(
    "profiler_level=ProfilerLevel.Level1, more than one rank",
    Message("written.text_when_communicating"),
    always=False,
)
_ALWAYS = Condition("export_type=[ExportType.Text]", Message("written.text"))

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
TIME, DUR, TRAFFIC, RATIO, BANDWIDTH = Kind.TIME, Kind.DURATION, Kind.TRAFFIC, Kind.RATIO, Kind.BANDWIDTH

_STEP = Column("step", T, "Step", "Step number; unknown without step marks.", "identity")
_SORT = Column("kind", T, "Kind", "collective or p2p.", "identity")
_NAME = Column("name", T, "Name", "Communication operator.", "identity", required=True)
_GROUP = Column("group", T, "Group", "Communicator, as a hash.", "identity")

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
    Column("start_ns", TIME, "Start", "Start on the device.", "time", (START,)),
    Column("elapse_ns", DUR, "Elapsed", "Wall time of the operator.", "time", (ELAPSE,)),
    Column("transit_ns", DUR, "Transfer", "Data moves, main plane.", "time", (TRANSIT,)),
    Column("wait_ns", DUR, "Wait", "Waiting for peers, synchronization included.", "time", (WAIT,)),
    Column("sync_ns", DUR, "Synchronization", "Waiting before the first data moves; part of Wait.", "time", (SYNC,)),
    Column("idle_ns", DUR, "Idle", "Elapsed minus transit minus wait.", "time", (IDLE,), least=-IDLE_TOLERANCE_NS),
    Column("wait_ratio", RATIO, "Wait ratio", "Wait / (wait + transit).", "", (WAIT_RATIO,)),
    Column(
        "sync_ratio",
        RATIO,
        "Synchronization ratio",
        "Synchronization / (synchronization + transit).",
        "",
        (SYNC_RATIO,),
    ),
)
COMM_BANDWIDTH_COLUMNS = (
    _STEP,
    _SORT,
    _NAME,
    _GROUP,
    Column("transport", T, "Transport", "HCCS, PCIE, RDMA, SIO, SDMA.", "identity", required=True),
    Column("rollup", I, "Rollup", "1 when the row already contains others (SDMA = HCCS + PCIE + SIO).", "identity"),
    Column("size_bytes", TRAFFIC, "Size", "Bytes moved.", "", (SIZE,)),
    Column("time_ns", DUR, "Transfer", "Sum over the tasks of all links.", "time", (TRANSIT,)),
    Column("bandwidth", BANDWIDTH, "Bandwidth", "Size / time.", "", (BANDWIDTH_GBS,)),
    Column(
        "large_packet_ratio",
        RATIO,
        "Large packets",
        "Share of the packets, by number, that are larger than 32 MB (RDMA: 0.5 MB).",
        "",
        (LARGE_PACKETS,),
    ),
)
COMM_PACKETS_COLUMNS = (
    _STEP,
    _SORT,
    _NAME,
    _GROUP,
    Column("transport", T, "Transport", "HCCS, PCIE, RDMA, SIO.", "identity"),
    Column("packet_bytes", TRAFFIC, "Packet", "Size of one packet.", ""),
    Column("count", I, "Packets", "How many.", ""),
    Column("time_ns", DUR, "Time", "Sum over these packets.", "time"),
)
COMM_LINKS_COLUMNS = (
    _STEP,
    _SORT,
    Column("op_type", T, "Type", "Operator type.", "identity"),
    Column(
        "stat",
        T,
        "Of",
        "total: sum of the operators of that type; top1, middle, bottom1 ...: one of them, by bandwidth.",
        "identity",
    ),
    _GROUP,
    Column("src", I, "From", "Source, rank inside the group.", "identity"),
    Column("dst", I, "To", "Destination, rank inside the group.", "identity"),
    Column("transport", T, "Transport", "LOCAL, HCCS, PCIE, RDMA, SIO.", "identity", (TRANSPORT,)),
    Column("size_bytes", TRAFFIC, "Size", "Bytes moved.", "", (SIZE,)),
    Column("time_ns", DUR, "Transfer", "Time of the moves.", "time", (TRANSIT,)),
    Column("bandwidth", BANDWIDTH, "Bandwidth", "Size / time.", "", (BANDWIDTH_GBS,)),
    Column("op_name", T, "Operator", "The operator that this statistic was taken from.", "identity", OP_NAMES),
)

COMMUNICATION = ResultFile(
    id="communication",
    name="communication.json",
    title="Communication",
    condition=_COMM,
    columns=COMM_OPS_COLUMNS,
    fills=("comm_ops", "comm_bandwidth", "comm_packets"),
    doc="Times and data of each communication operator of a step.",
)
COMMUNICATION_MATRIX = ResultFile(
    id="comm_links",
    name="communication_matrix.json",
    title="Communication matrix",
    condition=_COMM,
    columns=COMM_LINKS_COLUMNS,
    doc="Data that each link of this rank carried, by operator type.",
)
TRACE_VIEW = ResultFile(
    id="trace",
    name="trace_view.json",
    title="Trace",
    condition=_ALWAYS,
    columns=(),
    doc="Chrome trace events of host and device.",
    stages=("trace",),
)
PROFILER_INFO = ResultFile(
    id="profiler_info",
    name="profiler_info.json",
    title="Profiler settings",
    condition=_ALWAYS,
    columns=(),
    in_root=True,
    settings=True,
    pattern=re.compile(r"profiler_info(?:_(\d+))?\.json"),
)
PROFILER_METADATA = ResultFile(
    id="profiler_metadata",
    name="profiler_metadata.json",
    title="Metadata",
    condition=Condition("add_metadata, or distributed training", Message("written.metadata")),
    columns=(),
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
