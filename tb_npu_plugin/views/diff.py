"""Diff: two captures side by side, by step and operator class, by operator, by kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
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

Pair = tuple[Optional[str], Optional[str]]
Steps = tuple[Sequence[StepJson], Sequence[StepJson]]


def build(source: ViewInput) -> ViewResult:
    """See DiffJson."""
    baseline, experimental = source.spans
    steps = (steps_of(baseline)[0], steps_of(experimental)[0])
    kernels = _both(baseline, experimental, "kernels")
    pairs = _pairs(steps)
    data: DiffJson = {
        "baseline": _side(baseline, steps[0]),
        "experimental": _side(experimental, steps[1]),
        "steps": [] if kernels is None else _steps(pairs, kernels, steps),
    }
    tables = {}
    operators = _both(baseline, experimental, "operators")
    frameworks = {FORMATS[span.format].framework for span in source.spans}
    if operators is not None and len(frameworks) == 1:
        tables["operators"] = _operators(*operators)
    if kernels is not None:
        chosen = _of_pair(kernels, _chosen_pair(pairs, source.params.get("step", "")))
        by_type = baseline.format != experimental.format  # other recorders and devices name kernels in other ways
        tables["kernels"] = ViewTable(analysis.kernels(*chosen, by_type=by_type), "difference_ns")
    return ViewResult(data, tables, 0)


def _both(baseline: SpanData, experimental: SpanData, name: str) -> tuple[Table, Table] | None:
    """A table of both sides; None when a side lacks it: there is nothing to compare then."""
    before, after = baseline.table(name), experimental.table(name)
    return None if before is None or after is None else (before, after)


def _pairs(steps: Steps) -> list[Pair]:
    """The n-th steps of both sides, and (None, None), the whole spans, at the end."""
    names = [list(dict.fromkeys(step["step"] for step in side if step["step"] is not None)) for side in steps]
    return [*zip(*names), (None, None)]


def _chosen_pair(pairs: Sequence[Pair], step: str) -> Pair:
    if not step:
        return (None, None)
    for pair in pairs:
        if pair[0] == step:
            return pair
    raise BadRequest(f"step={step[:80]!r} is no step of a pair", "Give the baseline's step of a pair.")


def _of_pair(kernels: tuple[Table, Table], pair: Pair) -> tuple[Table, Table]:
    before, after = (table if step is None else of_step(table, step) for table, step in zip(kernels, pair))
    return before, after


def _steps(pairs: Sequence[Pair], kernels: tuple[Table, Table], steps: Steps) -> list[DiffStepJson]:
    sides = [analysis.class_sums(side) for side in kernels]
    nothing = analysis.ClassSums({}, {})
    out: list[DiffStepJson] = []
    for pair in pairs:
        before, after = (whole if step is None else own.get(step, nothing) for (whole, own), step in zip(sides, pair))
        found = analysis.by_class(before, after, (_free(steps[0], pair[0]), _free(steps[1], pair[1])))
        out.append(
            {
                "baseline_step": pair[0],
                "experimental_step": pair[1],
                "classes": [cast(DiffClassJson, asdict(entry)) for entry in found],
            }
        )
    return out


def _free(steps: Sequence[StepJson], step: str | None) -> int | None:
    """Free time of a step, or of all steps; None where one of them is unknown."""
    chosen = [entry["free"] for entry in steps if step is None or entry["step"] == step]
    known = [free for free in chosen if free is not None]
    return sum(known) if chosen and len(known) == len(chosen) else None


def _operators(baseline: Table, experimental: Table) -> ViewTable:
    """By difference of the device self time; of the host self time where nothing ran on a device."""
    table = analysis.operators(baseline, experimental)
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
        "kernels": None if kernels is None else len(kernels),
        "device_ns": None if kernels is None else total_ns(kernels),
    }


VIEW = View(
    id="diff",
    title="Diff",
    scope="diff",
    needs=(("kernels", "operators"),),
    build=build,
    params=(Param("step", doc='Table "kernels": the baseline\'s step of a pair; empty: the whole spans.'),),
)
