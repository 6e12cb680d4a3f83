"""Diff: two captures side by side, by step and operator class, by operator, by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import cast

from tb_npu_plugin.analysis import diff as analysis
from tb_npu_plugin.analysis.kernels import of_step
from tb_npu_plugin.analysis.step_classes import ClassTimes, by_class, class_times, mean
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.contract import DiffClassJson, DiffJson, DiffSideJson, DiffStepJson, StepJson
from tb_npu_plugin.views.steps import steps_of

#: Ids of what is no pair of steps.
MEAN, WHOLE = "mean", "*"


@dataclass(frozen=True)
class _Side:
    """Steps of one side, one row for each device, and its kernels."""

    span: SpanData
    steps: list[StepJson]
    kernels: Table | None

    @cached_property
    def names(self) -> list[str]:
        """Each named step once, also where several devices have it."""
        return list(dict.fromkeys(step["step"] for step in self.steps if step["step"] is not None))

    @cached_property
    def averaged(self) -> list[str]:
        """Names of the steps that the mean step is of, as in Step Trace: all but the last, whose gap to the next step is
        unknown. A lone one stands."""
        return self.names[:-1] or self.names

    def rows(self, names: Sequence[str]) -> list[StepJson]:
        """Those of some steps; none: of all."""
        return [row for row in self.steps if not names or row["step"] in names]

    def mean(self, names: Sequence[str], by: int) -> ClassTimes:
        """Classes of some steps (none: of all), divided by `by`."""
        return mean([times for row, times in self.classes if not names or row["step"] in names], by)

    def kernels_of(self, names: Sequence[str]) -> Table:
        """Kernels of some steps. Where no kernel belongs to any of these steps: all kernels."""
        assert self.kernels is not None
        chosen = self.kernels.text("step").isin(names)
        return self.kernels.take(chosen) if chosen.any() else self.kernels

    @cached_property
    def classes(self) -> list[tuple[StepJson, ClassTimes]]:
        """Of each row of `steps`."""
        return [(row, class_times(_parts(row), self._kernels_of_row(row))) for row in self.steps]

    def _kernels_of_row(self, row: StepJson) -> Table | None:
        if self.kernels is None:
            return None
        of_one = self.kernels if row["step"] is None else of_step(self.kernels, row["step"])
        devices = of_one.ints("device_id")
        own = devices == row["device_id"]
        return of_one.take(own) if row["device_id"] is not None and own.any() else of_one


@dataclass(frozen=True)
class _Shown:
    """One thing that can be compared: names of steps on both sides (none: whole captures), and by what sums are divided."""

    id: str
    names: tuple[Sequence[str], Sequence[str]]
    by: analysis.Divisors


def build(source: ViewInput) -> ViewResult:
    """See DiffJson."""
    tables = [span.table("kernels") for span in source.spans]
    both = all(table is not None for table in tables)
    before, after = (
        _Side(span, steps_of(span)[0], table if both else None) for span, table in zip(source.spans, tables)
    )
    choices = _choices(before, after)
    shown = _chosen(choices, source.params.get("step", ""))
    data: DiffJson = {
        "baseline": _side_json(before),
        "experimental": _side_json(after),
        "shown": shown.id,
        "steps": [_step_json(choice, before, after) for choice in choices] if before.steps and after.steps else [],
    }
    return ViewResult(data, _tables(before, after, shown), 0)


def _choices(before: _Side, after: _Side) -> list[_Shown]:
    """The mean step and the n-th steps of both sides; whole captures where a side has no marks of steps."""
    if not (before.names and after.names):
        return [_Shown(WHOLE, ((), ()), analysis.SUMS)]
    pairs = [
        _Shown(one, ([one], [other]), (len(before.rows([one])), len(after.rows([other]))))
        for one, other in zip(before.names, after.names)
    ]
    averaged = before.averaged, after.averaged
    mean = _Shown(MEAN, averaged, (len(before.rows(averaged[0])), len(after.rows(averaged[1]))))
    return pairs if len(before.names) == len(after.names) == 1 else [mean, *pairs]


def _chosen(choices: Sequence[_Shown], step: str) -> _Shown:
    for choice in choices:
        if step in ("", choice.id):
            return choice
    raise BadRequest(f"step={step[:80]!r} is no step of a pair", "Give an id of the view's steps; empty: the first.")


def _step_json(choice: _Shown, before: _Side, after: _Side) -> DiffStepJson:
    sides = [side.mean(names, by) for side, names, by in zip((before, after), choice.names, choice.by)]
    pair = (None, None) if choice.id in (MEAN, WHOLE) else (choice.names[0][0], choice.names[1][0])
    return {
        "id": choice.id,
        "baseline_step": pair[0],
        "experimental_step": pair[1],
        "baseline_ns": sides[0].total,
        "experimental_ns": sides[1].total,
        "classes": [cast(DiffClassJson, asdict(entry)) for entry in by_class(*sides)],
    }


def _parts(step: StepJson) -> Mapping[str, int | None]:
    return {name: value for name, value in step.items() if name != "step"}  # type: ignore[misc]


def _tables(before: _Side, after: _Side, shown: _Shown) -> dict[str, ViewTable]:
    tables = {}
    frameworks = {FORMATS[side.span.format].framework for side in (before, after)}
    first, second = (side.span.table("operators") for side in (before, after))
    if first is not None and second is not None and len(frameworks) == 1:
        counts = (len(before.names), len(after.names))
        tables["operators"] = _operators(first, second, counts if all(counts) else analysis.SUMS)
    if before.kernels is not None:
        chosen = [side.kernels_of(names) for side, names in zip((before, after), shown.names)]
        by_type = before.span.format != after.span.format  # other recorders and devices name kernels in other ways
        tables["kernels"] = ViewTable(analysis.kernels(chosen[0], chosen[1], by_type, shown.by), "difference_ns")
    return tables


def _operators(baseline: Table, experimental: Table, by: analysis.Divisors) -> ViewTable:
    """By difference of the device self time; of the host self time where nothing ran on a device."""
    table = analysis.operators(baseline, experimental, by)
    on_device = any((table.ints(f"{side}_device_self_ns") > 0).any() for side in ("baseline", "experimental"))
    return ViewTable(table, "difference_device_self_ns" if on_device else "difference_host_self_ns")


def _side_json(side: _Side) -> DiffSideJson:
    span = side.span
    return {
        "span": span.token,
        "run": span.run_label,
        "worker": span.worker_label,
        "label": span.label,
        "rank": span.capture.rank,
        "step_count": len(side.names),
    }


VIEW = View(
    id="diff",
    title="Diff",
    scope="diff",
    needs=(("kernels", "operators"),),
    build=build,
    contract=DiffJson,
    params=(
        Param(
            "step",
            doc="What the tables are of, an id of DiffJson.steps; empty: the first.",
        ),
    ),
)
