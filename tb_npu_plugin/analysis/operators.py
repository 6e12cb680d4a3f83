"""Host operators: host and device time by name, by name and shape, by call stack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import known_sum, ratio, summed, summed_text
from tb_npu_plugin.tables import Column, FloatArray, IntArray, Kind, Question, Table, Text

#: Operators that only communicate, by the start of their name: those of HCCL (HcclAllreduce, hcom_allReduce_...), of
#: NCCL and of torch.distributed (c10d::allreduce_, record_param_comms). Their device time is that of collectives and would drown all other.
COMMUNICATION_NAME = re.compile(r"hccl|hcom|nccl|record_param_comms|_?c10d(_functional)?::", re.IGNORECASE)

TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")
AICORE = ("device_self_aicore_ns", "device_total_aicore_ns")

NAME = Column("name", Kind.TEXT, "Name", "Operator name.", "identity")
SHAPES = Column("input_shapes", Kind.TEXT, "Input Shapes", "Shapes of the inputs.", "shape")
STACK = Column("call_stack", Kind.TEXT, "Call Stack", "Frames, innermost first, one a line.", "identity")
CALLS = Column("calls", Kind.INT, "Calls", "How often it was called.", "")
STACKS = Column("stacks", Kind.INT, "Call Stacks", "Different call stacks; 0 where none was recorded.", "")
COMMUNICATION = Column(
    "communication",
    Kind.INT,
    "Communication",
    "1 for operators of HCCL, NCCL and torch.distributed, by name.",
    "identity",
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


@dataclass(frozen=True)
class Totals:
    """Times of all calls by column, and the device self time of those that only communicate, ns. None: unknown."""

    times: dict[str, Optional[int]]
    communication_self_ns: Optional[int]


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
    found = summed(operators, Question(("call_stack",), TIMES))
    stacks = [
        None if stack is None else _one_frame_a_line(stack) for stack in summed_text(found, "call_stack").tolist()
    ]
    return Table(
        (STACK, CALLS, *TIME_COLUMNS),
        {
            "call_stack": Text.of(stacks),
            "calls": found.count,
            **{key: found.total[key] for key in TIMES},
        },
    )


def _one_frame_a_line(stack: str) -> str:
    """The file ends each frame with ";" and a line break of its own kind."""
    return "\n".join(frame.strip().rstrip(";") for frame in stack.splitlines())


def totals(operators: Table) -> Totals:
    """Sums over all calls."""
    found = summed(operators, Question(("name",), TIMES))
    communicates = is_communication(Table((NAME,), {"name": summed_text(found, "name")}))
    return Totals(
        {key: known_sum(found.total[key]) for key in TIMES},
        known_sum(found.total["device_self_ns"][communicates]),
    )


def _grouped(operators: Table, keys: tuple[Column, ...]) -> Table:
    complete = tuple(key for key in TIMES if operators.has(key))
    names = tuple(key.key for key in keys)
    found = summed(operators, Question(names, (*TIMES, *AICORE), distinct=("call_stack",), complete=complete))
    sums = found.total
    data: dict[str, Text | IntArray | FloatArray] = {
        **{name: summed_text(found, name) for name in names},
        "calls": found.count,
        **{key: sums[key] for key in TIMES},
        "aicore_self_share": ratio(sums["device_self_aicore_ns"], sums["device_self_ns"]),
        "aicore_total_share": ratio(sums["device_total_aicore_ns"], sums["device_total_ns"]),
        "communication": is_communication(Table((NAME,), {"name": summed_text(found, "name")})).astype(np.int64),
        "stacks": found.distinct["call_stack"],
        "incomplete": found.incomplete,
    }
    shares = SHARE_COLUMNS if operators.has(AICORE[0]) or operators.has(AICORE[1]) else ()
    return Table((*keys, CALLS, *TIME_COLUMNS, *shares, COMMUNICATION, STACKS, INCOMPLETE), data)
