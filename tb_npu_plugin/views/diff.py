"""Diff: compares two captures by step and operator class, by operator, and by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Optional, TypedDict

import numpy as np

from tb_npu_plugin.analysis.comparison import diff as analysis
from tb_npu_plugin.analysis.comparison.step_classes import (
    ClassDifference,
    ClassTimes,
    StepKernels,
    by_class,
    class_times,
    mean_classes,
)
from tb_npu_plugin.analysis.comparison.tables import api_calls, by_shape, memory_peaks
from tb_npu_plugin.analysis.comparison.tables import by_type as by_type_table
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.step_waits import NO_WAITING, StepPlace, StepWaiting, waiting_of_span
from tb_npu_plugin.analysis.steps.iterations import IterationGroup, groups_of, kinds_of, main_groups
from tb_npu_plugin.analysis.steps.of_span import are_computed, averaged_of_span, steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import parts_of
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message, Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable


class DiffSideJson(TypedDict):
    """One of the captures."""

    name: str
    """Its letter: "A" for the first."""
    span: str
    """Token of the span."""
    run: str
    """Name of the run."""
    worker: str
    """Name of the worker."""
    label: str
    """Label of the span."""
    rank: Optional[int]
    """Rank in the job."""
    step_count: int
    """Numbered steps; a step of several devices counts once."""


class DiffStepJson(TypedDict):
    """A pair of steps: the n-th step of each side, or the means of iterations with the same phase and number of requests.
    Times are device times; for several devices, their mean."""

    id: str
    """Number of the baseline's step, or phase and requests, as in "decode 32"; "mean": the mean steps; "*": the whole captures."""
    baseline_step: Optional[str]
    """Step number, or phase and requests; null for a mean or the whole capture."""
    experimental_step: Optional[str]
    """As `baseline_step`."""
    baseline_count: int
    """Number of steps; a mean leaves out an incomplete last step."""
    experimental_count: int
    """Number of steps; a mean leaves out an incomplete last step."""
    baseline_ns: Optional[int]
    """Step time, the exact sum of its classes; null if a part is unknown (then class "idle" is absent)."""
    experimental_ns: Optional[int]
    """As `baseline_ns`."""
    classes: list[ClassDifference]
    """Operator classes, in a fixed order."""
    unknown: list[str]
    """Classes whose time is unknown on a side, "waiting" or "bubble": it is part of class "communication"."""


class DiffSumJson(TypedDict):
    """Sum of all rows of a table of times."""

    table: str
    """Name of the table."""
    ns: list[Optional[int]]
    """Of each capture; null if a row is unknown."""


class DiffJson(TypedDict):
    """Baseline and experimental capture.

    Tables: "operators" (name, baseline_calls, experimental_calls, and for each of device_self, device_total, host_self,
    host_total: baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X, changed_X; none where the frameworks differ),
    "kernels" (class, name, type, core, group, baseline_calls, experimental_calls, baseline_ns, experimental_ns, difference_ns,
    ratio, changed; by type where the formats differ), "calls" (each call of a collective: name, group, number, then as "kernels"), "types" and
    "shapes" (computing kernels: type, and input_shapes), "api" (level, name; means of all steps), "memory" (component, figure
    "allocated" or "reserved", and X_bytes: peaks of the whole captures). ratio = difference / baseline. changed: "slower" or "faster" by at
    least 5 % of the baseline, or on one side only. Figures are per step; "operators" are means of all steps. Class "waiting" is
    part of "communication" unless it is known in all steps of both sides. Then it holds the waiting for other pipeline stages too.
    X_ns of the tables, as in "c_ns": the time in another capture, null if it lacks the step.
    Parameters: `pair` (letters of the two captures; the first and the last without), `step` (an id of `steps`, or a step of each
    capture, as in "10:12").
    """

    captures: list[DiffSideJson]
    """All captures."""
    baseline: DiffSideJson
    """The capture that the other one of the pair is compared with."""
    experimental: DiffSideJson
    """The other one."""
    period: Period
    """What the pairs are of: "iteration" if a side has iterations of a serving engine, else "step"."""
    shown: str
    """Id of the pair shown in the tables; default: the first."""
    steps: list[DiffStepJson]
    """Pairs of steps; the mean first."""
    sums: list[DiffSumJson]
    """Sums of "types", "shapes", "api" and "calls": whole durations, which may overlap."""


_NO_ROWS: IntArray = np.zeros(0, dtype=np.int64)
#: Names of the captures, in their order.
LETTERS = "ABCDEFGH"
PARAMS = (
    Param("step", doc="What the tables are of, an id of DiffJson.steps; empty: the first."),
    Param("pair", doc="The two captures that are compared, as in AB; empty: the first and the last."),
)
#: Ids of entries that are not a pair of steps.
MEAN, WHOLE = "mean", "*"


class _KernelRows:
    """Rows of kernels by step and by time, of each device."""

    def __init__(self, kernels: Table) -> None:
        steps, devices, count = kernels.text("step"), kernels.ints("device_id"), len(kernels)
        by_step, by_place, by_device = Groups([steps], count), Groups([steps, devices], count), Groups([devices], count)
        firsts = by_place.first
        places: list[StepPlace] = list(zip(steps.take(firsts).tolist(), devices[firsts].tolist()))
        on_any: list[StepPlace] = [(None, device) for device in devices[by_device.first].tolist()]
        of_step = zip(steps.take(by_step.first).tolist(), by_step.rows())
        self._of_step: dict[Optional[str], IntArray] = {**dict(of_step), None: np.arange(count)}
        self._of_place = dict(zip([*places, *on_any], [*by_place.rows(), *by_device.rows()]))
        self._by_time = {device: _by_time(kernels, rows) for (_, device), rows in zip(on_any, by_device.rows())}

    def recorded(self, row: Step) -> IntArray:
        """Of a step and its device; of any device if none is of its own. All kernels without a step."""
        own = None if row.device_id is None else self._of_place.get((row.step, row.device_id))
        return self._of_step.get(row.step, _NO_ROWS) if own is None else own

    def running(self, row: Step) -> IntArray:
        """Those that run in a step, on its device, by start."""
        (low, high), device = _window(row), NULL_INT if row.device_id is None else row.device_id
        if device not in self._by_time:
            return _NO_ROWS
        rows, start, end, reach = self._by_time[device]
        stretch = slice(int(np.searchsorted(reach, low)), int(np.searchsorted(start, high)))
        return rows[stretch][end[stretch] >= low]


def _by_time(kernels: Table, rows: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """(row, start, end, latest end so far) of kernels whose start is known, by start."""
    rows = rows[known(kernels.ints("start_ns")[rows])]
    rows = rows[np.argsort(kernels.ints("start_ns")[rows], kind="stable")]
    start, dur = kernels.ints("start_ns")[rows], kernels.ints("dur_ns")[rows]
    end = start + np.where(known(dur), dur, 0)
    return rows, start, end, np.maximum.accumulate(end)


@dataclass(frozen=True)
class _Side:
    """Steps of one side, one row per device, and its kernels."""

    span: SpanData
    steps: list[Step]
    kernels: Table | None
    waiting: Mapping[StepPlace, StepWaiting]

    @cached_property
    def names(self) -> list[str]:
        """Distinct step names."""
        return list(dict.fromkeys(step.step for step in self.steps if step.step is not None))

    @cached_property
    def averaged(self) -> list[Step]:
        """Rows that enter the mean step."""
        return averaged_of_span(self.span, self.steps)

    def rows(self, step: str) -> list[Step]:
        """Rows of one step."""
        return self._rows_by_step[step]

    def rows_of(self, group: IterationGroup) -> list[Step]:
        """Rows of all iterations of a group."""
        return [row for step in group.steps for row in self._rows_by_step.get(step, ())]

    @cached_property
    def _rows_by_step(self) -> Mapping[str | None, list[Step]]:
        found: dict[str | None, list[Step]] = {}
        for row in self.steps:
            found.setdefault(row.step, []).append(row)
        return found

    def kernels_of(self, rows: Sequence[Step]) -> Table:
        """Kernels of steps; all kernels if none belongs to these steps."""
        assert self.kernels is not None
        if self.is_computed:
            start = self.kernels.ints("start_ns")
            chosen = np.zeros(len(self.kernels), dtype=np.bool_)
            for row in rows:
                own, window = self._rows_of_kernels(row), _window(row)
                chosen[own[(window[0] <= start[own]) & (start[own] < window[1])]] = True
        else:
            chosen = self.kernels.text("step").isin([row.step for row in rows if row.step is not None])
        return self.kernels.take(chosen) if chosen.any() else self.kernels

    @cached_property
    def classes(self) -> dict[StepPlace, ClassTimes]:
        """Operator classes of each row of `steps`."""
        of = None
        if self.kernels is not None:
            windows = np.array([_window(row) for row in self.steps]) if self.is_computed else None
            of = StepKernels(self.kernels, [self._rows_of_kernels(row) for row in self.steps], windows)
        found = class_times([self._times_of(row) for row in self.steps], of)
        return {(row.step, row.device_id): one for row, one in zip(self.steps, found)}

    def _times_of(self, row: Step) -> dict[str, Optional[int]]:
        waiting = self.waiting.get((row.step, row.device_id), NO_WAITING)
        parts = parts_of(row, waiting.exposed_waiting, waiting.bubble_beside)
        return {**vars(row), "waiting": parts.waiting, "bubble": parts.bubble}

    def _rows_of_kernels(self, row: Step) -> IntArray:
        """Rows of `kernels` that belong to a step; of a computed step, those that run in it."""
        return self._kernel_rows.running(row) if self.is_computed else self._kernel_rows.recorded(row)

    @cached_property
    def _kernel_rows(self) -> _KernelRows:
        assert self.kernels is not None
        return _KernelRows(self.kernels)

    @cached_property
    def is_computed(self) -> bool:
        """Whether steps were computed: then all kernels that run in a step count, whichever step launched them. Those of an
        iteration are what it launched."""
        return are_computed(self.span) and not self.groups

    @cached_property
    def groups(self) -> list[IterationGroup]:
        """Iterations by phase and number of requests; [] if steps are no iterations."""
        return groups_of(self.span)


@dataclass(frozen=True)
class Comparison:
    """A comparison: of each capture the name of the step (None: several steps) and its rows, none if it lacks the step, and the
    divisors of their sums."""

    id: str
    names: tuple[Optional[str], ...]
    rows: tuple[Sequence[Step], ...]
    by: analysis.Divisors

    def is_lacking(self, rows: Sequence[Step]) -> bool:
        """Whether a capture of these rows lacks the step."""
        return self.id not in (MEAN, WHOLE) and not rows


class Pair(NamedTuple):
    """Numbers of the two captures that are compared."""

    before: int
    after: int


def build(source: ViewInput) -> ViewResult:
    """See DiffJson."""
    pair = chosen_pair(source)
    sides = sides_of(source)
    choices, shown = choices_of(source, sides, pair)
    captures = [_side_json(side, letter) for side, letter in zip(sides, LETTERS)]
    before, after = sides[pair.before], sides[pair.after]
    tables = _tables(sides, pair, shown)
    data: DiffJson = {
        "captures": captures,
        "baseline": captures[pair.before],
        "experimental": captures[pair.after],
        "period": "iteration" if before.groups or after.groups else "step",
        "shown": shown.id,
        "steps": [_step_json(choice, sides, pair) for choice in choices] if before.steps and after.steps else [],
        "sums": [_sum_json(name, tables[name].table, len(sides), pair) for name in _SUMMED if name in tables],
    }
    return ViewResult(data, tables, 0)


#: Tables whose rows can be added up.
_SUMMED = ("types", "shapes", "api", "calls")


def _sum_json(name: str, table: Table, count: int, pair: Pair) -> DiffSumJson:
    keys = [f"{letter.lower()}_ns" for letter in LETTERS[:count]]
    keys[pair.before], keys[pair.after] = "baseline_ns", "experimental_ns"
    times = [table.ints(key) for key in keys]
    return {"table": name, "ns": [int(one.sum()) if known(one).all() else None for one in times]}


def chosen_pair(source: ViewInput) -> Pair:
    """The captures of the parameter `pair`. Raises BadRequest."""
    text = source.params.get("pair", "") or LETTERS[0] + LETTERS[len(source.spans) - 1]
    known_letters = LETTERS[: len(source.spans)]
    if len(text) != 2 or any(letter not in known_letters for letter in text):
        raise BadRequest(Message("error.pair", pair=repr(text[:80])), Message("hint.pair", letters=known_letters))
    return Pair(*map(known_letters.index, text))


def sides_of(source: ViewInput) -> list[_Side]:
    """All captures."""
    tables = [span.table("kernels") for span in source.spans]
    are_known = all(table is not None for table in tables)
    steps = [steps_and_source(span)[0] for span in source.spans]
    waits = _waiting(source, steps)
    return [
        _Side(span, own, table if are_known else None, waiting)
        for span, own, table, waiting in zip(source.spans, steps, tables, waits)
    ]


def _waiting(source: ViewInput, steps: Sequence[Sequence[Step]]) -> list[Mapping[StepPlace, StepWaiting]]:
    """Waiting of the steps of each capture; {} unless it is known in all steps of all captures."""
    ranks = [source.ranks_of(at) for at in range(len(source.spans))]
    keys = [frozenset(map(id, one)) for one in ranks]
    runs = {key: RunCommunication(one) for key, one in zip(keys, ranks)}
    found = [waiting_of_span(span, runs[key]) for span, key in zip(source.spans, keys)]
    is_known = all(
        waits.get((step.step, step.device_id), NO_WAITING).exposed_waiting is not None
        for waits, own in zip(found, steps)
        for step in own
    )
    return list(found) if is_known else [{} for _ in found]


def choices_of(source: ViewInput, sides: Sequence[_Side], pair: Pair) -> tuple[list[Comparison], Comparison]:
    """All choices of steps, and the one of the parameter `step`. Raises BadRequest."""
    choices, step = _choices(sides, pair), source.params.get("step", "")
    names = step.split(":")
    if len(names) == len(sides) > 1 and all(name in side.names for name, side in zip(names, sides)):
        choices.append(_per_step(step, tuple(names), [side.rows(name) for name, side in zip(names, sides)]))
    for choice in choices:
        if step in ("", choice.id):
            return choices, choice
    raise BadRequest(Message("error.step_pair", step=repr(step[:80])), Message("hint.step_id"))


def _choices(sides: Sequence[_Side], pair: Pair) -> list[Comparison]:
    """The mean steps and the n-th steps, or iterations with the same phase and number of requests; the whole captures if one of the
    pair has no step marks."""
    both = [sides[at] for at in pair]
    none = (None,) * len(sides)
    whole = Comparison(WHOLE, none, tuple(side.steps for side in sides), (1,) * len(sides))
    if any(side.groups for side in both):
        return _of_iterations(sides, pair) or [whole]
    if not all(side.names for side in both):
        return [whole]
    count = min(len(side.names) for side in both)
    nth = [[side.names[at] if at < len(side.names) else None for side in sides] for at in range(count)]
    steps = [
        _per_step(
            names[pair.before] or "",
            tuple(names),
            [() if name is None else side.rows(name) for side, name in zip(sides, names)],
        )
        for names in nth
    ]
    mean = _per_step(MEAN, none, [side.averaged for side in sides])
    return steps if all(len(side.names) == 1 for side in both) else [mean, *steps]


def _of_iterations(sides: Sequence[_Side], pair: Pair) -> list[Comparison]:
    """The means of the phase with the most device time, if it is the same, and those of each group that both captures have."""
    mains = [main_groups(sides[at].groups) for at in pair]
    out = []
    if all(mains) and mains[0][0].phase == mains[1][0].phase:
        out.append(_per_step(MEAN, (None,) * len(sides), [side.averaged for side in sides]))
    kinds = [kinds_of(side.groups) for side in sides]
    for kind in kinds[pair.before]:
        if kind in kinds[pair.after]:
            name = " ".join("?" if one is None else str(one) for one in kind)
            rows = [side.rows_of(of[kind]) if kind in of else () for side, of in zip(sides, kinds)]
            out.append(_per_step(name, (name,) * len(sides), rows))
    return out


def _per_step(id: str, names: tuple[Optional[str], ...], rows: Sequence[Sequence[Step]]) -> Comparison:
    return Comparison(id, names, tuple(rows), tuple(max(1, len(one)) for one in rows))


def _step_json(choice: Comparison, all_sides: Sequence[_Side], pair: Pair) -> DiffStepJson:
    before, after = (
        mean_classes([all_sides[at].classes[row.step, row.device_id] for row in choice.rows[at]], choice.by[at])
        for at in pair
    )
    counts = [len({row.step for row in choice.rows[at]}) for at in pair]
    return {
        "id": choice.id,
        "baseline_step": choice.names[pair.before],
        "experimental_step": choice.names[pair.after],
        "baseline_count": counts[0],
        "experimental_count": counts[1],
        "baseline_ns": before.total,
        "experimental_ns": after.total,
        "classes": list(by_class(before, after)),
        "unknown": sorted(before.unknown | after.unknown),
    }


def _window(step: Step) -> tuple[int, int]:
    """Start and end of a computed step, ns."""
    assert step.start_ns is not None and step.stage is not None
    return step.start_ns, step.start_ns + step.stage


def _tables(sides: Sequence[_Side], pair: Pair, shown: Comparison) -> dict[str, ViewTable]:
    tables = {}
    frameworks = {FORMATS[side.span.format].framework for side in sides}
    compared = analysis.Compared(LETTERS[: len(sides)], *pair)
    own = [table for side in sides if (table := side.span.table("operators")) is not None]
    if len(own) == len(sides) and len(frameworks) == 1:
        counts = tuple(len(side.names) for side in sides)
        tables["operators"] = _operators(own, compared, counts if all(counts) else (1,) * len(sides))
    if sides[0].kernels is not None:
        by_type = len({side.span.format for side in sides}) > 1  # kernel names differ between profilers and devices
        found = [
            analysis.Side(None if shown.is_lacking(rows) else side.kernels_of(rows), side.span.capture.groups)
            for side, rows in zip(sides, shown.rows)
        ]
        tables["kernels"] = ViewTable(analysis.kernels(found, compared, by_type, shown.by), "difference_ns")
        kernels = [one.kernels for one in found]
        more = {
            "calls": None if by_type else analysis.calls(found, compared, shown.by),
            "types": by_type_table(kernels, compared, shown.by),
            "shapes": None if by_type else by_shape(kernels, compared, shown.by),
        }
        tables.update({name: ViewTable(one, "difference_ns") for name, one in more.items() if one is not None})
    if (apis := _of_all(sides, "api_statistic")) is not None:
        counts = tuple(max(1, len(side.names)) for side in sides)
        tables["api"] = ViewTable(api_calls(apis, compared, counts), "difference_ns")
    if (records := _of_all(sides, "memory_record")) is not None:
        tables["memory"] = ViewTable(memory_peaks(records, compared), "difference_bytes")
    return tables


def _of_all(sides: Sequence[_Side], name: str) -> Optional[list[Table]]:
    """A table of each capture; None unless all have it."""
    found = [table for side in sides if (table := side.span.table(name)) is not None and len(table)]
    return found if len(found) == len(sides) else None


def _operators(tables: Sequence[Table], compared: analysis.Compared, by: analysis.Divisors) -> ViewTable:
    """Sorted by the difference of device self time, or of host self time if nothing ran on a device."""
    table = analysis.operators(tables, compared, by)
    on_device = any((table.ints(f"{side}_device_self_ns") > 0).any() for side in ("baseline", "experimental"))
    return ViewTable(table, "difference_device_self_ns" if on_device else "difference_host_self_ns")


def _side_json(side: _Side, letter: str) -> DiffSideJson:
    span = side.span
    return {
        "name": letter,
        "span": span.token,
        "run": span.run_label,
        "worker": span.worker_label,
        "label": span.label,
        "rank": span.capture.rank,
        "step_count": len(side.names),
    }


VIEW = View(
    id="diff",
    scope="diff",
    needs=(("kernels", "operators", "step_trace"),),
    build=build,
    contract=DiffJson,
    with_trace=True,
    with_ranks=True,
    params=PARAMS,
)
