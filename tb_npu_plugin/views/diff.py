"""Diff: two captures side by side, by step and operator class, by operator, by kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Optional, cast

from tb_npu_plugin.analysis import diff as analysis
from tb_npu_plugin.analysis.kernels import of_step, total_ns
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.contract import DiffClassJson, DiffJson, DiffSideJson, DiffStepJson, StepJson
from tb_npu_plugin.views.steps import steps_of

#: Names of steps of both sides, the n-th of each; None: of all steps.
Pair = tuple[Optional[str], Optional[str]]
Steps = tuple[Sequence[StepJson], Sequence[StepJson]]
ALL: Pair = (None, None)
#: Ids of what is no pair of steps.
MEAN, WHOLE = "mean", "*"


@dataclass(frozen=True)
class _Shown:
    """One thing that can be compared: the figures of `pair`, divided by `by`."""

    id: str
    pair: Pair
    by: analysis.Divisors = analysis.SUMS


def build(source: ViewInput) -> ViewResult:
    """See DiffJson."""
    baseline, experimental = source.spans
    steps = (steps_of(baseline)[0], steps_of(experimental)[0])
    kernels = _both(baseline, experimental, "kernels")
    choices = _choices(steps)
    shown = _chosen(choices, steps, source.params.get("step", ""))
    data: DiffJson = {
        "baseline": _side(baseline, steps[0]),
        "experimental": _side(experimental, steps[1]),
        "shown": shown.id,
        "steps": [] if kernels is None else _steps(choices, kernels, steps),
    }
    tables = {}
    operators = _both(baseline, experimental, "operators")
    frameworks = {FORMATS[span.format].framework for span in source.spans}
    if operators is not None and len(frameworks) == 1:
        tables["operators"] = _operators(*operators, shown.by)
    if kernels is not None:
        chosen = _of_pair(kernels, shown.pair)
        by_type = baseline.format != experimental.format  # other recorders and devices name kernels in other ways
        tables["kernels"] = ViewTable(analysis.kernels(*chosen, by_type=by_type, by=shown.by), "difference_ns")
    return ViewResult(data, tables, 0)


def _both(baseline: SpanData, experimental: SpanData, name: str) -> tuple[Table, Table] | None:
    """A table of both sides; None when a side lacks it: there is nothing to compare then."""
    before, after = baseline.table(name), experimental.table(name)
    return None if before is None or after is None else (before, after)


def _names(steps: Sequence[StepJson]) -> list[str]:
    """Each step once, also where several devices tell its times."""
    return list(dict.fromkeys(step["step"] for step in steps if step["step"] is not None))


def _choices(steps: Steps) -> list[_Shown]:
    """The n-th steps of both sides, the mean step where a side has several, and the whole spans at the end."""
    before, after = (_names(side) for side in steps)
    choices = [_Shown(pair[0], pair) for pair in zip(before, after)]
    if before and after and (len(before) > 1 or len(after) > 1):
        choices.append(_Shown(MEAN, ALL, (len(before), len(after))))
    return [*choices, _Shown(WHOLE, ALL)]


def _chosen(choices: Sequence[_Shown], steps: Steps, step: str) -> _Shown:
    """Without a choice the whole spans; the mean step where one side recorded more steps than the other."""
    before, after = (len(_names(side)) for side in steps)
    wanted = step or (MEAN if before and after and before != after else WHOLE)
    for choice in choices:
        if choice.id == wanted:
            return choice
    raise BadRequest(f"step={step[:80]!r} is no step of a pair", "Give the baseline's step of a pair, mean or *.")


def _of_pair(kernels: tuple[Table, Table], pair: Pair) -> tuple[Table, Table]:
    before, after = (table if step is None else of_step(table, step) for table, step in zip(kernels, pair))
    return before, after


def _steps(choices: Sequence[_Shown], kernels: tuple[Table, Table], steps: Steps) -> list[DiffStepJson]:
    sides = [analysis.class_sums(side) for side in kernels]
    nothing = analysis.ClassSums({}, {})
    out: list[DiffStepJson] = []
    for choice in choices:
        pair, by = choice.pair, choice.by
        sums = [whole if step is None else own.get(step, nothing) for (whole, own), step in zip(sides, pair)]
        before, after = (analysis.mean_of(side, steps) for side, steps in zip(sums, by))
        idle = [_free(side, step, count) for side, step, count in zip(steps, pair, by)]
        found = analysis.by_class(before, after, (idle[0], idle[1]))
        out.append(
            {
                "id": choice.id,
                "baseline_step": pair[0],
                "experimental_step": pair[1],
                "classes": [cast(DiffClassJson, asdict(entry)) for entry in found],
            }
        )
    return out


def _free(steps: Sequence[StepJson], step: str | None, by: int) -> int | None:
    """Free time of a step, or of all steps divided by their number; None where one of them is unknown."""
    chosen = [entry["free"] for entry in steps if step is None or entry["step"] == step]
    known = [free for free in chosen if free is not None]
    return analysis.divided(sum(known), by) if chosen and len(known) == len(chosen) else None


def _operators(baseline: Table, experimental: Table, by: analysis.Divisors) -> ViewTable:
    """By difference of the device self time; of the host self time where nothing ran on a device."""
    table = analysis.operators(baseline, experimental, by)
    on_device = any((table.ints(f"{side}_device_self_ns") > 0).any() for side in ("baseline", "experimental"))
    return ViewTable(table, "difference_device_self_ns" if on_device else "difference_host_self_ns")


def _side(span: SpanData, steps: list[StepJson]) -> DiffSideJson:
    kernels = span.table("kernels")
    return {
        "span": span.token,
        "run": span.run_label,
        "worker": span.worker_label,
        "label": span.label,
        "rank": span.capture.rank,
        "steps": steps,
        "step_count": len(_names(steps)),
        "kernels": None if kernels is None else len(kernels),
        "device_ns": None if kernels is None else total_ns(kernels),
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
            doc='What the tables are of: the baseline\'s step of a pair ("kernels" alone), mean or *; empty: see DiffJson.shown.',
        ),
    ),
)
