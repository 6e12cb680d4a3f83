"""Files of MindSpore's data pipeline, from 2.3 on and before.
Source: docs/facts/ascend_ms.md, Files of the output folder, Data pipeline files; docs/facts/mindinsight.md, Files.
"""

from __future__ import annotations

from typing import Literal

from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.files import result_file

# Tables, by name in columns.csv:
# minddata_ops: One row per operator of the pipeline. From minddata_pipeline_raw or pipeline_profiling; the last five
#     columns from the summary, unknown without it.
# minddata_queues: One row per operator with an output queue and sample.
# minddata_batches: One row per batch and queue. queue "host": the pipeline's way to the device; "device": the device's
#     own queue.
# minddata_cpu: One row per sample. scope "machine", "process", "op" (op_id known).
# minddata_remarks: Remarks of MindSpore about the pipeline. kind "warning", "suggestion", "cpu", "queue".
QueueName = Literal["host", "device"]
QUEUE_HOST: QueueName = "host"
QUEUE_DEVICE: QueueName = "device"
SCOPE_MACHINE, SCOPE_PROCESS, SCOPE_OP = "machine", "process", "op"


#: Columns of minddata_pipeline_raw that hold JSON lists.
RAW_SIZES, RAW_CHILDREN = "output_queue_size", "children_id"
#: Headers of that file, in order.
RAW_HEADER = (
    "op_id",
    "op_type",
    "num_workers",
    RAW_SIZES,
    "output_queue_average_size",
    "output_queue_length",
    "output_queue_usage_rate",
    "sample_interval",
    "parent_id",
    RAW_CHILDREN,
)

PIPELINE = result_file("minddata.minddata_ops")
PIPELINE_PROFILING = result_file("minddata.minddata_profiling")
SUMMARY = result_file("minddata.minddata_summary")
BATCHES = result_file("minddata.minddata_batches")
DEVICE_WAIT = result_file("minddata.minddata_device")
CPU = result_file("minddata.minddata_cpu")

#: Summary lists with one value: mean ms per batch without the first; -1: unknown.
BATCH_TIME, PIPELINE_TIME, PUSH_TIME = "per_batch_time", "per_pipeline_time", "per_push_queue_time"
#: Summary lists by operator: ids, types, workers, queue figures, CPU, parents.
SUMMARY_IDS, SUMMARY_OPS, SUMMARY_TYPES, SUMMARY_WORKERS = "op_ids", "pipeline_ops", "op_names", "num_workers"
SUMMARY_AVERAGE, SUMMARY_USAGE, SUMMARY_EMPTY = "queue_average_size", "queue_utilization_pct", "queue_empty_freq_pct"
SUMMARY_CHILDREN, SUMMARY_PARENT = "children_ids", "parent_id"
SUMMARY_CPU, SUMMARY_WORKER_CPU = "avg_cpu_pct", "avg_cpu_pct_per_worker"
#: Lists that each summary has.
SUMMARY_KEYS = (
    *(SUMMARY_IDS, SUMMARY_OPS, SUMMARY_TYPES, SUMMARY_WORKERS, SUMMARY_AVERAGE, SUMMARY_USAGE, SUMMARY_EMPTY),
    *(SUMMARY_CHILDREN, SUMMARY_PARENT, SUMMARY_CPU),
)
#: Columns of minddata_ops found only in the summary.
SUMMARY_FIGURES = {"queue_empty": SUMMARY_EMPTY, "cpu": SUMMARY_CPU}
SUMMARY_TIMES = {"pipeline_ns": PIPELINE_TIME, "push_ns": PUSH_TIME, "batch_ns": BATCH_TIME}
#: Remarks of the recorder; absent if there are none.
REMARKS = ("cpu_analysis_details", "queue_analysis_details", "bottleneck_warning", "bottleneck_suggestion")

#: First and second number of a line.
TIME_RECORD, QUEUE_RECORD = 0, 1
GET, PUSH, TOTAL = 0, 1, 2
#: Name prefixes of less detailed files of a queue: from a pipeline that sends nothing to a device, and from a GPU.
SECOND_CHOICE = ("dataset_iterator_profiling", "minddata_getnext_profiling")
#: First word of the header that older versions write into minddata_aicpu, and of batch lines.
WAIT_HEADER, WAIT = "node_name", "GetNext"

#: Keys of minddata_cpu_utilization.
CPU_INTERVAL, CPU_COUNT, CPU_STAMPS = "sampling_interval", "cpu_processor_num", "time_stamp"
CPU_DEVICE, CPU_PROCESS, CPU_OPS, CPU_METRICS = "device_info", "process_info", "op_info", "metrics"
#: Column of minddata_cpu -> key.
CPU_FIGURES = {"user": "user_utilization", "sys": "sys_utilization", "io": "io_utilization", "idle": "idle_utilization"}
#: Machine figures without a column.
CPU_RUNNABLE, CPU_SWITCHES = "runable_processes", "context_switch_count"
#: Keys that are written together: of the file, of the machine.
CPU_KEYS = (CPU_INTERVAL, CPU_COUNT, CPU_STAMPS, CPU_DEVICE, CPU_PROCESS, CPU_OPS)
CPU_MACHINE_KEYS = (*CPU_FIGURES.values(), CPU_SWITCHES)

#: Keys of pipeline_profiling, a file in FRAMEWORK and the source of minddata_pipeline_raw; and keys of its operators.
RAW_INTERVAL, RAW_OPS, RAW_METRICS, RAW_QUEUE = "sampling_interval", "op_info", "metrics", "output_queue"
OP_ID, OP_TYPE, OP_WORKERS, OP_CHILDREN = "op_id", "op_type", "num_workers", "children"
QUEUE_SIZES, QUEUE_LENGTH = "size", "length"
#: Keys that each operator has.
RAW_KEYS = (OP_ID, OP_TYPE, OP_WORKERS, RAW_METRICS)

DATASET = result_file("minddata.dataset")

#: All files that fill a table; legacy results have no dataset.csv.
LEGACY_FILES = (PIPELINE, PIPELINE_PROFILING, SUMMARY, BATCHES, DEVICE_WAIT, CPU)
MINDDATA_FILES = (DATASET, *LEGACY_FILES)


def name_for_rank(file: ResultFile, rank: int) -> str:
    """File name for a rank."""
    return file.name.replace("_0.", f"_{rank}.")
