"""The CSV files of ASCEND_PROFILER_OUTPUT (torch_npu.profiler, text export). Source: docs/facts/ascend_pt.md."""

from __future__ import annotations

import dataclasses

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import (
    CANN_8,
    CANN_8_1,
    DEVICE_ID,
    FROM_LEVEL_1,
    SCHEDULE,
    SELDOM,
    Condition,
    ResultFile,
)
from tb_npu_plugin.schema.link_files import LINK_FILES
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD, MODULE_MEMORY, OP_MEMORY
from tb_npu_plugin.tables import Column, Kind, column_texts

LEVEL_1 = Condition("profiler_level=ProfilerLevel.Level1", Message("written.level_1"))
NPU = Condition("activities=[ProfilerActivity.NPU, ...]", Message("written.npu"))
CPU = Condition("activities=[ProfilerActivity.CPU, ...]", Message("written.host"))

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
TIME, DUR, RATIO, PERCENT = Kind.TIME, Kind.DURATION, Kind.RATIO, Kind.PERCENT

#: Keys of what a kernel reads and writes.
TENSORS = ("input_shapes", "input_types", "input_formats", "output_shapes", "output_types", "output_formats")
KERNELS = ResultFile(
    id="kernels",
    name="kernel_details.csv",
    condition=NPU,
    extra="metric",
    columns=(
        Column("step", T, *column_texts("kernels.step"), "identity", ("Step Id", "Step ID"), written=SCHEDULE),
        DEVICE_ID,
        Column("model_id", I, *column_texts("kernels.model_id"), "identity", ("Model ID",), written=FROM_LEVEL_1),
        Column("task_id", I, *column_texts("task_id"), "identity", ("Task ID",), written=FROM_LEVEL_1),
        Column("stream_id", I, *column_texts("kernels.stream_id"), "identity", ("Stream ID",), written=FROM_LEVEL_1),
        Column("infer_id", I, *column_texts("infer_id"), "identity", ("Infer ID",), written=SELDOM),
        Column("name", T, *column_texts("kernels.name"), "identity", ("Name", "Op Name"), required=True),
        Column("type", T, *column_texts("operator_type"), "identity", ("Type", "OP Type")),
        Column("op_state", T, *column_texts("op_state"), "identity", ("OP State",), written=f"{FROM_LEVEL_1} {CANN_8}"),
        Column("core", T, *column_texts("kernels.core"), "identity", ("Accelerator Core", "Task Type")),
        Column(
            "start_ns",
            TIME,
            *column_texts("device.start_ns"),
            "time",
            ("Start Time(us)", "Task Start Time(us)"),
            required=True,
        ),
        Column(
            "dur_ns", DUR, *column_texts("device.dur_ns"), "time", ("Duration(us)", "Task Duration(us)"), required=True
        ),
        Column("wait_ns", DUR, *column_texts("kernels.wait_ns"), "time", ("Wait Time(us)", "Task Wait Time(us)")),
        Column("block_dim", I, *column_texts("kernels.block_dim"), "shape", ("Block Num", "Block Dim")),
        Column(
            "mix_block_dim",
            I,
            *column_texts("mix_block_dim"),
            "shape",
            ("Mix Block Num", "Mix Block Dim"),
            written=FROM_LEVEL_1,
        ),
        Column("hf32", T, *column_texts("hf32"), "shape", ("HF32 Eligible",), written=FROM_LEVEL_1),
        Column("input_shapes", T, *column_texts("input_shapes"), "shape", ("Input Shapes",), written=FROM_LEVEL_1),
        Column("input_types", T, *column_texts("input_types"), "shape", ("Input Data Types",), written=FROM_LEVEL_1),
        Column("input_formats", T, *column_texts("input_formats"), "shape", ("Input Formats",), written=FROM_LEVEL_1),
        Column("output_shapes", T, *column_texts("output_shapes"), "shape", ("Output Shapes",), written=FROM_LEVEL_1),
        Column("output_types", T, *column_texts("output_types"), "shape", ("Output Data Types",), written=FROM_LEVEL_1),
        Column(
            "output_formats", T, *column_texts("output_formats"), "shape", ("Output Formats",), written=FROM_LEVEL_1
        ),
        Column("context_id", I, *column_texts("context_id"), "identity", ("Context ID",), written=FROM_LEVEL_1),
    ),
    doc="One row per device computation task and one per communication operator, by start time.",
)

OPERATORS = ResultFile(
    id="operators",
    name="operator_details.csv",
    condition=CPU,
    columns=(
        Column("name", T, *column_texts("operators.name"), "identity", ("Name",), required=True),
        Column("input_shapes", T, *column_texts("input_shapes"), "shape", ("Input Shapes",)),
        Column("call_stack", T, *column_texts("operators.call_stack"), "identity", ("Call Stack",)),
        Column("host_self_ns", DUR, *column_texts("host_self_ns"), "time", ("Host Self Duration(us)",)),
        Column("host_total_ns", DUR, *column_texts("operators.host_total_ns"), "time", ("Host Total Duration(us)",)),
        Column("device_self_ns", DUR, *column_texts("operators.device_self_ns"), "time", ("Device Self Duration(us)",)),
        Column(
            "device_total_ns", DUR, *column_texts("operators.device_total_ns"), "time", ("Device Total Duration(us)",)
        ),
        Column(
            "device_self_aicore_ns",
            DUR,
            *column_texts("device_self_aicore_ns"),
            "time",
            ("Device Self Duration With AICore(us)",),
        ),
        Column(
            "device_total_aicore_ns",
            DUR,
            *column_texts("device_total_aicore_ns"),
            "time",
            ("Device Total Duration With AICore(us)",),
        ),
    ),
    doc="One row per operator call on the host, in start order, without ProfilerStep marks.",
)

#: Computed by the reader of operators.
NESTED = Column("nested", I, *column_texts("nested"), "identity")

OP_STATISTIC = ResultFile(
    id="op_statistic",
    name="op_statistic.csv",
    condition=LEVEL_1,
    columns=(
        DEVICE_ID,
        Column("model_name", T, *column_texts("model_name"), "identity", ("Model Name",), written=SELDOM),
        Column("type", T, *column_texts("op_statistic.type"), "identity", ("OP Type",), required=True),
        Column("core", T, *column_texts("op_statistic.core"), "identity", ("Core Type",)),
        Column("calls", I, *column_texts("op_statistic.calls"), "", ("Count",)),
        Column("total_ns", DUR, *column_texts("op_statistic.total_ns"), "time", ("Total Time(us)",)),
        Column("min_ns", DUR, *column_texts("op_statistic.min_ns"), "time", ("Min Time(us)",)),
        Column("avg_ns", DUR, *column_texts("op_statistic.avg_ns"), "time", ("Avg Time(us)",)),
        Column("max_ns", DUR, *column_texts("op_statistic.max_ns"), "time", ("Max Time(us)",)),
        Column("ratio", PERCENT, *column_texts("op_statistic.ratio"), "", ("Ratio(%)",)),
    ),
    doc="Kernels by type and core, communication left out, by total time.",
)

API_STATISTIC = ResultFile(
    id="api_statistic",
    name="api_statistic.csv",
    condition=LEVEL_1,
    columns=(
        Column("device_id", T, *column_texts("api_statistic.device_id"), "identity", ("Device_id",), written=CANN_8_1),
        Column("level", T, *column_texts("api_statistic.level"), "identity", ("Level",)),
        Column("name", T, *column_texts("api_statistic.name"), "identity", ("API Name",), required=True),
        Column("total_ns", DUR, *column_texts("api_statistic.total_ns"), "time", ("Time(us)",)),
        Column("calls", I, *column_texts("op_statistic.calls"), "", ("Count",)),
        Column("avg_ns", DUR, *column_texts("api_statistic.avg_ns"), "time", ("Avg(us)",)),
        Column("min_ns", DUR, *column_texts("kernel_sums.min_ns"), "time", ("Min(us)",)),
        Column("max_ns", DUR, *column_texts("kernel_sums.max_ns"), "time", ("Max(us)",)),
        Column("variance", F, *column_texts("variance"), "", ("Variance",)),
    ),
    doc="CANN API calls on the host.",
)

#: Unit of all columns of step_trace_time.csv; its headers have none.
STEP_TRACE_UNIT = "us"

STEP_TRACE = ResultFile(
    id="step_trace",
    name="step_trace_time.csv",
    unit=STEP_TRACE_UNIT,
    condition=NPU,
    columns=(
        DEVICE_ID,
        Column("step", T, *column_texts("step_trace.step"), "identity", ("Step",)),
        Column("computing", DUR, *column_texts("computing"), "time", ("Computing",)),
        Column(
            "communication_not_overlapped",
            DUR,
            *column_texts("communication_not_overlapped"),
            "time",
            ("Communication(Not Overlapped)",),
        ),
        Column("overlapped", DUR, *column_texts("overlapped"), "time", ("Overlapped",)),
        Column("communication", DUR, *column_texts("step_trace.communication"), "time", ("Communication",)),
        Column("free", DUR, *column_texts("free"), "time", ("Free",)),
        Column("stage", DUR, *column_texts("step_trace.stage"), "time", ("Stage",)),
        Column("bubble", DUR, *column_texts("bubble"), "time", ("Bubble",)),
        Column(
            "communication_not_overlapped_and_exclude_receive",
            DUR,
            *column_texts("communication_not_overlapped_and_exclude_receive"),
            "time",
            ("Communication(Not Overlapped and Exclude Receive)",),
        ),
        Column("preparing", DUR, *column_texts("preparing"), "time", ("Preparing",), written=CANN_8),
    ),
    doc="One row per device and step. Headers name no unit: the figures are microseconds.",
)
#: Columns that readers add to the table of steps, computed from the kernels.
STEP_START = Column("start_ns", TIME, *column_texts("step.start_ns"), "time")
STEP_LEAD = Column("lead_ns", DUR, *column_texts("lead_ns"), "time")
COPYING = Column("copying", DUR, *column_texts("copying"), "time")
DATA_PREPROCESS = ResultFile(
    id="data_preprocess",
    name="data_preprocess.csv",
    condition=Condition("profiler_level=ProfilerLevel.Level2", Message("written.ai_cpu"), always=False),
    columns=(
        DEVICE_ID,
        Column(
            "time_ns",
            TIME,
            *column_texts("data_preprocess.time_ns"),
            "time",
            ("Timestamp(us)", "Timestamp"),
            required=True,
        ),
        Column("node", T, *column_texts("node"), "identity", ("Node",), required=True),
        Column("compute_ns", DUR, *column_texts("compute_ns"), "time", ("Compute_time(us)", "Compute_time(ms)")),
        Column("memcpy_ns", DUR, *column_texts("memcpy_ns"), "time", ("Memcpy_time(us)", "Memcpy_time(ms)")),
        Column("task_ns", DUR, *column_texts("task_ns"), "time", ("Task_time(us)", "Task_time(ms)")),
        Column("dispatch_ns", DUR, *column_texts("dispatch_ns"), "time", ("Dispatch_time(us)", "Dispatch_time(ms)")),
        Column(
            "total_ns", DUR, *column_texts("data_preprocess.total_ns"), "time", ("Total_time(us)", "Total_time(ms)")
        ),
        Column("stream_id", I, *column_texts("data_preprocess.stream_id"), "identity", ("Stream ID",)),
        Column("task_id", I, *column_texts("task_id"), "identity", ("Task ID",)),
    ),
    doc="AI CPU tasks.",
)

L2_CACHE = ResultFile(
    id="l2_cache",
    name="l2_cache.csv",
    condition=Condition("l2_cache=True", Message("written.l2_cache")),
    columns=(
        DEVICE_ID,
        Column("stream_id", I, *column_texts("data_preprocess.stream_id"), "identity", ("Stream Id", "Stream ID")),
        Column("task_id", I, *column_texts("task_id"), "identity", ("Task Id", "Task ID")),
        Column("hit_rate", RATIO, *column_texts("hit_rate"), "", ("Hit Rate",)),
        Column("victim_rate", RATIO, *column_texts("victim_rate"), "", ("Victim Rate",), most=1e4),
        Column("name", T, *column_texts("l2_cache.name"), "identity", ("Op Name",)),
    ),
    doc="L2 cache hits of AI core tasks.",
)

TASK_TIME = ResultFile(
    id="task_time",
    name="task_time.csv",
    condition=NPU,
    columns=(
        dataclasses.replace(DEVICE_ID, written=""),
        Column("name", T, *column_texts("task_time.name"), "identity", ("kernel_name",)),
        Column("type", T, *column_texts("task_time.type"), "identity", ("kernel_type",)),
        Column("stream_id", I, *column_texts("data_preprocess.stream_id"), "identity", ("stream_id",)),
        Column("task_id", I, *column_texts("task_id"), "identity", ("task_id",)),
        Column("dur_ns", DUR, *column_texts("device.dur_ns"), "time", ("task_time(us)",)),
        Column("start_ns", TIME, *column_texts("device.start_ns"), "time", ("task_start(us)",), required=True),
        Column("end_ns", TIME, *column_texts("task_time.end_ns"), "time", ("task_stop(us)",)),
    ),
    doc="Every device task.",
)

CSV_FILES: tuple[ResultFile, ...] = (
    STEP_TRACE,
    KERNELS,
    OP_STATISTIC,
    API_STATISTIC,
    OPERATORS,
    OP_MEMORY,
    MEMORY_RECORD,
    MODULE_MEMORY,
    DATA_PREPROCESS,
    L2_CACHE,
    TASK_TIME,
    *LINK_FILES,
)
