"""Step budgets of a span, which several views show."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from tb_npu_plugin.analysis import steps as analysis
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.views.contract import StepJson


def steps_of(span: SpanData) -> tuple[list[StepJson], str | None]:
    """Step budgets and the file they come from: step_trace_time.csv, else computed from the kernels."""
    trace = span.table("step_trace")
    if trace is not None and len(trace):
        return [_step_json(step) for step in analysis.from_step_trace(trace)], span.source("step_trace")
    kernels = span.table("kernels")
    if kernels is not None and len(kernels):
        return [_step_json(step) for step in analysis.from_kernels(kernels)], span.source("kernels")
    return [], None


def _step_json(step: analysis.Step) -> StepJson:
    return cast(StepJson, asdict(step))
