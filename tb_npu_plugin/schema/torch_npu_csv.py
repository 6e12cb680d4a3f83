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
from tb_npu_plugin.tables import Column, Kind

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
    title="Kernels",
    condition=NPU,
    extra="metric",
    columns=(
        Column(
            "step", T, "Step", "Step that the kernel belongs to.", "identity", ("Step Id", "Step ID"), written=SCHEDULE
        ),
        DEVICE_ID,
        Column(
            "model_id",
            I,
            "Model ID",
            "Model id; 4294967295 in single-operator mode.",
            "identity",
            ("Model ID",),
            written=FROM_LEVEL_1,
        ),
        Column("task_id", I, "Task ID", "Task on its stream.", "identity", ("Task ID",), written=FROM_LEVEL_1),
        Column(
            "stream_id", I, "Stream ID", "Stream that ran the kernel.", "identity", ("Stream ID",), written=FROM_LEVEL_1
        ),
        Column("infer_id", I, "Infer ID", "Inference id.", "identity", ("Infer ID",), written=SELDOM),
        Column("name", T, "Name", "Kernel name.", "identity", ("Name", "Op Name"), required=True),
        Column("type", T, "Type", "Operator type; unknown at level 0.", "identity", ("Type", "OP Type")),
        Column(
            "op_state",
            T,
            "OP State",
            "dynamic or static shape.",
            "identity",
            ("OP State",),
            written=f"{FROM_LEVEL_1} {CANN_8}",
        ),
        Column(
            "core",
            T,
            "Accelerator Core",
            "Core that ran it; unknown at level 0.",
            "identity",
            ("Accelerator Core", "Task Type"),
        ),
        Column(
            "start_ns",
            TIME,
            "Start",
            "Start on the device.",
            "time",
            ("Start Time(us)", "Task Start Time(us)"),
            required=True,
        ),
        Column(
            "dur_ns",
            DUR,
            "Duration",
            "Time on the device.",
            "time",
            ("Duration(us)", "Task Duration(us)"),
            required=True,
        ),
        Column(
            "wait_ns",
            DUR,
            "Wait",
            "Gap to the end of the previous row of this table, any stream.",
            "time",
            ("Wait Time(us)", "Task Wait Time(us)"),
        ),
        Column("block_dim", I, "Block Num", "Blocks launched.", "shape", ("Block Num", "Block Dim")),
        Column(
            "mix_block_dim",
            I,
            "Mix Block Num",
            "Blocks of the second core of a MIX kernel.",
            "shape",
            ("Mix Block Num", "Mix Block Dim"),
            written=FROM_LEVEL_1,
        ),
        Column("hf32", T, "HF32 Eligible", "HF32 could be used.", "shape", ("HF32 Eligible",), written=FROM_LEVEL_1),
        Column(
            "input_shapes", T, "Input Shapes", "Shapes of the inputs.", "shape", ("Input Shapes",), written=FROM_LEVEL_1
        ),
        Column(
            "input_types",
            T,
            "Input Data Types",
            "Data types of the inputs.",
            "shape",
            ("Input Data Types",),
            written=FROM_LEVEL_1,
        ),
        Column(
            "input_formats",
            T,
            "Input Formats",
            "Memory formats of the inputs.",
            "shape",
            ("Input Formats",),
            written=FROM_LEVEL_1,
        ),
        Column(
            "output_shapes",
            T,
            "Output Shapes",
            "Shapes of the outputs.",
            "shape",
            ("Output Shapes",),
            written=FROM_LEVEL_1,
        ),
        Column(
            "output_types",
            T,
            "Output Data Types",
            "Data types of the outputs.",
            "shape",
            ("Output Data Types",),
            written=FROM_LEVEL_1,
        ),
        Column(
            "output_formats",
            T,
            "Output Formats",
            "Memory formats of the outputs.",
            "shape",
            ("Output Formats",),
            written=FROM_LEVEL_1,
        ),
        Column("context_id", I, "Context ID", "FFTS context.", "identity", ("Context ID",), written=FROM_LEVEL_1),
    ),
    doc="One row per device computation task and one per communication operator, by start time.",
)

OPERATORS = ResultFile(
    id="operators",
    name="operator_details.csv",
    title="Operators",
    condition=CPU,
    columns=(
        Column("name", T, "Name", "Operator name.", "identity", ("Name",), required=True),
        Column("input_shapes", T, "Input Shapes", "Shapes of the inputs.", "shape", ("Input Shapes",)),
        Column("call_stack", T, "Call Stack", "Frames, innermost first.", "identity", ("Call Stack",)),
        Column(
            "host_self_ns",
            DUR,
            "Host Self",
            "Host time without the operators it calls.",
            "time",
            ("Host Self Duration(us)",),
        ),
        Column(
            "host_total_ns",
            DUR,
            "Host Total",
            "Host time with the operators it calls.",
            "time",
            ("Host Total Duration(us)",),
        ),
        Column(
            "device_self_ns",
            DUR,
            "Device Self",
            "Device time of the tasks that it launched itself.",
            "time",
            ("Device Self Duration(us)",),
        ),
        Column(
            "device_total_ns",
            DUR,
            "Device Total",
            "Device time with the operators it calls.",
            "time",
            ("Device Total Duration(us)",),
        ),
        Column(
            "device_self_aicore_ns",
            DUR,
            "Device Self on AI Core",
            "Part of Device Self with task type AI_CORE.",
            "time",
            ("Device Self Duration With AICore(us)",),
        ),
        Column(
            "device_total_aicore_ns",
            DUR,
            "Device Total on AI Core",
            "Part of Device Total with task type AI_CORE.",
            "time",
            ("Device Total Duration With AICore(us)",),
        ),
    ),
    doc="One row per operator call on the host, in start order, without ProfilerStep marks.",
)

#: Computed by the reader of operators.
NESTED = Column(
    "nested",
    I,
    "Nested",
    "1: within a call of the same operator; 2: of one with the same input shapes; 0: neither.",
    "identity",
)

OP_STATISTIC = ResultFile(
    id="op_statistic",
    name="op_statistic.csv",
    title="Operator statistic",
    condition=LEVEL_1,
    columns=(
        DEVICE_ID,
        Column("model_name", T, "Model Name", "Model.", "identity", ("Model Name",), written=SELDOM),
        Column("type", T, "OP Type", "Operator type.", "identity", ("OP Type",), required=True),
        Column("core", T, "Core Type", "Core that ran it.", "identity", ("Core Type",)),
        Column("calls", I, "Count", "Calls.", "", ("Count",)),
        Column("total_ns", DUR, "Total Time", "Sum of the durations.", "time", ("Total Time(us)",)),
        Column("min_ns", DUR, "Min Time", "Shortest.", "time", ("Min Time(us)",)),
        Column("avg_ns", DUR, "Avg Time", "Mean.", "time", ("Avg Time(us)",)),
        Column("max_ns", DUR, "Max Time", "Longest.", "time", ("Max Time(us)",)),
        Column("ratio", PERCENT, "Share of computing", "Share of the computing kernels' time.", "", ("Ratio(%)",)),
    ),
    doc="Kernels by type and core, communication left out, by total time.",
)

API_STATISTIC = ResultFile(
    id="api_statistic",
    name="api_statistic.csv",
    title="API statistic",
    condition=LEVEL_1,
    columns=(
        Column("device_id", T, "Device", "Device; host for host APIs.", "identity", ("Device_id",), written=CANN_8_1),
        Column("level", T, "Level", "acl, runtime, node, model, communication.", "identity", ("Level",)),
        Column("name", T, "API Name", "CANN API.", "identity", ("API Name",), required=True),
        Column("total_ns", DUR, "Time", "Sum of the durations.", "time", ("Time(us)",)),
        Column("calls", I, "Count", "Calls.", "", ("Count",)),
        Column("avg_ns", DUR, "Avg", "Mean.", "time", ("Avg(us)",)),
        Column("min_ns", DUR, "Min", "Shortest.", "time", ("Min(us)",)),
        Column("max_ns", DUR, "Max", "Longest.", "time", ("Max(us)",)),
        Column("variance", F, "Variance", "Population variance, square microseconds.", "", ("Variance",)),
    ),
    doc="CANN API calls on the host.",
)

#: Unit of all columns of step_trace_time.csv; its headers have none.
STEP_TRACE_UNIT = "us"

STEP_TRACE = ResultFile(
    id="step_trace",
    name="step_trace_time.csv",
    unit=STEP_TRACE_UNIT,
    title="Step trace time",
    condition=NPU,
    columns=(
        DEVICE_ID,
        Column("step", T, "Step", "Step number; unknown when the profile has no schedule.", "identity", ("Step",)),
        Column("computing", DUR, "Computing", "Device computes.", "time", ("Computing",)),
        Column(
            "communication_not_overlapped",
            DUR,
            "Communication (not overlapped)",
            "Device communicates and computes nothing.",
            "time",
            ("Communication(Not Overlapped)",),
        ),
        Column("overlapped", DUR, "Overlapped", "Device communicates while it computes.", "time", ("Overlapped",)),
        Column("communication", DUR, "Communication", "All communication.", "time", ("Communication",)),
        Column("free", DUR, "Free", "Device does neither.", "time", ("Free",)),
        Column("stage", DUR, "Stage", "Step on the device without Bubble.", "time", ("Stage",)),
        Column("bubble", DUR, "Bubble", "Receive operations of the pipeline.", "time", ("Bubble",)),
        Column(
            "communication_not_overlapped_and_exclude_receive",
            DUR,
            "Communication (not overlapped, without receive)",
            "Not overlapped minus Bubble.",
            "time",
            ("Communication(Not Overlapped and Exclude Receive)",),
        ),
        Column(
            "preparing",
            DUR,
            "Preparing",
            "Step start on the host to the first device task.",
            "time",
            ("Preparing",),
            written=CANN_8,
        ),
    ),
    doc="One row per device and step. Headers name no unit: the figures are microseconds.",
)
#: Columns that readers add to the table of steps, computed from the kernels.
STEP_START = Column("start_ns", TIME, "Start", "Start of the step on the device.", "time")
STEP_LEAD = Column("lead_ns", DUR, "Lead", "From the start of the step to its first device task.", "time")
COPYING = Column("copying", DUR, "Copying", "Only copies and memory sets run on the device.", "time")
DATA_PREPROCESS = ResultFile(
    id="data_preprocess",
    name="data_preprocess.csv",
    title="AI CPU tasks",
    condition=Condition("profiler_level=ProfilerLevel.Level2", Message("written.ai_cpu"), always=False),
    columns=(
        DEVICE_ID,
        Column("time_ns", TIME, "Time", "Start.", "time", ("Timestamp(us)", "Timestamp"), required=True),
        Column("node", T, "Node", "AI CPU operator.", "identity", ("Node",), required=True),
        Column("compute_ns", DUR, "Compute", "Computing.", "time", ("Compute_time(us)", "Compute_time(ms)")),
        Column("memcpy_ns", DUR, "Memcpy", "Copying.", "time", ("Memcpy_time(us)", "Memcpy_time(ms)")),
        Column("task_ns", DUR, "Task", "Task.", "time", ("Task_time(us)", "Task_time(ms)")),
        Column("dispatch_ns", DUR, "Dispatch", "Dispatch.", "time", ("Dispatch_time(us)", "Dispatch_time(ms)")),
        Column("total_ns", DUR, "Total", "Whole.", "time", ("Total_time(us)", "Total_time(ms)")),
        Column("stream_id", I, "Stream ID", "Stream.", "identity", ("Stream ID",)),
        Column("task_id", I, "Task ID", "Task on its stream.", "identity", ("Task ID",)),
    ),
    doc="AI CPU tasks.",
)

L2_CACHE = ResultFile(
    id="l2_cache",
    name="l2_cache.csv",
    title="L2 cache",
    condition=Condition("l2_cache=True", Message("written.l2_cache")),
    columns=(
        DEVICE_ID,
        Column("stream_id", I, "Stream ID", "Stream.", "identity", ("Stream Id", "Stream ID")),
        Column("task_id", I, "Task ID", "Task on its stream.", "identity", ("Task Id", "Task ID")),
        Column("hit_rate", RATIO, "Hit Rate", "L2 hit rate.", "", ("Hit Rate",)),
        Column("victim_rate", RATIO, "Victim Rate", "L2 victim rate; may exceed 1.", "", ("Victim Rate",), most=1e4),
        Column("name", T, "Op Name", "Kernel.", "identity", ("Op Name",)),
    ),
    doc="L2 cache hits of AI core tasks.",
)

TASK_TIME = ResultFile(
    id="task_time",
    name="task_time.csv",
    title="Task time",
    condition=NPU,
    columns=(
        dataclasses.replace(DEVICE_ID, written=""),
        Column("name", T, "Task", "Kernel; of other tasks, the type.", "identity", ("kernel_name",)),
        Column("type", T, "Type", "Core of a kernel, or kind of task.", "identity", ("kernel_type",)),
        Column("stream_id", I, "Stream ID", "Stream.", "identity", ("stream_id",)),
        Column("task_id", I, "Task ID", "Task on its stream.", "identity", ("task_id",)),
        Column("dur_ns", DUR, "Duration", "Time on the device.", "time", ("task_time(us)",)),
        Column("start_ns", TIME, "Start", "Start on the device.", "time", ("task_start(us)",), required=True),
        Column("end_ns", TIME, "End", "End on the device.", "time", ("task_stop(us)",)),
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
