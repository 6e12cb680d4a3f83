"""Host operators: host and device time by name, by name and shape, by call stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups, group_rows, known_sum, ratio, text_key
from tb_npu_plugin.analysis.operators.nesting import SAME_NAME, SAME_SHAPES, parents
from tb_npu_plugin.analysis.operators.tree import with_children
from tb_npu_plugin.schema.kernel_meaning import COMMUNICATION as MEANS_COMMUNICATION
from tb_npu_plugin.schema.kernel_meaning import meaning_of
from tb_npu_plugin.schema.mindspore_cpu import is_collective
from tb_npu_plugin.schema.torch_npu_csv import NESTED as NESTED_COLUMN
from tb_npu_plugin.tables import (
    Column,
    FloatArray,
    GroupByQuery,
    GroupByResult,
    IntArray,
    Kind,
    StringColumn,
    Table,
    column_texts,
    known,
)

TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")
AICORE = ("device_self_aicore_ns", "device_total_aicore_ns")

NESTED = NESTED_COLUMN.key
NAME = Column("name", Kind.TEXT, *column_texts("operators.name"), "identity")
SHAPES = Column("input_shapes", Kind.TEXT, *column_texts("input_shapes"), "shape")
STACK = Column("call_stack", Kind.TEXT, *column_texts("operator_sums.call_stack"), "identity")
CALLS = Column("calls", Kind.INT, *column_texts("operator_sums.calls"), "")
STACKS = Column("stacks", Kind.INT, *column_texts("stacks"), "")
COMMUNICATION = Column("communication", Kind.INT, *column_texts("operator_sums.communication"), "identity")
TIME_COLUMNS = (
    Column("device_self_ns", Kind.DURATION, *column_texts("operator_sums.device_self_ns"), "time"),
    Column("device_total_ns", Kind.DURATION, *column_texts("operator_sums.device_total_ns"), "time"),
    Column("host_self_ns", Kind.DURATION, *column_texts("host_self_ns"), "time"),
    Column("host_total_ns", Kind.DURATION, *column_texts("operator_sums.host_total_ns"), "time"),
)
SHARE_COLUMNS = (
    Column("aicore_self_share", Kind.RATIO, *column_texts("aicore_self_share"), ""),
    Column("aicore_total_share", Kind.RATIO, *column_texts("aicore_total_share"), ""),
)
INSIDE = Column("communication_total_ns", Kind.DURATION, *column_texts("operator_sums.communication_total_ns"), "time")
INCOMPLETE = Column("incomplete", Kind.INT, *column_texts("operator_sums.incomplete"), "")


@dataclass(frozen=True)
class Totals:
    """Total time of all calls by column, and the device self time of operators that only communicate, ns. None:
    unknown."""

    times: dict[str, Optional[int]]
    communication_self_ns: Optional[int]


def is_communication(operators: Table) -> NDArray[np.bool_]:
    """Mask of the operators that only communicate, by name. Their device time is that of collectives and would dwarf all others."""
    return operators.text("name").matching(_communicates)


def _communicates(name: str) -> bool:
    found = meaning_of(name, "host_op")
    return (found is not None and found.meaning in MEANS_COMMUNICATION) or is_collective(name)


def communication_within(operators: Table) -> IntArray:
    """Device time of the communication in each call, itself and nested calls, ns; for calls sorted by start."""
    own = np.where(is_communication(operators), np.maximum(operators.ints("device_self_ns"), 0), 0)
    if not own.any():
        return own
    return with_children(parents(operators.ints("host_self_ns"), operators.ints("host_total_ns")), own)


def by_name(operators: Table) -> Table:
    """One row per name."""
    return _group(operators, (NAME,))


def by_shape(operators: Table) -> Table:
    """One row per name and input shapes."""
    return _group(operators, (NAME, SHAPES))


def by_stack(operators: Table) -> Table:
    """One row per call stack of the given rows: calls and times."""
    found = group_rows(operators, GroupByQuery(("call_stack",), TIMES))
    stacks = [None if stack is None else _one_frame_a_line(stack) for stack in text_key(found, "call_stack").tolist()]
    return Table(
        (STACK, CALLS, *TIME_COLUMNS),
        {"call_stack": StringColumn.of(stacks), "calls": found.count, **{key: found.total[key] for key in TIMES}},
    )


def _one_frame_a_line(stack: str) -> str:
    """One frame per line: the file ends frames with ";" and various line breaks."""
    return "\n".join(frame.strip().rstrip(";") for frame in stack.splitlines())


def totals(operators: Table) -> Totals:
    """Sums over all calls. Total times count calls outside calls of the same operator, as in `by_name`."""
    found = group_rows(operators, GroupByQuery(("name", NESTED), TIMES))
    communicates = is_communication(Table((NAME,), {"name": text_key(found, "name")}))
    return Totals(
        {key: known_sum(_values_to_sum(found, key, SAME_NAME)) for key in TIMES},
        known_sum(found.total["device_self_ns"][communicates]),
    )


def _group(operators: Table, keys: tuple[Column, ...]) -> Table:
    """Nested calls of a group add to its self times and calls, not to its total times."""
    names = tuple(key.key for key in keys)
    inner = SAME_NAME if len(keys) == 1 else SAME_SHAPES
    complete = tuple(key for key in TIMES if operators.has(key))
    found = group_rows(operators, GroupByQuery((*names, NESTED), (*TIMES, *AICORE), complete=complete))
    stacks = group_rows(operators, GroupByQuery(names, distinct=("call_stack",)))
    texts = [text_key(found, name) for name in names]
    groups = Groups(texts, len(found.first))
    sums = {key: groups.sum(_values_to_sum(found, key, inner)) for key in (*TIMES, *AICORE)}
    first = {name: text.take(groups.first) for name, text in zip(names, texts)}
    data: dict[str, StringColumn | IntArray | FloatArray] = {
        **first,
        "calls": groups.sum(found.count),
        **{key: sums[key] for key in TIMES},
        "aicore_self_share": ratio(sums["device_self_aicore_ns"], sums["device_self_ns"]),
        "aicore_total_share": ratio(sums["device_total_aicore_ns"], sums["device_total_ns"]),
        "communication": is_communication(Table((NAME,), {"name": first["name"]})).astype(np.int64),
        INSIDE.key: _communication_inside(operators, first, inner),
        "stacks": stacks.distinct["call_stack"],
        "incomplete": groups.sum(found.incomplete),
    }
    shares = SHARE_COLUMNS if operators.has(AICORE[0]) or operators.has(AICORE[1]) else ()
    return Table((*keys, CALLS, *TIME_COLUMNS, *shares, COMMUNICATION, INSIDE, STACKS, INCOMPLETE), data)


def _communication_inside(operators: Table, groups: Mapping[str, StringColumn], inner: int) -> IntArray:
    """Part of the total device time of each group that is communication."""
    within = communication_within(operators)
    rows = np.flatnonzero(within)
    if operators.has(NESTED):
        rows = rows[operators.ints(NESTED)[rows] < inner]
    sums: Counter[tuple[Optional[str], ...]] = Counter()
    for key, ns in zip(zip(*(operators.text(name).take(rows).tolist() for name in groups)), within[rows].tolist()):
        sums[key] += ns
    return np.array([sums[key] for key in zip(*(text.tolist() for text in groups.values()))], dtype=np.int64)


def _values_to_sum(found: GroupByResult, key: str, inner: int) -> IntArray:
    """Times to sum; 0 for total times of calls nested to this degree."""
    nested = found.keys[NESTED]
    if "total" not in key or isinstance(nested, StringColumn):  # hand-made tables may lack the column
        return found.total[key]
    return np.where((nested >= inner) & known(found.total[key]), 0, found.total[key])
