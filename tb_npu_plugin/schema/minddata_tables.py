"""Logical tables of MindSpore's data pipeline (MindData).
Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Files."""

from __future__ import annotations

from typing import Literal

from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import Column

#: One row per operator of the pipeline. From minddata_pipeline_raw or pipeline_profiling; the last five columns from
#: the summary, unknown without it.
MINDDATA_OPS_COLUMNS = columns_of("minddata_ops")
#: One row per operator with an output queue and sample.
MINDDATA_QUEUES_COLUMNS = columns_of("minddata_queues")
#: One row per batch and queue. queue "host": the pipeline's way to the device; "device": the device's own queue.
MINDDATA_BATCHES_COLUMNS = columns_of("minddata_batches")
#: One row per sample. scope "machine", "process", "op" (op_id known).
MINDDATA_CPU_COLUMNS = columns_of("minddata_cpu")
#: Remarks of MindSpore about the pipeline. kind "warning", "suggestion", "cpu", "queue".
MINDDATA_REMARKS_COLUMNS = columns_of("minddata_remarks")

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
