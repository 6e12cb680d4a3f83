"""Compares operators and kernels of two captures. Differences are experimental minus baseline; ratios are difference /
baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.lateness import ID_DIGITS
from tb_npu_plugin.analysis.grouping import Groups, Key, outer_join, ratio
from tb_npu_plugin.analysis.kernels.kinds import MEANING, is_communication
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, FOLDED, GROUP, classes
from tb_npu_plugin.analysis.kernels.statistics import CALLS, CORE, NAME, TOTAL, TYPE, kinds_of
from tb_npu_plugin.analysis.operators.statistics import NAME as OPERATOR
from tb_npu_plugin.analysis.operators.statistics import TIME_COLUMNS, TIMES, by_name
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import (
    NULL_INT,
    Column,
    Data,
    FloatArray,
    IntArray,
    Kind,
    StringColumn,
    Table,
    column_texts,
    known,
)

_CLASS = Column("class", Kind.TEXT, *column_texts("class"), "identity")
_GROUP = Column("group", Kind.TEXT, *column_texts("diff.group"), "identity")
_NUMBER = Column("number", Kind.INT, *column_texts("number"), "identity")
_KEYS = (NAME, TYPE, CORE, _GROUP)
_CALLS = (
    Column("baseline_calls", Kind.INT, *column_texts("baseline_calls"), ""),
    Column("experimental_calls", Kind.INT, *column_texts("experimental_calls"), ""),
)
_SUMMED = (Column("calls", Kind.INT), Column("dur_ns", Kind.DURATION))

#: Minimum change, as a share of the baseline, of a slower or faster row.
CHANGED = 0.05
#: Divisors of the sums of both sides, to compare means of steps.
Divisors = tuple[int, int]
SUMS: Divisors = (1, 1)


def operators(baseline: Table, experimental: Table, by: Divisors = SUMS) -> Table:
    """One row per operator name: calls, and each host and device time of both sides. An operator that one side did not
    call has 0 calls and times there; times missing in a side's file are unknown. by: divisors of calls and times."""
    sides = [by_name(table) for table in (baseline, experimental)]
    rows = outer_join([sides[0].text("name")], [sides[1].text("name")])
    calls = [_calls(side.ints("calls"), picked, by, steps) for side, picked, steps in zip(sides, rows, by)]
    columns: list[Column] = [OPERATOR, *_calls_columns(by)]
    data: dict[str, Data] = {
        "name": _keys_of_either(sides[0].text("name"), sides[1].text("name"), rows),
        "baseline_calls": calls[0],
        "experimental_calls": calls[1],
    }
    for key, column in zip(TIMES, TIME_COLUMNS):
        times = [_values_or_zero(_times(side.ints(key), steps), picked) for side, picked, steps in zip(sides, rows, by)]
        added = _difference_columns(key.removesuffix("_ns"), column.title)
        columns += added
        data.update(zip((entry.key for entry in added), _differences(*times)))
    return Table(tuple(columns), data)


class Side(NamedTuple):
    """Kernels of a side, and the groups of its rank: name -> role and ranks."""

    kernels: Table
    groups: Mapping[str, Mapping[str, Any]]


def kernels(baseline: Side, experimental: Side, by_type: bool = False, by: Divisors = SUMS) -> Table:
    """One row per kernel, type, core and group, with its class. by_type: name kernels by their known type and unify
    spellings of the communication core, to compare different frameworks. by: divisors of calls and times."""
    sides = [_kernel_sums(side, by_type) for side in (baseline, experimental)]
    keys = [[side.text(column.key) for column in _KEYS] for side in sides]
    rows = outer_join(*keys)
    labels = [_keys_of_either(before, after, rows) for before, after in zip(*keys)]
    meanings = _keys_of_either(sides[0].text(MEANING.key), sides[1].text(MEANING.key), rows)
    named = Table((*_KEYS, MEANING), {**dict(zip((key.key for key in _KEYS), labels)), MEANING.key: meanings})
    columns, data = _compared(sides, rows, by)
    data = {"class": StringColumn(classes(named).astype(np.int32), list(CLASSES)), **named.data, **data}
    return Table((_CLASS, *(key for key in _KEYS if _is_known(named, key)), *columns), data)


def calls(baseline: Side, experimental: Side, by: Divisors = SUMS) -> Optional[Table]:
    """One row per call of a collective: the n-th of its operation and group in the step. None without collectives."""
    sides = [_numbered(side) for side in (baseline, experimental)]
    if not any(map(len, sides)):
        return None
    keys = [[side.text("name"), side.text("group"), _as_text(side.ints("number"))] for side in sides]
    rows = outer_join(*keys)
    names, groups, numbers = (_keys_of_either(before, after, rows) for before, after in zip(*keys))
    columns, data = _compared(sides, rows, by)
    named: dict[str, Data] = {
        "name": names,
        "group": groups,
        "number": np.array([int(text or 0) for text in numbers.tolist()], dtype=np.int64),
    }
    return Table((_KEYS[0], _GROUP, _NUMBER, *columns), {**named, **data})


def _compared(
    sides: Sequence[Table], rows: tuple[IntArray, IntArray], by: Divisors
) -> tuple[list[Column], dict[str, Data]]:
    """Calls and times of joined rows of tables with "calls" and "dur_ns"."""
    both = list(zip(sides, rows, by))
    times = [_values_or_zero(_times(side.ints("dur_ns"), steps), picked) for side, picked, steps in both]
    counts = [_calls(side.ints("calls"), picked, by, steps) for side, picked, steps in both]
    columns, added = _calls_columns(by), _difference_columns("", "")
    keys = (column.key for column in (*columns, *added))
    return [*columns, *added], dict(zip(keys, (*counts, *_differences(*times))))


def _kernel_sums(side: Side, by_type: bool) -> Table:
    kinds = kinds_of(side.kernels)
    names, cores = kinds.text("name"), kinds.text("core")
    groups = _labelled(kinds.text("group"), side.groups)
    if by_type:
        types = kinds.text("type").tolist()
        names = StringColumn.of(name if type_ is None else type_ for name, type_ in zip(names.tolist(), types))
        cores, groups = _one_communication_core(cores), StringColumn.of([None] * len(kinds))
    return _summed({"name": names, "type": kinds.text("type"), "core": cores, "group": groups}, kinds)


def _numbered(side: Side) -> Table:
    """Calls of collectives by operation, group and number in the step."""
    kernels = side.kernels.take(is_communication(side.kernels) & known(side.kernels.ints("start_ns")))
    kernels = kernels.take(np.argsort(kernels.ints("start_ns"), kind="stable"))
    names, groups = kernels.text(FOLDED.key), _labelled(kernels.text(GROUP.key), side.groups)
    numbers = np.zeros(len(kernels), dtype=np.int64)
    for rows in Groups([kernels.text("step"), names, groups], len(kernels)).rows():
        numbers[rows] = np.arange(1, len(rows) + 1)
    timed = {"calls": np.ones(len(kernels), dtype=np.int64), "total_ns": kernels.ints("dur_ns")}
    figures = Table((CALLS, TOTAL, MEANING), {**timed, MEANING.key: kernels.text(MEANING.key)})
    return _summed({"name": names, "group": groups, "number": numbers}, figures)


def _summed(keys: Mapping[str, Key], figures: Table) -> Table:
    """One row per combination of keys, with its meaning, calls and time."""
    groups = Groups(list(keys.values()), len(figures))
    columns = [*(column for column in (*_KEYS, _NUMBER) if column.key in keys), MEANING, *_SUMMED]
    texts = {**keys, MEANING.key: figures.text(MEANING.key)}
    firsts = {
        key: one.take(groups.first) if isinstance(one, StringColumn) else one[groups.first]
        for key, one in texts.items()
    }
    sums = groups.sum(figures.ints("calls")), groups.sum(figures.ints("total_ns"))
    return Table(tuple(columns), {**firsts, **dict(zip(("calls", "dur_ns"), sums))})


def _labelled(ends: StringColumn, groups: Mapping[str, Mapping[str, Any]]) -> StringColumn:
    """Groups by what they are in any run: role, else number of ranks, then the order of their first call. ends: of their ids."""
    by_end = {group_hash(name)[-ID_DIGITS:]: group for name, group in groups.items()}
    labels: dict[Optional[str], Optional[str]] = {None: None}
    taken = Counter[str]()
    for end in ends.tolist():
        if end not in labels:
            group = by_end.get(str(end), {})
            ranks = group.get("global_ranks")
            base = str(group.get("group_name") or (f"×{len(ranks)}" if isinstance(ranks, list) else ""))
            taken[base] += 1
            labels[end] = base if base and taken[base] == 1 else f"{base} #{taken[base]}".strip()
    return StringColumn.of(labels[end] for end in ends.tolist())


def _is_known(table: Table, key: Column) -> bool:
    return key is not _GROUP or bool((table.text(key.key).codes >= 0).any())


def _as_text(values: IntArray) -> StringColumn:
    return StringColumn.of(map(str, values.tolist()))


def _one_communication_core(cores: StringColumn) -> StringColumn:
    """Replace all communication cores by the newest name."""
    newest = COMMUNICATION_CORES[-1]
    return StringColumn.of(newest if core in COMMUNICATION_CORES else core for core in cores.tolist())


def _of_side(title: str, side: str, doc: str) -> tuple[str, str]:
    """Title and doc of a column of one side; without `title`, the side is the title."""
    return Message("column.of_side", column=title, side=side) if title else side, doc


def _difference_columns(what: str, title: str) -> list[Column]:
    """Columns baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X, changed_X."""
    middle = f"_{what}" if what else ""
    return [
        Column(f"baseline{middle}_ns", Kind.DURATION, *_of_side(title, *column_texts("baseline")), "time"),
        Column(f"experimental{middle}_ns", Kind.DURATION, *_of_side(title, *column_texts("experimental")), "time"),
        Column(f"difference{middle}_ns", Kind.DURATION, *_of_side(title, *column_texts("difference")), "time"),
        Column(f"ratio{middle}", Kind.RATIO, *_of_side(title, *column_texts("change")), "time"),
        Column(f"changed{middle}", Kind.TEXT, *_of_side(title, *column_texts("changed")), ""),
    ]


def _differences(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray, IntArray, FloatArray, StringColumn]:
    certain = known(before) & known(after)
    difference = np.where(certain, after - before, NULL_INT)
    is_changed = certain & (difference != 0) & (np.abs(difference) >= CHANGED * np.abs(before))
    changed = np.where(is_changed, (difference < 0).astype(np.int32), -1).astype(np.int32)
    return before, after, difference, ratio(difference, before), StringColumn(changed, ["slower", "faster"])


def _values_or_zero(values: IntArray, rows: IntArray) -> IntArray:
    """Values at the given rows; 0 where the row is -1, as the side did not call it."""
    return np.append(values, 0)[rows]


def _times(values: IntArray, steps: int) -> IntArray:
    """Times divided by the number of steps, rounded to ns; unknown ones stay unknown."""
    return np.where(known(values), (2 * np.where(known(values), values, 0) + steps) // (2 * steps), NULL_INT)


def _calls(values: IntArray, rows: IntArray, by: Divisors, steps: int) -> Data:
    """Calls at the given rows; floats if either side is divided."""
    calls = _values_or_zero(values, rows)
    return calls if by == SUMS else calls / steps


def _calls_columns(by: Divisors) -> list[Column]:
    kind = Kind.INT if by == SUMS else Kind.FLOAT
    return [replace(column, kind=kind) for column in _CALLS]


def _keys_of_either(left: StringColumn, right: StringColumn, rows: tuple[IntArray, IntArray]) -> StringColumn:
    """Key of each joined row, from either side."""
    picked: NDArray[np.bool_] = rows[0] >= 0
    lefts, rights = left.tolist(), right.tolist()
    return StringColumn.of(lefts[row] if mine else rights[other] for row, other, mine in zip(*rows, picked))
