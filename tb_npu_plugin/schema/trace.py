"""Names in trace_view.json (torch_npu.profiler, MindSpore's profiler).
Sources: docs/facts/ascend_pt.md, trace_view.json; docs/facts/ascend_ms.md, trace_view.json of MindSpore.
"""

from __future__ import annotations

# Categories of slices and flows.
CPU_OP = "cpu_op"
ENQUEUE = "enqueue"
DEQUEUE = "dequeue"
HOST_TO_DEVICE = "HostToDevice"
ASYNC_TASK_QUEUE = "async_task_queue"
#: The same of GPU traces, by version.
GPU_LAUNCHES = ("ac2g", "async_gpu", "async")
ASYNC_NPU = "async_npu"
INSTANT = "cpu_instant_event"
FORWARD_BACKWARD = "fwdbwd"
MSTX = "MsTx"
ASYNC_MINDSPORE = "async_mindspore"
PYTHON_FUNCTION = "python_function"

# Keys of args.
CORRELATION_ID = "correlation_id"
TASK_TYPE = "Task Type"
INPUT_DIMS = "Input Dims"
CALL_STACK = "Call stack"
#: Separator of frames in a call stack, and of tensors in shapes (the writer puts ";\r\n", copies may hold ";\n").
FRAME_SEPARATOR = ";"
AI_CORE = "AI_CORE"
#: Prefix of the training loop's step marks, which are not operators.
STEP_MARK = "ProfilerStep#"

# Metadata events: name -> key in args.
PROCESS_NAME = ("process_name", "name")
PROCESS_LABELS = ("process_labels", "labels")
PROCESS_SORT_INDEX = ("process_sort_index", "sort_index")
THREAD_NAME = ("thread_name", "name")
THREAD_SORT_INDEX = ("thread_sort_index", "sort_index")

#: Processes in display order; names in one entry are spellings of different versions. Other processes follow, counters
#: last.
PROCESS_ORDER: tuple[tuple[str, ...], ...] = (
    ("Overlap Analysis",),
    ("Ascend Hardware",),
    ("HCCL", "Communication"),
    ("Python", "MindSpore"),
    ("CPU OP",),
    ("Scope Layer",),
    ("Python GC",),
    ("CANN",),
)
#: Processes of the program, and of its CANN calls; their threads share ids.
PROGRAM = ("Python", "MindSpore")
CANN = ("CANN",)
#: Processes whose slices (except frames) are host operators if no event has an operator category.
FRAMEWORK = ("MindSpore",)
#: Flow kinds from a cause to its effect, the nearest cause first. fwdbwd is not one.
CAUSES = (HOST_TO_DEVICE, ASYNC_TASK_QUEUE, ASYNC_MINDSPORE, ASYNC_NPU)
#: Those of them that lead from the host to tasks of the device.
LAUNCHES = frozenset((HOST_TO_DEVICE, ASYNC_NPU))
#: Keys of counter args that distinguish series and are not values.
COUNTER_DIMENSIONS = ("acc_id",)
#: Keys of counter args that are units.
COUNTER_UNITS = ("MHz", "KB")
