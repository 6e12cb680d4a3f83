"""Logical tables of MindSpore's data pipeline (MindData).
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Files."""

from __future__ import annotations

from typing import Literal

from tb_npu_plugin.tables import Column, Kind, column_texts

T, I, F = Kind.TEXT, Kind.INT, Kind.FLOAT
DUR, RATIO, PERCENT = Kind.DURATION, Kind.RATIO, Kind.PERCENT
#: Most percents of CPU: each core has 100.
_CORES = 1e6

_OP_ID = Column("op_id", I, *column_texts("op_id"), "identity", ("op_id",))

#: One row per operator of the pipeline. From minddata_pipeline_raw or pipeline_profiling; the last five columns from
#: the summary, unknown without it.
MINDDATA_OPS_COLUMNS = (
    _OP_ID,
    Column("name", T, *column_texts("minddata_ops.name"), "identity", ("op_type",), required=True),
    Column("workers", I, *column_texts("workers"), "", ("num_workers",)),
    Column("parent_id", I, *column_texts("parent_id"), "identity", ("parent_id",)),
    Column("queue_capacity", I, *column_texts("queue_capacity"), "", ("output_queue_length",)),
    Column("queue_average", F, *column_texts("queue_average"), "", ("output_queue_average_size",)),
    Column("queue_usage", RATIO, *column_texts("queue_usage"), "", ("output_queue_usage_rate",)),
    Column("sample_interval_ns", DUR, *column_texts("sample_interval_ns"), "time", ("sample_interval",)),
    Column("queue_empty", PERCENT, *column_texts("queue_empty"), ""),
    Column("cpu", PERCENT, *column_texts("cpu"), "", most=_CORES),
    Column("pipeline_ns", DUR, *column_texts("pipeline_ns"), "time"),
    Column("push_ns", DUR, *column_texts("minddata_ops.push_ns"), "time"),
    Column("batch_ns", DUR, *column_texts("batch_ns"), "time"),
)
#: One row per operator with an output queue and sample.
MINDDATA_QUEUES_COLUMNS = (
    _OP_ID,
    Column("time_ns", DUR, *column_texts("minddata_queues.time_ns"), "time"),
    Column("size", I, *column_texts("minddata_queues.size"), ""),
)
#: One row per batch and queue. queue "host": the pipeline's way to the device; "device": the device's own queue.
MINDDATA_BATCHES_COLUMNS = (
    Column("queue", T, *column_texts("minddata_batches.queue"), "identity"),
    Column("batch", I, *column_texts("batch"), "identity"),
    Column("capacity", I, *column_texts("capacity"), ""),
    Column("size", I, *column_texts("minddata_batches.size"), ""),
    Column("get_ns", DUR, *column_texts("get_ns"), "time"),
    Column("push_ns", DUR, *column_texts("minddata_batches.push_ns"), "time"),
    Column("total_ns", DUR, *column_texts("minddata_batches.total_ns"), "time"),
)
#: One row per sample. scope "machine", "process", "op" (op_id known).
MINDDATA_CPU_COLUMNS = (
    Column("scope", T, *column_texts("minddata_cpu.scope"), "identity"),
    _OP_ID,
    Column("time_ns", DUR, *column_texts("minddata_cpu.time_ns"), "time"),
    Column("user", PERCENT, *column_texts("user"), "", most=_CORES),
    Column("sys", PERCENT, *column_texts("sys"), "", most=_CORES),
    Column("io", PERCENT, *column_texts("io"), "", most=_CORES),
    Column("idle", PERCENT, *column_texts("idle"), "", most=_CORES),
)
#: Remarks of MindSpore about the pipeline. kind "warning", "suggestion", "cpu", "queue".
MINDDATA_REMARKS_COLUMNS = (
    Column("kind", T, *column_texts("minddata_remarks.kind"), "identity"),
    Column("text", T, *column_texts("text"), "identity"),
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
