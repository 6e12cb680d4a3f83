"""Logical tables of MindSpore's data pipeline (MindData), by name in columns.csv:

minddata_ops: One row per operator of the pipeline. From minddata_pipeline_raw or pipeline_profiling; the last five columns from the
    summary, unknown without it.
minddata_queues: One row per operator with an output queue and sample.
minddata_batches: One row per batch and queue. queue "host": the pipeline's way to the device; "device": the device's own queue.
minddata_cpu: One row per sample. scope "machine", "process", "op" (op_id known).
minddata_remarks: Remarks of MindSpore about the pipeline. kind "warning", "suggestion", "cpu", "queue".

Source: docs/facts/ascend_ms.md, Data pipeline files; docs/facts/mindinsight.md, Files.
"""

from __future__ import annotations

from typing import Literal

QueueName = Literal["host", "device"]
QUEUE_HOST: QueueName = "host"
QUEUE_DEVICE: QueueName = "device"
CPU_MACHINE, CPU_PROCESS, CPU_OP = "machine", "process", "op"
