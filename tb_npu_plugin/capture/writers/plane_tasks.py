"""Facts of the tasks on the planes of communication that the trace and the database share, as in the public sample of a
real 910B has them."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.planes import PlaneTask
from tb_npu_plugin.capture.simulation.records import Group

#: Patterns of which writers keep what operators share: more than a step has.
PATTERNS = 1024
_NO_ID = 0xFFFFFFFF
#: First stream of communication tasks: all planes of a group share one.
_STREAM = 4
#: Task -> what the stream runs for it, as the host side names it.
_KINDS = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: us that CANN estimates for a task: a constant, and bytes a us of those that move data.
_CONSTANT = {"Notify_Record": 1, "Notify_Wait": 0.02, "Reduce_Inline": 0.6, "Memcpy": 1.5, "RDMASend": 1.5}
_BYTES_A_US = 19_300


def stream_of(group: Group) -> int:
    """Stream of the tasks of a group."""
    return _STREAM + group.index


def kind_of(task: PlaneTask) -> str:
    """What the stream runs."""
    return _KINDS.get(task.name, "SDMA")


def notify_id(task: PlaneTask) -> int:
    """The notification id of a task: the upper half holds the waiting rank. Moves that reduce have 0, copies have none."""
    if task.notify:
        return (task.dst if task.name == "Notify_Record" else task.src) << 32 | task.notify
    return 0 if task.name == "Reduce_Inline" else -1


def target_of(task: PlaneTask) -> int:
    """The other rank; own memory is that of the rank itself for copies, of none for what reduces."""
    return _NO_ID if task.src == task.dst and task.name == "Reduce_Inline" else task.dst


def transport_of(task: PlaneTask) -> str:
    """Waits are local, SDMA moves data inside a device and between those of a node, RDMA between nodes."""
    if task.name == "Notify_Wait":
        return "LOCAL"
    return "RDMA" if task.link == "RDMA" else "SDMA"


def data_type_of(task: PlaneTask, of_operator: str) -> str:
    """Only what reduces looks at the elements."""
    if task.name != "Reduce_Inline":
        return "INVALID_TYPE"
    return "INT32" if task.src == task.dst else of_operator


def estimated_us(task: PlaneTask) -> float:
    """How long CANN expects it to take."""
    constant = _CONSTANT[task.name]
    return constant + task.size / _BYTES_A_US if task.size else constant


def rate_of(size: int, dur: int) -> float:
    """GB/s of bytes in ns."""
    return size / dur if dur else 0.0
