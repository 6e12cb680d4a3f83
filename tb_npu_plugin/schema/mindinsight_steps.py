"""Step traces and cluster figures of legacy MindSpore results (flat `profiler/` folders, up to 2.2).
Source: docs/facts/mindinsight.md, Files, Units and definitions."""

from __future__ import annotations

import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile

GRAPH = Condition(Message("option.graph_mode"), Message("written.graph_mode"))
CLUSTER = Condition(Message("option.every_rank"), Message("written.parallel"))

#: One tick of the device's clock, ns: times of iterations are from it, not times of day.
COUNT_NS = 10
#: Step of the row with the recorder's average.
AVERAGE_STEP = "-"
#: Column suffixes of one all-reduce; the column of the duration has no suffix.
REDUCE_START, REDUCE_END = "_start_point", "_end_point"
#: "stream_36_0_AllReduce-op4542" -> stream 36, number 0, operator; older: "stream_10_parallel_0".
REDUCE_NAME = re.compile(r"stream_(?P<stream>\d+)_(?P<name>.+)")

#: Keys of step_trace_point_info.json.
FP_KEYS = ("fp_start",)
BP_KEYS = ("bp_end",)

#: In the names of files of pipeline-parallel jobs.
PIPELINE = "pipeline-parallel"

STEP_TRACE_RAW = ResultFile(
    id="iterations",
    name="step_trace_raw_<rank>_detail_time.csv",
    condition=GRAPH,
    columns=columns_of("iterations"),
    fills=("iterations", "iteration_reduces"),
    doc="Points of each step on the device, in counts of 10 ns, and its all-reduces.",
)
POINT_INFO = ResultFile(
    id="step_points",
    name="step_trace_point_info_<rank>.json",
    condition=GRAPH,
    columns=columns_of("step_points"),
    pattern=re.compile(r"step_trace_point_info(?:_(?P<rank>\d+))?\.json"),
    doc="Operators that delimit forward and backward.",
)
CLUSTER_ANALYSE = ResultFile(
    id="parallel_times",
    name="ascend_cluster_analyse_<mode>_<stages>_<ranks>_<rank>.csv",
    condition=CLUSTER,
    columns=columns_of("parallel_times"),
    unit="ms",
    pattern=re.compile(
        r"ascend_cluster_analyse_(?P<mode>data|model|pipeline)-parallel_(?P<stages>\d+)_(?P<ranks>\d+)"
        r"_(?P<rank>\d+)\.csv"
    ),
    doc="Computation and communication of each step of one rank.",
)
STEP_FILES = (STEP_TRACE_RAW, POINT_INFO, CLUSTER_ANALYSE)
