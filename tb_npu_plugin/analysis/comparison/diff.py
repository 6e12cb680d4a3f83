"""Compares operators and kernels of two captures. Differences are experimental minus baseline; ratios are difference /
baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import group_rows, ratio
from tb_npu_plugin.analysis.joining import outer_join
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.operators.statistics import TIME_COLUMNS, TIMES, by_name
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import (
    NULL_INT,
    Column,
    Data,
    FloatArray,
    GroupByQuery,
    IntArray,
    Kind,
    StringColumn,
    Table,
    known,
)

_CLASS = Column("class", Kind.TEXT, "Class", "Kind of work, from core and type of the kernel.", "identity")
_KEYS = (
    Column("name", Kind.TEXT, "Name", "Kernel name.", "identity"),
    Column("type", Kind.TEXT, "Type", "Operator type; unknown at level 0.", "identity"),
    Column("core", Kind.TEXT, "Core", "Accelerator core that ran it; unknown at level 0.", "identity"),
)
_CALLS = (
    Column("baseline_calls", Kind.INT, "Baseline calls", "Calls in the baseline.", ""),
    Column("experimental_calls", Kind.INT, "Experimental calls", "Calls in the experimental capture.", ""),
)
_SUMMED = (Column("calls", Kind.INT), Column("dur_ns", Kind.DURATION))
_NAME = Column("name", Kind.TEXT, "Name", "Operator name.", "identity")

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
    columns: list[Column] = [_NAME, *_calls_columns(by)]
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


def kernels(baseline: Table, experimental: Table, by_type: bool = False, by: Divisors = SUMS) -> Table:
    """One row per kernel name, type and core, with its class. by_type: name kernels by their known type and unify
    spellings of the communication core, to compare different frameworks. by: divisors of calls and times."""
    sides = [_kernel_sums(table, by_type) for table in (baseline, experimental)]
    keys = [[side.text(column.key) for column in _KEYS] for side in sides]
    rows = outer_join(*keys)
    times = [
        _values_or_zero(_times(side.ints("dur_ns"), steps), picked) for side, picked, steps in zip(sides, rows, by)
    ]
    calls = [_calls(side.ints("calls"), picked, by, steps) for side, picked, steps in zip(sides, rows, by)]
    labels = [_keys_of_either(before, after, rows) for before, after in zip(*keys)]
    named = Table(_KEYS, {column.key: label for column, label in zip(_KEYS, labels)})
    added = _difference_columns("", "")
    return Table(
        (_CLASS, *_KEYS, *_calls_columns(by), *added),
        {
            "class": StringColumn(classes(named).astype(np.int32), list(CLASSES)),
            **named.data,
            "baseline_calls": calls[0],
            "experimental_calls": calls[1],
            **dict(zip((entry.key for entry in added), _differences(*times))),
        },
    )


def _kernel_sums(kernels: Table, by_type: bool) -> Table:
    keys = tuple(column.key for column in _KEYS)
    found = group_rows(kernels, GroupByQuery(keys, ("dur_ns",)))
    if by_type:
        named = Table(_KEYS, found.keys)
        types = named.text("type").tolist()
        names = (name if type_ is None else type_ for name, type_ in zip(named.text("name").tolist(), types))
        data: dict[str, Data] = {
            "name": StringColumn.of(names),
            "type": named.text("type"),
            "core": _one_communication_core(named.text("core")),
            "calls": found.count,
            "dur_ns": found.total["dur_ns"],
        }
        again = group_rows(Table((*_KEYS, *_SUMMED), data), GroupByQuery(keys, ("calls", "dur_ns")))
        return Table(_KEYS, again.keys).with_columns([(column, again.total[column.key]) for column in _SUMMED])
    counted = zip(_SUMMED, (found.count, found.total["dur_ns"]))
    return Table(_KEYS, found.keys).with_columns(list(counted))


def _one_communication_core(cores: StringColumn) -> StringColumn:
    """Replace all communication cores by the newest name."""
    newest = COMMUNICATION_CORES[-1]
    return StringColumn.of(newest if core in COMMUNICATION_CORES else core for core in cores.tolist())


def _difference_columns(what: str, title: str) -> list[Column]:
    """Columns baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X, changed_X."""
    middle = f"_{what}" if what else ""
    return [
        Column(
            f"baseline{middle}_ns",
            Kind.DURATION,
            f"{title}, baseline" if title else "Baseline",
            "Time in the baseline.",
            "time",
        ),
        Column(
            f"experimental{middle}_ns",
            Kind.DURATION,
            f"{title}, experimental" if title else "Experimental",
            "Time in the experimental.",
            "time",
        ),
        Column(
            f"difference{middle}_ns",
            Kind.DURATION,
            f"{title}, difference" if title else "Difference",
            "Experimental minus baseline.",
            "time",
        ),
        Column(
            f"ratio{middle}",
            Kind.RATIO,
            f"{title}, change" if title else "Change",
            "Difference / baseline; unknown when the baseline is 0.",
            "time",
        ),
        Column(
            f"changed{middle}",
            Kind.TEXT,
            f"{title}, changed" if title else "Changed",
            "slower or faster: by 5 % of the baseline at least, or on one side only.",
            "",
        ),
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
