"""The files of MindSpore's data pipeline, of the profiler of today and of that before 2.3. Source: specs/mindspore.md
2.2, 2.6, 3.1."""

from __future__ import annotations

import re

from tb_npu_plugin.schema.core import Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind

DATA_PROCESS = Condition(
    "data_process=True, no schedule", "Written when the data pipeline is profiled, which a schedule switches off."
)

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
TIME, DUR, RATIO, PERCENT = Kind.TIME, Kind.DURATION, Kind.RATIO, Kind.PERCENT

_OP_ID = Column("op_id", I, "Operator id", "Operator of the pipeline; 0 is its root.", "identity", ("op_id",), True)

#: One operator without an output queue (the root, inline operators) has empty cells for it.
PIPELINE = ResultFile(
    id="minddata_ops",
    name="minddata_pipeline_raw_0.csv",
    pattern=re.compile(r"minddata_pipeline_raw_(\d+)\.csv"),
    title="Data pipeline",
    condition=DATA_PROCESS,
    unit="ms",
    columns=(
        _OP_ID,
        Column("type", T, "Type", "Batch or BatchOp, by version.", "identity", ("op_type",), required=True),
        Column("workers", I, "Workers", "Threads.", "", ("num_workers",)),
        Column("queue_sizes", T, "Queue sizes", "JSON list: rows in the output queue at each sample.", "",
               ("output_queue_size",)),
        Column("queue_average", F, "Queue average", "Mean of the sizes.", "", ("output_queue_average_size",)),
        Column("queue_capacity", I, "Queue capacity", "Rows that fit.", "", ("output_queue_length",)),
        Column("queue_usage", RATIO, "Queue usage", "Average / capacity.", "", ("output_queue_usage_rate",)),
        Column("interval_ns", DUR, "Sampling interval", "Between two samples.", "time", ("sample_interval",)),
        Column("parent_id", I, "Parent", "Operator that takes its rows; none of the root.", "identity", ("parent_id",)),
        Column("children_ids", T, "Children", "JSON list: the next operators below that have a queue.", "identity",
               ("children_id",)),
    ),
    doc="One row per operator, breadth-first from the root. Headers name no unit: the interval is milliseconds.",
)  # fmt: skip

#: Lists of minddata_pipeline_summary, one value an operator, by id. -1 is unknown.
SUMMARY_COLUMNS = (
    Column("op_id", I, "Operator id", "Operator of the pipeline; 0 is its root.", "identity", ("op_ids",)),
    Column("type", T, "Type", "Type without its last two characters (Op).", "identity", ("op_names",)),
    Column("name", T, "Name", "Type and id.", "identity", ("pipeline_ops",)),
    Column("workers", I, "Workers", "Threads.", "", ("num_workers",)),
    Column("queue_average", F, "Queue average", "Rows in the output queue.", "", ("queue_average_size",)),
    Column("queue_usage", PERCENT, "Queue usage", "Average / capacity.", "", ("queue_utilization_pct",)),
    Column("queue_empty", PERCENT, "Queue empty", "Share of the samples that found it empty.", "",
           ("queue_empty_freq_pct",)),
    Column("cpu", PERCENT, "CPU", "Mean of user and system time, of one core.", "", ("avg_cpu_pct",)),
    Column("cpu_per_worker", PERCENT, "CPU per worker", "CPU / workers.", "", ("avg_cpu_pct_per_worker",)),
    Column("children_ids", T, "Children", "Operators below it.", "identity", ("children_ids",)),
    Column("parent_id", I, "Parent", "-1 of the root.", "identity", ("parent_id",)),
)  # fmt: skip
SUMMARY = ResultFile(
    id="minddata_summary",
    name="minddata_pipeline_summary_0.json",
    pattern=re.compile(r"minddata_pipeline_summary_(\d+)\.json"),
    title="Data pipeline, summary",
    condition=DATA_PROCESS,
    columns=SUMMARY_COLUMNS,
    doc="Lists, one value an operator; and lists of one: mean times of a batch in ms, the recorder's remarks.",
)
#: The same, transposed: a line is a key and its values; no header.
SUMMARY_CSV_PATTERN = re.compile(r"minddata_pipeline_summary_(\d+)\.csv")

#: Lists of the summary that hold one value: mean ms of a batch without the first, -1 unknown.
BATCH_TIME, PIPELINE_TIME, PUSH_TIME = "per_batch_time", "per_pipeline_time", "per_push_queue_time"
#: The recorder's remarks; absent where there are none.
REMARKS = ("cpu_analysis_details", "queue_analysis_details", "bottleneck_warning", "bottleneck_suggestion")

BATCHES = ResultFile(
    id="minddata_batches",
    name="device_queue_profiling_0.txt",
    pattern=re.compile(r"(?:device_queue|dataset_iterator)_profiling_(\d+)\.txt"),
    title="Batches",
    condition=DATA_PROCESS,
    columns=(
        Column("batch", I, "Batch", "Number of the batch, from 1.", "identity"),
        Column("get_ns", DUR, "Get", "Waiting for the pipeline.", "time"),
        Column("push_ns", DUR, "Push", "Pushing it to the device.", "time"),
        Column("total_ns", DUR, "Total", "Both.", "time"),
        Column("queue_size", I, "Queue size", "Batches in the host queue when it was taken.", ""),
        Column("queue_capacity", I, "Queue capacity", "Batches that fit.", ""),
        Column("time_ns", TIME, "Time", "When it was taken.", "time"),
    ),
    doc="Lines of five integers in FRAMEWORK: `0 kind batch ms time`, kind 0 get, 1 push, 2 total; `1 capacity batch "
    "size time`. Times are milliseconds of the host's clock.",
)
#: First and second number of a line.
TIME_RECORD, QUEUE_RECORD = 0, 1
GET, PUSH, TOTAL = 0, 1, 2

CPU = ResultFile(
    id="minddata_cpu",
    name="minddata_cpu_utilization_0.json",
    pattern=re.compile(r"minddata_cpu_utilization_(\d+)\.json"),
    title="CPU of the data pipeline",
    condition=DATA_PROCESS,
    columns=(
        Column("time_ns", TIME, "Time", "When it was sampled.", "time", ("time_stamp",)),
        Column("of", T, "Of", "device, process or op.", "identity"),
        Column("op_id", I, "Operator id", "Of an operator; -1: other threads of the pipeline.", "identity", ("op_id",)),
        Column("user", PERCENT, "User", "Time in user mode.", "", ("user_utilization",)),
        Column("sys", PERCENT, "System", "Time in the kernel.", "", ("sys_utilization",)),
        Column("io", PERCENT, "I/O", "Time waiting for I/O; of the device only.", "", ("io_utilization",)),
        Column("idle", PERCENT, "Idle", "Of the device only.", "", ("idle_utilization",)),
        Column("runnable", I, "Runnable", "Processes that could run; of the device only.", "", ("runable_processes",)),
        Column("switches", I, "Context switches", "Of the device only.", "", ("context_switch_count",)),
    ),
    doc="In FRAMEWORK. Lists by sample, with sampling_interval (ms), cpu_processor_num and time_stamp (ms).",
)  # fmt: skip
#: Keys of that file.
CPU_INTERVAL, CPU_COUNT, CPU_STAMPS = "sampling_interval", "cpu_processor_num", "time_stamp"
CPU_DEVICE, CPU_PROCESS, CPU_OPS, CPU_METRICS = "device_info", "process_info", "op_info", "metrics"

#: pipeline_profiling_{rank}.json in FRAMEWORK: what minddata_pipeline_raw is made of.
RAW_PIPELINE_PATTERN = re.compile(r"pipeline_profiling_(\d+)\.json")
RAW_INTERVAL, RAW_OPS, RAW_METRICS, RAW_QUEUE = "sampling_interval", "op_info", "metrics", "output_queue"

DATASET = ResultFile(
    id="dataset",
    name="dataset.csv",
    title="Dataset operations",
    condition=Condition(
        "activities with ProfilerActivity.CPU", "Written when the host is profiled and a dataset is used."
    ),
    columns=(
        Column("operation", T, "Operation", "Operation of the dataset.", "identity", ("Operation",), required=True),
        Column("stage", T, "Stage", "Stage of the operation.", "identity", ("Stage",)),
        Column("calls", I, "Occurrences", "How often it ran.", "", ("Occurrences",)),
        Column("avg_ns", DUR, "Avg. time", "Mean.", "time", ("Avg. time (us)",)),
        Column("custom", T, "Custom Info", "What the operation adds.", "identity", ("Custom Info",)),
    ),
    doc="Operations of the dataset on the host, by stage.",
)

#: All that fill a table.
MINDDATA_FILES = (DATASET, PIPELINE, SUMMARY, BATCHES, CPU)


def named(file: ResultFile, rank: int) -> str:
    """Name of such a file of a rank."""
    return file.name.replace("_0.", f"_{rank}.")
