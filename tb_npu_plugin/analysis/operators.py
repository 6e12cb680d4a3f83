"""Host operators: host and device time by name, by name and shape, by call stack."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups, ratio
from tb_npu_plugin.tables import Column, FloatArray, IntArray, Kind, Table, Text, known

#: Operators that only communicate, by the start of their name: those of HCCL (HcclAllreduce, hcom_allReduce_...) and
#: of torch.distributed (c10d::allreduce_). Their device time is that of collectives and would drown all other.
COMMUNICATION_NAME = re.compile(r"hccl|hcom|_?c10d(_functional)?::", re.IGNORECASE)

TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")
AICORE = ("device_self_aicore_ns", "device_total_aicore_ns")

NAME = Column("name", Kind.TEXT, "Name", "Operator name.", "identity")
SHAPES = Column("input_shapes", Kind.TEXT, "Input Shapes", "Shapes of the inputs.", "shape")
STACK = Column("call_stack", Kind.TEXT, "Call Stack", "Frames, innermost first, one a line.", "identity")
CALLS = Column("calls", Kind.INT, "Calls", "How often it was called.", "")
STACKS = Column("stacks", Kind.INT, "Call Stacks", "Different call stacks; 0 where none was recorded.", "")
COMMUNICATION = Column(
    "communication", Kind.INT, "Communication", "1 for operators of HCCL and torch.distributed, by name.", "identity"
)
TIME_COLUMNS = (
    Column("device_self_ns", Kind.DURATION, "Device Self", "Device time of the tasks it launched itself.", "time"),
    Column(
        "device_total_ns",
        Kind.DURATION,
        "Device Total",
        "Device time with that of the operators it calls; nested calls of one name count each.",
        "time",
    ),
    Column("host_self_ns", Kind.DURATION, "Host Self", "Host time without the operators it calls.", "time"),
    Column("host_total_ns", Kind.DURATION, "Host Total", "Host time with the operators it calls.", "time"),
)
SHARE_COLUMNS = (
    Column(
        "aicore_self_share",
        Kind.RATIO,
        "AI Core Self",
        "Part of Device Self that ran as task type AI_CORE; unknown without device time.",
        "",
    ),
    Column(
        "aicore_total_share",
        Kind.RATIO,
        "AI Core Total",
        "Part of Device Total that ran as task type AI_CORE; unknown without device time.",
        "",
    ),
)
INCOMPLETE = Column("incomplete", Kind.INT, "Incomplete", "Calls that lack a time in the file: sums skip it.", "")


def is_communication(operators: Table) -> NDArray[np.bool_]:
    """Mask of the operators that only communicate, by name (COMMUNICATION_NAME)."""
    names = operators.text("name")
    return names.isin(name for name in names.values if COMMUNICATION_NAME.match(name))


def by_name(operators: Table) -> Table:
    """One row per name."""
    return _grouped(operators, (NAME,))


def by_shape(operators: Table) -> Table:
    """One row per name and input shapes."""
    return _grouped(operators, (NAME, SHAPES))


def by_stack(operators: Table) -> Table:
    """One row per call stack of the given rows: calls and times."""
    groups = Groups([operators.text("call_stack")], len(operators))
    stacks = operators.text("call_stack").take(groups.first)
    return Table(
        (STACK, CALLS, *TIME_COLUMNS),
        {
            "call_stack": Text(stacks.codes, [_one_frame_a_line(stack) for stack in stacks.values]),
            "calls": groups.count(),
            **{key: groups.sum(operators.ints(key)) for key in TIMES},
        },
    )


def _one_frame_a_line(stack: str) -> str:
    """The file ends each frame with ";" and a line break of its own kind."""
    return "\n".join(frame.strip().rstrip(";") for frame in stack.splitlines())


def _grouped(operators: Table, keys: tuple[Column, ...]) -> Table:
    groups = Groups([operators.text(key.key) for key in keys], len(operators))
    sums = {key: groups.sum(operators.ints(key)) for key in (*TIMES, *AICORE)}
    data: dict[str, Text | IntArray | FloatArray] = {
        **{key.key: operators.text(key.key).take(groups.first) for key in keys},
        "calls": groups.count(),
        **{key: sums[key] for key in TIMES},
        "aicore_self_share": ratio(sums["device_self_aicore_ns"], sums["device_self_ns"]),
        "aicore_total_share": ratio(sums["device_total_aicore_ns"], sums["device_total_ns"]),
        "communication": is_communication(operators).astype(np.int64)[groups.first],
        "stacks": groups.distinct(operators.text("call_stack")),
        "incomplete": groups.sum(_incomplete(operators)),
    }
    return Table((*keys, CALLS, *TIME_COLUMNS, *SHARE_COLUMNS, COMMUNICATION, STACKS, INCOMPLETE), data)


def _incomplete(operators: Table) -> IntArray:
    """1 for each call of which a time that the file has a column for is unknown, else 0."""
    unknown = np.zeros(len(operators), dtype=np.int64)
    for key in TIMES:
        if operators.has(key):
            unknown |= ~known(operators.ints(key))
    return unknown
