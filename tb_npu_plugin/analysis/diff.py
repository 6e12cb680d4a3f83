"""Two captures side by side. Differences are experimental minus baseline; ratios are difference / baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import ratio, summed, summed_text
from tb_npu_plugin.analysis.joining import outer_join
from tb_npu_plugin.analysis.operator_classes import CLASSES, classes
from tb_npu_plugin.analysis.operators import TIME_COLUMNS, TIMES, by_name
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import NULL_INT, Column, Data, FloatArray, IntArray, Kind, Question, Table, Text, known

IDLE = "idle"
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


@dataclass(frozen=True)
class ClassSums:
    """Time (ns) and calls of the operator classes that occur, by id."""

    times: dict[str, int]
    calls: dict[str, int]


@dataclass(frozen=True)
class ClassDifference:
    """One operator class on both sides, ns. `running_ns`: sum of the differences down to this class."""

    id: str
    baseline_calls: int
    experimental_calls: int
    baseline_ns: int
    experimental_ns: int
    difference_ns: int
    running_ns: int


def class_sums(kernels: Table) -> tuple[ClassSums, dict[str | None, ClassSums]]:
    """Of all kernels, and of those of each step."""
    keys = ("step", "type", "core")
    found = summed(kernels, Question(keys, ("dur_ns",)))
    if not (summed_text(found, "type").codes >= 0).all():  # then the name tells the class
        found = summed(kernels, Question((*keys, "name"), ("dur_ns",)))
    steps = summed_text(found, "step").tolist()
    kinds = classes(Table(tuple(Column(key, Kind.TEXT) for key in found.keys), found.keys)).tolist()
    by_step: dict[str | None, ClassSums] = {}
    whole = ClassSums({}, {})
    for step, kind, time, calls in zip(steps, kinds, found.total["dur_ns"].tolist(), found.count.tolist()):
        name = CLASSES[kind]
        for sums in (by_step.setdefault(step, ClassSums({}, {})), whole):
            sums.times[name] = sums.times.get(name, 0) + max(time, 0)
            sums.calls[name] = sums.calls.get(name, 0) + calls
    return whole, by_step


def by_class(
    baseline: ClassSums, experimental: ClassSums, idle: tuple[int | None, int | None] = (None, None)
) -> list[ClassDifference]:
    """Classes that occur on either side, in the order of CLASSES; those of kernels sum to the kernels' time exactly.
    `idle`: free time of both sides, left out unless both are known."""
    sides = [(dict(sums.times), sums.calls) for sums in (baseline, experimental)]
    if idle[0] is not None and idle[1] is not None:
        for (times, _), free in zip(sides, idle):
            times[IDLE] = free or 0
    out: list[ClassDifference] = []
    running = 0
    for name in CLASSES:
        (before, before_calls), (after, after_calls) = ((times.get(name), calls.get(name)) for times, calls in sides)
        if before is None and after is None:
            continue
        difference = (after or 0) - (before or 0)
        running += difference
        out.append(
            ClassDifference(name, before_calls or 0, after_calls or 0, before or 0, after or 0, difference, running)
        )
    return out


def operators(baseline: Table, experimental: Table) -> Table:
    """One row per operator name: calls, and each host and device time of both sides. An operator that a side did not
    call took no time there; a time that a side's file lacks is unknown."""
    sides = [by_name(table) for table in (baseline, experimental)]
    rows = outer_join([sides[0].text("name")], [sides[1].text("name")])
    calls = [_at(side.ints("calls"), picked) for side, picked in zip(sides, rows)]
    columns: list[Column] = [_NAME, *_CALLS]
    data: dict[str, Data] = {
        "name": _either(sides[0].text("name"), sides[1].text("name"), rows),
        "baseline_calls": calls[0],
        "experimental_calls": calls[1],
    }
    for key, column in zip(TIMES, TIME_COLUMNS):
        times = [_at(side.ints(key), picked) for side, picked in zip(sides, rows)]
        added = _difference_columns(key.removesuffix("_ns"), column.title)
        columns += added
        data.update(zip((entry.key for entry in added), _differences(*times)))
    return Table(tuple(columns), data)


def kernels(baseline: Table, experimental: Table, by_type: bool = False) -> Table:
    """One row per kernel name, type and core, with its class. by_type: kernels are named by their type where
    it is known, and spellings of the core of communication are one: for results of different frameworks."""
    sides = [_kernel_sums(table, by_type) for table in (baseline, experimental)]
    keys = [[side.text(column.key) for column in _KEYS] for side in sides]
    rows = outer_join(*keys)
    times = [_at(side.ints("dur_ns"), picked) for side, picked in zip(sides, rows)]
    calls = [_at(side.ints("calls"), picked) for side, picked in zip(sides, rows)]
    labels = [_either(before, after, rows) for before, after in zip(*keys)]
    named = Table(_KEYS, {column.key: label for column, label in zip(_KEYS, labels)})
    added = _difference_columns("", "")
    return Table(
        (_CLASS, *_KEYS, *_CALLS, *added),
        {
            "class": Text(classes(named).astype(np.int32), list(CLASSES)),
            **named.data,
            "baseline_calls": calls[0],
            "experimental_calls": calls[1],
            **dict(zip((entry.key for entry in added), _differences(*times))),
        },
    )


def _kernel_sums(kernels: Table, by_type: bool) -> Table:
    keys = tuple(column.key for column in _KEYS)
    found = summed(kernels, Question(keys, ("dur_ns",)))
    if by_type:
        named = Table(_KEYS, found.keys)
        types = named.text("type").tolist()
        names = (name if type_ is None else type_ for name, type_ in zip(named.text("name").tolist(), types))
        data: dict[str, Data] = {
            "name": Text.of(names),
            "type": named.text("type"),
            "core": _one_communication_core(named.text("core")),
            "calls": found.count,
            "dur_ns": found.total["dur_ns"],
        }  # fmt: skip
        again = summed(Table((*_KEYS, *_SUMMED), data), Question(keys, ("calls", "dur_ns")))
        return Table(_KEYS, again.keys).with_columns([(column, again.total[column.key]) for column in _SUMMED])
    counted = zip(_SUMMED, (found.count, found.total["dur_ns"]))
    return Table(_KEYS, found.keys).with_columns(list(counted))


def _one_communication_core(cores: Text) -> Text:
    """The newest name for all."""
    newest = COMMUNICATION_CORES[-1]
    return Text.of(newest if core in COMMUNICATION_CORES else core for core in cores.tolist())


def _difference_columns(what: str, title: str) -> list[Column]:
    """Columns baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X."""
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
    ]


def _differences(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    certain = known(before) & known(after)
    difference = np.where(certain, after - before, NULL_INT)
    return before, after, difference, ratio(difference, before)


def _at(values: IntArray, rows: IntArray) -> IntArray:
    """Values at the given rows; 0 where the row is -1: the side did not call it."""
    return np.append(values, 0)[rows]


def _either(left: Text, right: Text, rows: tuple[IntArray, IntArray]) -> Text:
    """Key of each joined row, from the side that has it."""
    picked: NDArray[np.bool_] = rows[0] >= 0
    lefts, rights = left.tolist(), right.tolist()
    return Text.of(lefts[row] if mine else rights[other] for row, other, mine in zip(*rows, picked))
