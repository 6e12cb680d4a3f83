"""Names of events in trace_view.json, for its writers and for readers that build the same events from a database.
Source: docs/facts/ascend_pt.md, trace_view.json."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Processes.
PYTHON, PYTHON_GC, CANN, HARDWARE = "Python", "Python GC", "CANN", "Ascend Hardware"
OLD_COMMUNICATION, COMMUNICATION = "HCCL", "Communication"
AICORE_FREQ, NPU_MEMORY, HBM, LLC, OVERLAP = "AI Core Freq", "NPU MEM", "HBM", "LLC", "Overlap Analysis"
ACC_PMU, SOC, QOS = "Acc PMU", "Stars Soc Info", "QoS"
HCCS, NIC, ROCE, PCIE = "HCCS", "NIC", "RoCE", "PCIe"
#: User marks. Text exports name their process after the program, which databases do not record.
MSTX = "mstx"
#: Sort indices of the newest release; part of the process ids.
SORTS = {
    PYTHON: 0,
    PYTHON_GC: 1,
    MSTX: 6,
    CANN: 7,
    HARDWARE: 14,
    AICORE_FREQ: 15,
    OLD_COMMUNICATION: 16,
    COMMUNICATION: 16,
    NPU_MEMORY: 17,
    ACC_PMU: 19,
    HCCS: 20,
    NIC: 21,
    ROCE: 22,
    PCIE: 23,
    HBM: 24,
    SOC: 25,
    LLC: 27,
    QOS: 29,
    OVERLAP: 31,
}
HOST_SIDE = frozenset((PYTHON, PYTHON_GC, CANN, MSTX))
#: Processes with tasks of a device.
DEVICE_SIDE = frozenset((HARDWARE, OLD_COMMUNICATION, COMMUNICATION))
HOST_LABEL, DEVICE_LABEL = "CPU", "NPU {device}"

# Threads.
THREAD, STREAM, GROUP, PLANE = "Thread {0}", "Stream {0}", "Group {0} Communication", "Plane {0}"
#: Task of a plane that waits for a peer; the arg with the peer's rank inside the group.
NOTIFY_WAIT, SOURCE, PEER = "Notify_Wait", "src rank", "dst rank"
#: The same task on the stream of the device; the arg with its place in its operator.
WAIT_TASK, SUBTASK = "Notify Wait", "Subtask Id"
#: Names of all tasks that wait, among those that kernel_meaning.csv calls "sync_event". It is here as files of the cache depend on it.
WAITS = re.compile(r"(?i:EVENT|NOTIFY)[ _](?i:WAIT)|(?:CAPTURE_WAIT|MEM_WAIT_VALUE|STREAM_WAIT_EVENT)$")
#: Args of a task with its bytes and the transport of its link.
SIZE, TRANSPORT = "size(Byte)", "transport type"
#: Value of a rank that means none.
NO_RANK = 2**32 - 1
#: Name prefix of tasks that synchronise and move no data.
NOTIFY = "Notify_"
#: Threads of Overlap Analysis, in order.
OVERLAPS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")

# Categories and names.
PYTHON_FUNCTION, GC = "python_function", "GC"
ENQUEUE_TO_DEQUEUE, TORCH_TO_NPU = "enqueue_to_dequeue", "torch_to_npu"
#: Name prefix of an entry put into the task queue; other entries are taken out.
ENQUEUES = "Enqueue"
#: Level of a CANN call -> name prefix.
CALL_PREFIX = {
    "acl": "AscendCL@",
    "node": "Node@",
    "model": "Model@",
    "runtime": "Runtime@",
    "hccl": "Hccl@",
    "communication": "Communication@",
}
#: Accelerator core -> Task Type; others have their own name.
TASK_TYPES = {"AI_VECTOR_CORE": "AI_CORE"}

# Args; braces are placeholders.
OP_ARGS = '{{"Sequence number": {0}, "Fwd thread id": {1}'
SHAPE_ARG, TYPE_ARG, STACK_ARG = ', "Input Dims": ', ', "Input type": ', ', "Call stack": '
QUEUE_ARGS = '{{"correlation_id": {0}}}'
#: Args of copies, after the others.
COPY_ARGS = ', "size(B)": {0}, "bandwidth(GB/s)": {1}, "operation": {2}}}'
MSTX_ARGS = '{{"event_type": {0}, "domain": {1}}}'


def args_of(keys: Iterable[str], *unknown: str) -> str:
    """JSON template of args in order, to be filled in with %. unknown: keys to leave out."""
    return "{" + ", ".join(f'"{key}": %s' for key in keys if key not in unknown) + "}"


#: Args of CANN calls, of tasks, of communication operators and of their tasks, in their order.
CALL_KEYS = ("Thread Id", "Mode", "level", "id", "item_id", "connection_id")
TASK_KEYS = ("Model Id", "Task Type", "Physic Stream Id", "Task Id", "Batch Id", "Subtask Id", "connection_id")
OPERATION_KEYS = ("connection_id", "model id", "data_type", "alg_type", "count")
STEP_KEYS = (
    "notify_id",
    "duration estimated(us)",
    "stream id",
    "task id",
    "context id",
    "task type",
    "src rank",
    PEER,
    TRANSPORT,
    SIZE,
    "data type",
    "link type",
    "bandwidth(GB/s)",
    "model id",
)
#: Those of them that databases hold.
CALL_ARGS = args_of(CALL_KEYS, "Mode", "item_id")
TASK_ARGS = args_of(TASK_KEYS, "Batch Id")
OPERATION_ARGS = args_of(OPERATION_KEYS, "model id")
STEP_ARGS = args_of(STEP_KEYS, "context id", "model id")

# Counters: name, and key of the value.
HBM_COUNTER = "HBM {0}/{1}"
HBM_KEYS = {"read": ("Read", "Read(MB/s)"), "write": ("Write", "Write(MB/s)")}
LLC_THROUGHPUT, LLC_THROUGHPUT_KEY = "LLC {0} {1}/Throughput", "Throughput(MB/s)"
LLC_HIT_RATE, LLC_HIT_RATE_KEY = "LLC {0} {1}/Hit Rate", "Hit Rate(%)"
MEMORY_PLACES = {"app": "APP", "device": "Device"}
MEMORY_KINDS = ("DDR", "HBM", "Memory")
#: Column of ACC_PMU -> name of the counter; key of its value.
ACC_NAMES = {
    "read_bandwidth": "read_bandwidth",
    "write_bandwidth": "write_band_width",
    "read_ost": "read_ost",
    "write_ost": "write_ost",
}
VALUE_KEY, ACC_ID = "value", ', "acc_id": {0}'
#: Column of SOC_BANDWIDTH_LEVEL -> name of the counter and key of its value.
SOC_NAMES = {"l2_buffer": "L2 Buffer Bw Level", "mata": "Mata Bw Level"}
QOS_COUNTER = "QoS {0}"
MEMORY_KEY, FREQUENCY_KEY = "KB", "MHz"
#: Counter of a direction over HCCS -> key of its value, and of schema.link_files.HCCS_KINDS.
HCCS_COUNTERS = {"Rx": ("Rx(MB/s)", "rx"), "Tx": ("Tx(MB/s)", "tx")}
#: Counter of a port -> its keys, sampled together. Drop and error rates and the use are ratios: msprof names no unit.
PORT_COUNTERS = {
    way: (f"{way} Dropped Rate", f"{way} Error Rate", f"{way} Packets", f"{way} Bandwidth Efficiency")
    for way in ("Rx", "Tx")
}
PORT_COUNTER = "Port {0}/{1}"
#: PCIe counters -> keys of schema.link_files.PCIE_KINDS for sent and received data. MB/s; latency in us. msprof always
#: writes a received latency of 0, which is not a measurement.
PCIE_COUNTERS = {
    "PCIe_cpl": ("tx_cpl", "rx_cpl"),
    "PCIe_nonpost": ("tx_nonpost", "rx_nonpost"),
    "PCIe_nonpost_latency": ("tx_latency", ""),
    "PCIe_post": ("tx_post", "rx_post"),
}
PCIE_SENT, PCIE_RECEIVED = "Tx", "Rx"
#: Bytes of one MB in counters.
COUNTER_MB = 1 << 20
