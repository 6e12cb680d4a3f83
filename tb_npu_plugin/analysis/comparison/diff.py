"""Compares operators and kernels of captures. Differences are experimental minus baseline; ratios are difference /
baseline. Of the captures beside these two only the times are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Optional

import numpy as np

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
_NUMBER_TEXT = Column("number_text", Kind.TEXT)
_KEYS = (NAME, TYPE, CORE, _GROUP)
_CALLS = (
    Column("baseline_calls", Kind.INT, *column_texts("baseline_calls"), ""),
    Column("experimental_calls", Kind.INT, *column_texts("experimental_calls"), ""),
)
SUMMED = (Column("calls", Kind.INT), Column("dur_ns", Kind.DURATION))

#: Minimum change, as a share of the baseline, of a slower or faster row.
CHANGED = 0.05
#: Divisors of the sums of each capture, to compare means of steps.
Divisors = Sequence[int]


class Compared(NamedTuple):
    """Names of the captures, and the numbers of the baseline and of the experimental one."""

    names: Sequence[str]
    baseline: int
    experimental: int

    @property
    def others(self) -> list[int]:
        """Numbers of the other captures."""
        return [at for at in range(len(self.names)) if at not in (self.baseline, self.experimental)]


TWO = Compared("AB", 0, 1)
SUMS: Divisors = (1, 1)


def operators(tables: Sequence[Table], of: Compared = TWO, by: Divisors = SUMS) -> Table:
    """One row per operator name: calls, and each host and device time of the captures. An operator that one did not
    call has 0 calls and times there; times missing in a file are unknown. by: divisors of calls and times."""
    sides = [by_name(table) for table in tables]
    rows = outer_join(*([side.text("name")] for side in sides))
    columns: list[Column] = [OPERATOR]
    data: dict[str, Data] = {"name": _keys_of_any([side.text("name") for side in sides], rows)}
    _add_calls(columns, data, of, by, [_values_or_zero(side.ints("calls"), own) for side, own in zip(sides, rows)])
    for key, column in zip(TIMES, TIME_COLUMNS):
        times = [_values_or_zero(_times(side.ints(key), steps), own) for side, own, steps in zip(sides, rows, by)]
        add_times(columns, data, of, times, key.removesuffix("_ns"), column.title)
    return Table(tuple(columns), data)


class Side(NamedTuple):
    """Kernels of a capture, None if they are unknown, and the groups of its rank: name -> role and ranks."""

    kernels: Optional[Table]
    groups: Mapping[str, Mapping[str, Any]]


def kernels(given: Sequence[Side], of: Compared = TWO, by_type: bool = False, by: Divisors = SUMS) -> Table:
    """One row per kernel, type, core and group, with its class. by_type: name kernels by their known type and unify
    spellings of the communication core, to compare different frameworks. by: divisors of calls and times."""
    sides = [None if side.kernels is None else _kernel_sums(side.kernels, side.groups, by_type) for side in given]
    rows = joined(sides, [column.key for column in _KEYS])
    named = Table((*_KEYS, MEANING), {key.key: texts_of(sides, rows, key.key) for key in (*_KEYS, MEANING)})
    columns, data = compared_columns(sides, rows, of, by)
    data = {"class": StringColumn(classes(named).astype(np.int32), list(CLASSES)), **named.data, **data}
    return Table((_CLASS, *(key for key in _KEYS if _is_known(named, key)), *columns), data)


def calls(given: Sequence[Side], of: Compared = TWO, by: Divisors = SUMS) -> Optional[Table]:
    """One row per call of a collective: the n-th of its operation and group in the step. None without collectives."""
    sides = [None if side.kernels is None else _numbered(side.kernels, side.groups) for side in given]
    if not any(side is not None and len(side) for side in sides):
        return None
    texts = [
        None if side is None else side.with_columns([(_NUMBER_TEXT, _as_text(side.ints("number")))]) for side in sides
    ]
    rows = joined(texts, ["name", "group", _NUMBER_TEXT.key])
    numbers = texts_of(texts, rows, _NUMBER_TEXT.key)
    columns, data = compared_columns(sides, rows, of, by)
    named: dict[str, Data] = {
        "name": texts_of(sides, rows, "name"),
        "group": texts_of(sides, rows, "group"),
        "number": np.array([int(text or 0) for text in numbers.tolist()], dtype=np.int64),
    }
    return Table((_KEYS[0], _GROUP, _NUMBER, *columns), {**named, **data})


def joined(sides: Sequence[Optional[Table]], keys: Sequence[str]) -> list[Optional[IntArray]]:
    """Rows of the joined tables; None for an unknown one."""
    found = iter(outer_join(*([side.text(key) for key in keys] for side in sides if side is not None)))
    return [None if side is None else next(found) for side in sides]


def texts_of(sides: Sequence[Optional[Table]], rows: Sequence[Optional[IntArray]], key: str) -> StringColumn:
    """A key column of the joined rows."""
    both = [(side.text(key), own) for side, own in zip(sides, rows) if side is not None and own is not None]
    return _keys_of_any([text for text, _ in both], [own for _, own in both])


def compared_columns(
    sides: Sequence[Optional[Table]], rows: Sequence[Optional[IntArray]], of: Compared, by: Divisors
) -> tuple[list[Column], dict[str, Data]]:
    """Calls and times of joined rows of tables with "calls" and "dur_ns"."""
    count = next(len(own) for own in rows if own is not None)
    unknown = np.full(count, NULL_INT, dtype=np.int64)
    times, counts = [], []
    for side, own, steps in zip(sides, rows, by):
        found = None if side is None or own is None else (side, own)
        times.append(unknown if found is None else _values_or_zero(_times(found[0].ints("dur_ns"), steps), found[1]))
        counts.append(unknown if found is None else _values_or_zero(found[0].ints("calls"), found[1]))
    columns: list[Column] = []
    data: dict[str, Data] = {}
    _add_calls(columns, data, of, by, counts)
    add_times(columns, data, of, times, "", "")
    return columns, data


def _kernel_sums(kernels: Table, named: Mapping[str, Mapping[str, Any]], by_type: bool) -> Table:
    kinds = kinds_of(kernels)
    names, cores = kinds.text("name"), kinds.text("core")
    groups = _labelled(kinds.text("group"), named)
    if by_type:
        types = kinds.text("type").tolist()
        names = StringColumn.of(name if type_ is None else type_ for name, type_ in zip(names.tolist(), types))
        cores, groups = _one_communication_core(cores), StringColumn.of([None] * len(kinds))
    return _summed({"name": names, "type": kinds.text("type"), "core": cores, "group": groups}, kinds)


def _numbered(kernels: Table, named: Mapping[str, Mapping[str, Any]]) -> Table:
    """Calls of collectives by operation, group and number in the step."""
    kernels = kernels.take(is_communication(kernels) & known(kernels.ints("start_ns")))
    kernels = kernels.take(np.argsort(kernels.ints("start_ns"), kind="stable"))
    names, groups = kernels.text(FOLDED.key), _labelled(kernels.text(GROUP.key), named)
    numbers = np.zeros(len(kernels), dtype=np.int64)
    for rows in Groups([kernels.text("step"), names, groups], len(kernels)).rows():
        numbers[rows] = np.arange(1, len(rows) + 1)
    timed = {"calls": np.ones(len(kernels), dtype=np.int64), "total_ns": kernels.ints("dur_ns")}
    figures = Table((CALLS, TOTAL, MEANING), {**timed, MEANING.key: kernels.text(MEANING.key)})
    return _summed({"name": names, "group": groups, "number": numbers}, figures)


def _summed(keys: Mapping[str, Key], figures: Table) -> Table:
    """One row per combination of keys, with its meaning, calls and time."""
    groups = Groups(list(keys.values()), len(figures))
    columns = [*(column for column in (*_KEYS, _NUMBER) if column.key in keys), MEANING, *SUMMED]
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


def add_times(
    columns: list[Column],
    data: dict[str, Data],
    of: Compared,
    times: Sequence[IntArray],
    what: str,
    title: str,
    unit: Literal["ns", "bytes"] = "ns",
) -> None:
    """Columns baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X, changed_X, and X_ns of each other capture."""
    kind_of_value = Kind.DURATION if unit == "ns" else Kind.BYTES
    middle = f"_{what}" if what else ""

    def add(key: str, kind: Kind, text: str, doc: str, values: Data, group: str = "time") -> None:
        columns.append(
            Column(key, kind, Message("column.of_side", column=title, side=text) if title else text, doc, group)
        )
        data[key] = values

    names = [Message("column.capture", name=name) for name in of.names]
    before, after = names[of.baseline], names[of.experimental]
    found = _differences(times[of.baseline], times[of.experimental])
    of_capture = Message("column.capture.doc")
    add(f"baseline{middle}_{unit}", kind_of_value, before, of_capture, found[0])
    add(f"experimental{middle}_{unit}", kind_of_value, after, of_capture, found[1])
    for at in of.others:
        add(f"{of.names[at].lower()}{middle}_{unit}", kind_of_value, names[at], of_capture, times[at])
    difference = Message("column.capture", name=f"{after} − {before}")
    add(f"difference{middle}_{unit}", kind_of_value, difference, column_texts("difference")[1], found[2])
    add(f"ratio{middle}", Kind.RATIO, *column_texts("change"), found[3])
    add(f"changed{middle}", Kind.TEXT, *column_texts("changed"), found[4], "")


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


def _add_calls(
    columns: list[Column], data: dict[str, Data], of: Compared, by: Divisors, counts: Sequence[IntArray]
) -> None:
    """Calls of the two captures; floats if one is divided."""
    is_divided = any(steps != 1 for steps in by)
    for column, at in zip(_CALLS, (of.baseline, of.experimental)):
        columns.append(replace(column, kind=Kind.FLOAT if is_divided else Kind.INT))
        data[column.key] = counts[at] / by[at] if is_divided else counts[at]


def _keys_of_any(columns: Sequence[StringColumn], rows: Sequence[IntArray]) -> StringColumn:
    """Key of each joined row, from the first side that has it."""
    texts = [column.tolist() for column in columns]
    return StringColumn.of(
        next(text[row] for text, row in zip(texts, picked) if row >= 0)
        for picked in zip(*(own.tolist() for own in rows))
    )
