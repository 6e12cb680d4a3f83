"""Logical tables of MindSpore's data pipeline (MindData).
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Files."""

from __future__ import annotations

from typing import Literal

from tb_npu_plugin.tables import Column, Kind

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
DUR, RATIO, PERCENT = Kind.DURATION, Kind.RATIO, Kind.PERCENT
#: Most percents of CPU: each core has 100.
_CORES = 1e6

_OP_ID = Column("op_id", I, "ID", "Number of the operator; 0 is the end of the pipeline.", "identity", ("op_id",))

#: One row per operator of the pipeline. From minddata_pipeline_raw or pipeline_profiling; the last five columns from
#: the summary, unknown without it.
MINDDATA_OPS_COLUMNS = (
    _OP_ID,
    Column("name", T, "Operator", "Type of the operator.", "identity", ("op_type",), required=True),
    Column("workers", I, "Workers", "Threads or processes that work for it.", "", ("num_workers",)),
    Column(
        "parent_id",
        I,
        "Parent",
        "Operator that takes its output; unknown for the last one.",
        "identity",
        ("parent_id",),
    ),
    Column(
        "queue_capacity",
        I,
        "Queue capacity",
        "Places of its output queue; unknown where it has none.",
        "",
        ("output_queue_length",),
    ),
    Column(
        "queue_average",
        F,
        "Average in queue",
        "Mean of the samples of its output queue.",
        "",
        ("output_queue_average_size",),
    ),
    Column(
        "queue_usage", RATIO, "Queue usage", "Average / capacity of its output queue.", "", ("output_queue_usage_rate",)
    ),
    Column("sample_interval_ns", DUR, "Sample interval", "Time between two samples.", "time", ("sample_interval",)),
    Column("queue_empty", PERCENT, "Queue empty", "Samples at which its output queue was empty, of all.", ""),
    Column("cpu", PERCENT, "CPU", "Mean CPU of the operator, of one core.", "", most=_CORES),
    Column("pipeline_ns", DUR, "Pipeline time", "Mean time of a batch in the pipeline up to here.", "time"),
    Column("push_ns", DUR, "Push time", "Mean time to push a batch into the queue of the device.", "time"),
    Column("batch_ns", DUR, "Batch time", "Mean time of a batch, the first left out.", "time"),
)
#: One row per operator with an output queue and sample.
MINDDATA_QUEUES_COLUMNS = (
    _OP_ID,
    Column("time_ns", DUR, "Time", "Since the first sample: its number x the interval.", "time"),
    Column("size", I, "In queue", "Entries in the output queue.", ""),
)
#: One row per batch and queue. queue "host": the pipeline's way to the device; "device": the device's own queue.
MINDDATA_BATCHES_COLUMNS = (
    Column("queue", T, "Queue", "host: between pipeline and device; device: on the device.", "identity"),
    Column("batch", I, "Batch", "Number of the batch, from 1.", "identity"),
    Column("capacity", I, "Capacity", "Places of the queue.", ""),
    Column("size", I, "In queue", "Entries when the batch was taken.", ""),
    Column("get_ns", DUR, "Get", "Getting the batch out of the pipeline, or waiting for it on the device.", "time"),
    Column("push_ns", DUR, "Push", "Pushing it into the queue.", "time"),
    Column("total_ns", DUR, "Total", "Get and push.", "time"),
)
#: One row per sample. scope "machine", "process", "op" (op_id known).
MINDDATA_CPU_COLUMNS = (
    Column("scope", T, "Of", "machine, process or op.", "identity"),
    _OP_ID,
    Column("time_ns", DUR, "Time", "Since the first sample.", "time"),
    Column("user", PERCENT, "User", "CPU in user mode.", "", most=_CORES),
    Column("sys", PERCENT, "System", "CPU in the kernel.", "", most=_CORES),
    Column("io", PERCENT, "I/O wait", "CPU waiting for I/O; of the machine only.", "", most=_CORES),
    Column("idle", PERCENT, "Idle", "CPU idle; of the machine only.", "", most=_CORES),
)
#: Remarks of MindSpore about the pipeline. kind "warning", "suggestion", "cpu", "queue".
MINDDATA_REMARKS_COLUMNS = (
    Column("kind", T, "Kind", "warning, suggestion, cpu or queue.", "identity"),
    Column("text", T, "Remark", "As the recorder wrote it.", "identity"),
)

MINDDATA_TABLES: dict[str, tuple[Column, ...]] = {
    "minddata_ops": MINDDATA_OPS_COLUMNS,
    "minddata_queues": MINDDATA_QUEUES_COLUMNS,
    "minddata_batches": MINDDATA_BATCHES_COLUMNS,
    "minddata_cpu": MINDDATA_CPU_COLUMNS,
    "minddata_remarks": MINDDATA_REMARKS_COLUMNS,
}
QueueName = Literal["host", "device"]
QUEUE_HOST: QueueName = "host"
QUEUE_DEVICE: QueueName = "device"
CPU_MACHINE, CPU_PROCESS, CPU_OP = "machine", "process", "op"
