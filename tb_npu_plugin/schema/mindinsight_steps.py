"""Step traces and cluster figures of legacy MindSpore results (flat `profiler/` folders, up to 2.2).
Source: docs/facts/mindinsight.md, Files, Units and definitions."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind, column_texts

GRAPH = Condition(Message("option.graph_mode"), Message("written.graph_mode"))
CLUSTER = Condition(Message("option.every_rank"), Message("written.parallel"))

T, I, TIME, DUR = Kind.TEXT, Kind.INT, Kind.TIME, Kind.DURATION

#: One tick of the device's clock, ns.
COUNT_NS = 10
#: Step of the row with the recorder's average.
AVERAGE_STEP = "-"
#: Column suffixes of one all-reduce; the column of the duration has no suffix.
REDUCE_START, REDUCE_END = "_start_point", "_end_point"
#: "stream_36_0_AllReduce-op4542" -> stream 36, number 0, operator; older: "stream_10_parallel_0".
REDUCE_NAME = re.compile(r"stream_(?P<stream>\d+)_(?P<name>.+)")

_STEP = Column("step", T, *column_texts("mindinsight_steps.step"), "identity", ("step_num",))
_AVERAGE = Column("average", I, *column_texts("mindinsight_steps.average"), "identity")

#: Times are from a device clock, not times of day.
ITERATIONS_COLUMNS = (
    _STEP,
    _AVERAGE,
    Column("start_ns", TIME, *column_texts("iterations.start_ns"), "time", ("start_point",)),
    Column("end_ns", TIME, *column_texts("iterations.end_ns"), "time", ("end_point",)),
    Column("total_ns", DUR, *column_texts("iterations.total_ns"), "time", ("total",)),
    Column("fp_ns", TIME, *column_texts("fp_ns"), "time", ("fp_point",)),
    Column("bp_ns", TIME, *column_texts("bp_ns"), "time", ("bp_point",)),
    Column("interval_ns", DUR, *column_texts("interval_ns"), "time", ("iteration_interval",)),
    Column("fp_bp_ns", DUR, *column_texts("iterations.fp_bp_ns"), "time", ("fp_and_bp", "fp")),
    Column("tail_ns", DUR, *column_texts("iterations.tail_ns"), "time", ("tail",)),
)

REDUCES_COLUMNS = (
    _STEP,
    Column("name", T, *column_texts("comm_ops.name"), "identity"),
    Column("stream_id", I, *column_texts("kernel.stream_id"), "identity"),
    Column("start_ns", TIME, *column_texts("device.start_ns"), "time"),
    Column("dur_ns", DUR, *column_texts("device.dur_ns"), "time"),
)

POINTS_COLUMNS = (
    Column("step", T, *column_texts("points.step"), "identity"),
    Column("fp_point", T, *column_texts("fp_point"), "identity"),
    Column("bp_point", T, *column_texts("bp_point"), "identity"),
)
#: Keys of step_trace_point_info.json.
FP_KEYS = ("fp_start",)
BP_KEYS = ("bp_end",)

#: In the names of files of pipeline-parallel jobs.
PIPELINE = "pipeline-parallel"
PARALLEL_COLUMNS = (
    Column("step", I, *column_texts("parallel.step"), "identity"),
    _AVERAGE,
    Column("computation_ns", DUR, *column_texts("computation_ns"), "time", ("computation_time",)),
    Column(
        "communication_alone_ns", DUR, *column_texts("communication_alone_ns"), "time", ("communication_alone_time",)
    ),
    Column("stage_ns", DUR, *column_texts("stage_ns"), "time", ("stage_time",)),
    Column("receive_alone_ns", DUR, *column_texts("receive_alone_ns"), "time", ("receive_alone_time",)),
    Column(
        "collective_alone_ns",
        DUR,
        *column_texts("collective_alone_ns"),
        "time",
        ("collective_communication_alone_time",),
    ),
)

STEP_TRACE_RAW = ResultFile(
    id="iterations",
    name="step_trace_raw_<rank>_detail_time.csv",
    condition=GRAPH,
    columns=ITERATIONS_COLUMNS,
    pattern=re.compile(r"step_trace_raw_(?P<rank>\d+)_detail_time\.csv"),
    fills=("iterations", "iteration_reduces"),
    doc="Points of each step on the device, in counts of 10 ns, and its all-reduces.",
)
POINT_INFO = ResultFile(
    id="step_points",
    name="step_trace_point_info_<rank>.json",
    condition=GRAPH,
    columns=POINTS_COLUMNS,
    pattern=re.compile(r"step_trace_point_info(?:_(?P<rank>\d+))?\.json"),
    doc="Operators that delimit forward and backward.",
)
CLUSTER_ANALYSE = ResultFile(
    id="parallel_times",
    name="ascend_cluster_analyse_<mode>_<stages>_<ranks>_<rank>.csv",
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
