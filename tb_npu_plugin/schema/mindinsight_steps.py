"""Step traces and cluster figures of legacy MindSpore results (flat `profiler/` folders, up to 2.2).
Source: docs/facts/mindinsight.md, Files, Units and definitions."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind

GRAPH = Condition("Profiler() in graph mode", Message("written.graph_mode"))
CLUSTER = Condition("Profiler() on every rank", Message("written.parallel"))

T, I, TIME, DUR = Kind.TEXT, Kind.INT, Kind.TIME, Kind.DURATION

#: One tick of the device's clock, ns.
COUNT_NS = 10
#: Step of the row with the recorder's average.
AVERAGE_STEP = "-"
#: Column suffixes of one all-reduce; the column of the duration has no suffix.
REDUCE_START, REDUCE_END = "_start_point", "_end_point"
#: "stream_36_0_AllReduce-op4542" -> stream 36, number 0, operator; older: "stream_10_parallel_0".
REDUCE_NAME = re.compile(r"stream_(?P<stream>\d+)_(?P<name>.+)")

_STEP = Column("step", T, "Step", "Step number; unknown for the recorder's own average.", "identity", ("step_num",))
_AVERAGE = Column(
    "average",
    I,
    "Recorded average",
    "1: the average that the recorder wrote; it is shown beside ours only.",
    "identity",
)

#: Times are from a device clock, not times of day.
ITERATIONS_COLUMNS = (
    _STEP,
    _AVERAGE,
    Column(
        "start_ns",
        TIME,
        "Start",
        "End of the step before; of the first step its forward start.",
        "time",
        ("start_point",),
    ),
    Column("end_ns", TIME, "End", "End of the step.", "time", ("end_point",)),
    Column("total_ns", DUR, "Total", "Whole step: gap + forward and backward + tail.", "time", ("total",)),
    Column("fp_ns", TIME, "Forward start", "Start of the first operator of the forward pass.", "time", ("fp_point",)),
    Column("bp_ns", TIME, "Backward end", "End of the last operator of the backward pass.", "time", ("bp_point",)),
    Column(
        "interval_ns",
        DUR,
        "Step gap",
        "From the end of the step before to the forward start.",
        "time",
        ("iteration_interval",),
    ),
    Column(
        "fp_bp_ns",
        DUR,
        "Forward and backward",
        "From the forward start to the backward end.",
        "time",
        ("fp_and_bp", "fp"),
    ),
    Column(
        "tail_ns", DUR, "Tail", "From the backward end to the end of the step: parameter update.", "time", ("tail",)
    ),
)

REDUCES_COLUMNS = (
    _STEP,
    Column("name", T, "Name", "Communication operator.", "identity"),
    Column("stream_id", I, "Stream ID", "Stream that ran it.", "identity"),
    Column("start_ns", TIME, "Start", "Start on the device.", "time"),
    Column("dur_ns", DUR, "Duration", "Time on the device.", "time"),
)

POINTS_COLUMNS = (
    Column("step", T, "Step", "Step; unknown where the points are those of all.", "identity"),
    Column("fp_point", T, "FP_POINT", "First operator of the forward pass.", "identity"),
    Column("bp_point", T, "BP_POINT", "Last operator of the backward pass.", "identity"),
)
#: Keys of step_trace_point_info.json.
FP_KEYS = ("fp_start",)
BP_KEYS = ("bp_end",)

#: In the names of files of pipeline-parallel jobs.
PIPELINE = "pipeline-parallel"
PARALLEL_COLUMNS = (
    Column("step", I, "Step", "Number of the step, from 1; unknown for the recorder's own average.", "identity"),
    _AVERAGE,
    Column(
        "computation_ns",
        DUR,
        "Computation and idle",
        "Step minus communication alone: computing, and idle time too.",
        "time",
        ("computation_time",),
    ),
    Column(
        "communication_alone_ns",
        DUR,
        "Exposed communication",
        "Communication that nothing computes beside.",
        "time",
        ("communication_alone_time",),
    ),
    Column("stage_ns", DUR, "Stage", "Step minus receiving alone.", "time", ("stage_time",)),
    Column(
        "receive_alone_ns",
        DUR,
        "Exposed receive",
        "Receiving from other pipeline stages, nothing else beside.",
        "time",
        ("receive_alone_time",),
    ),
    Column(
        "collective_alone_ns",
        DUR,
        "Exposed collective communication",
        "Collective communication, nothing else beside.",
        "time",
        ("collective_communication_alone_time",),
    ),
)

STEP_TRACE_RAW = ResultFile(
    id="iterations",
    name="step_trace_raw_<rank>_detail_time.csv",
    title="Step trace",
    condition=GRAPH,
    columns=ITERATIONS_COLUMNS,
    pattern=re.compile(r"step_trace_raw_(?P<rank>\d+)_detail_time\.csv"),
    fills=("iterations", "iteration_reduces"),
    doc="Points of each step on the device, in counts of 10 ns, and its all-reduces.",
)
POINT_INFO = ResultFile(
    id="step_points",
    name="step_trace_point_info_<rank>.json",
    title="Points of a step",
    condition=GRAPH,
    columns=POINTS_COLUMNS,
    pattern=re.compile(r"step_trace_point_info(?:_(?P<rank>\d+))?\.json"),
    doc="Operators that delimit forward and backward.",
)
CLUSTER_ANALYSE = ResultFile(
    id="parallel_times",
    name="ascend_cluster_analyse_<mode>_<stages>_<ranks>_<rank>.csv",
    title="Cluster figures",
    condition=CLUSTER,
    columns=PARALLEL_COLUMNS,
    unit="ms",
    pattern=re.compile(
        r"ascend_cluster_analyse_(?P<mode>data|model|pipeline)-parallel_(?P<stages>\d+)_(?P<ranks>\d+)"
        r"_(?P<rank>\d+)\.csv"
    ),
    doc="Computation and communication of each step of one rank.",
)
STEP_FILES = (STEP_TRACE_RAW, POINT_INFO, CLUSTER_ANALYSE)
