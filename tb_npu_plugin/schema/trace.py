"""Words of trace_view.json (torch_npu.profiler, MindSpore's profiler).
Sources: docs/facts/ascend_pt.md, trace_view.json; docs/facts/ascend_ms.md, trace_view.json of MindSpore."""

from __future__ import annotations

# Categories of slices and flows.
CPU_OP = "cpu_op"
ENQUEUE = "enqueue"
DEQUEUE = "dequeue"
HOST_TO_DEVICE = "HostToDevice"
ASYNC_TASK_QUEUE = "async_task_queue"
ASYNC_NPU = "async_npu"
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
#: Marks of the training loop; no operators.
STEP_MARK = "ProfilerStep#"

# Metadata events: name -> key in args.
PROCESS_NAME = ("process_name", "name")
PROCESS_LABELS = ("process_labels", "labels")
PROCESS_SORT_INDEX = ("process_sort_index", "sort_index")
THREAD_NAME = ("thread_name", "name")
THREAD_SORT_INDEX = ("thread_sort_index", "sort_index")

#: Processes in the order in which they are shown; names that share a place are spellings of different versions.
#: What is not named follows, counters last.
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
#: Processes of the program itself, and of the CANN calls that it makes; their threads share ids.
PROGRAM = ("Python", "MindSpore")
CANN = ("CANN",)
#: Processes whose slices are host operators, frames apart, where none has the category of an operator.
FRAMEWORK = ("MindSpore",)
#: Kinds of flow that lead from a cause to its effect; the nearest cause first. fwdbwd is none.
CAUSES = (HOST_TO_DEVICE, ASYNC_TASK_QUEUE, ASYNC_MINDSPORE, ASYNC_NPU)
#: Keys of counter args that tell series apart and are no values.
COUNTER_DIMENSIONS = ("acc_id",)
#: Keys of counter args that are a unit themselves.
COUNTER_UNITS = ("MHz", "KB")
