"""What trace_view.json calls its events, for what makes the same events of a database. Source: specs/ascend_pt.md 5."""

from __future__ import annotations

# Processes.
PYTHON, PYTHON_GC, CANN, HARDWARE = "Python", "Python GC", "CANN", "Ascend Hardware"
OLD_COMMUNICATION, COMMUNICATION = "HCCL", "Communication"
AICORE_FREQ, NPU_MEMORY, HBM, LLC, OVERLAP = "AI Core Freq", "NPU MEM", "HBM", "LLC", "Overlap Analysis"
ACC_PMU, SOC, QOS = "Acc PMU", "Stars Soc Info", "QoS"
#: Marks of the user. Text exports name their process as the program is called, which databases do not tell.
MSTX = "mstx"
#: Sort indices of the newest release; they are part of the processes' ids.
SORTS = {
    PYTHON: 0, PYTHON_GC: 1, MSTX: 6, CANN: 7, HARDWARE: 14, AICORE_FREQ: 15, OLD_COMMUNICATION: 16, COMMUNICATION: 16,
    NPU_MEMORY: 17, ACC_PMU: 19, HBM: 24, SOC: 25, LLC: 27, QOS: 29, OVERLAP: 31,
}  # fmt: skip
HOST_SIDE = frozenset((PYTHON, PYTHON_GC, CANN, MSTX))
HOST_LABEL, DEVICE_LABEL = "CPU", "NPU {device}"

# Threads.
THREAD, STREAM, GROUP, PLANE = "Thread {0}", "Stream {0}", "Group {0} Communication", "Plane {0}"
#: Threads of Overlap Analysis, in order.
OVERLAPS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")

# Categories and names.
PYTHON_FUNCTION, GC = "python_function", "GC"
ENQUEUE_TO_DEQUEUE, TORCH_TO_NPU = "enqueue_to_dequeue", "torch_to_npu"
#: Beginning of the name of an entry that is put into the task queue; others are taken out.
ENQUEUES = "Enqueue"
#: Level of a CANN call -> what stands before its name.
CALL_PREFIX = {
    "acl": "AscendCL@", "node": "Node@", "model": "Model@", "runtime": "Runtime@", "hccl": "Hccl@",
    "communication": "Communication@",
}  # fmt: skip
#: Accelerator core -> Task Type; others have their own name.
TASK_TYPES = {"AI_VECTOR_CORE": "AI_CORE"}

# Args; what stands in braces is filled in.
OP_ARGS = '{{"Sequence number": {0}, "Fwd thread id": {1}'
SHAPE_ARG, TYPE_ARG, STACK_ARG = ', "Input Dims": ', ', "Input type": ', ', "Call stack": '
QUEUE_ARGS = '{{"correlation_id": {0}}}'
CALL_ARGS = '{{"Thread Id": {0}, "level": {1}, "id": {2}, "connection_id": {3}}}'
TASK_ARGS = (
    '{{"Model Id": {0}, "Task Type": {1}, "Physic Stream Id": {2}, "Task Id": {3}, "Subtask Id": {4}, '
    '"connection_id": {5}}}'
)
#: Of copies, behind the others.
COPY_ARGS = ', "size(B)": {0}, "bandwidth(GB/s)": {1}, "operation": {2}}}'
MSTX_ARGS = '{{"event_type": {0}, "domain": {1}}}'
OPERATION_ARGS = '{{"connection_id": {0}, "data_type": {1}, "alg_type": {2}, "count": {3}}}'
STEP_ARGS = (
    '{{"notify_id": "{0}", "duration estimated(us)": {1}, "stream id": {2}, "task id": {3}, "task type": {4}, '
    '"src rank": {5}, "dst rank": {6}, "transport type": {7}, "size(Byte)": {8}, "data type": {9}, "link type": {10}, '
    '"bandwidth(GB/s)": {11}}}'
)

# Counters: name, and key of the value.
HBM_COUNTER = "HBM {0}/{1}"
HBM_KEYS = {"read": ("Read", "Read(MB/s)"), "write": ("Write", "Write(MB/s)")}
LLC_THROUGHPUT, LLC_THROUGHPUT_KEY = "LLC {0} {1}/Throughput", "Throughput(MB/s)"
LLC_HIT_RATE, LLC_HIT_RATE_KEY = "LLC {0} {1}/Hit Rate", "Hit Rate(%)"
MEMORY_PLACES = {"app": "APP", "device": "Device"}
MEMORY_KINDS = ("DDR", "HBM", "Memory")
#: Column of ACC_PMU -> name of the counter; key of its value.
ACC_NAMES = {
    "read_bandwidth": "read_bandwidth", "write_bandwidth": "write_band_width", "read_ost": "read_ost",
    "write_ost": "write_ost",
}  # fmt: skip
VALUE_KEY, ACC_ID = "value", ', "acc_id": {0}'
#: Column of SOC_BANDWIDTH_LEVEL -> name of the counter, which is the key of its value too.
SOC_NAMES = {"l2_buffer": "L2 Buffer Bw Level", "mata": "Mata Bw Level"}
QOS_COUNTER = "QoS {0}"
MEMORY_KEY, FREQUENCY_KEY = "KB", "MHz"
#: Bytes of one MB as counters mean it.
COUNTER_MB = 1 << 20
