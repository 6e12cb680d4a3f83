"""JSON of the view of the course of steps."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict


class StepTimesJson(TypedDict):
    """One step, ns; see analysis.step_trace.StepTimes. `start_ns`: after base_ns."""

    step: Optional[str]
    start_ns: Optional[int]
    total_ns: Optional[int]
    gap_ns: Optional[int]
    fp_bp_ns: Optional[int]
    tail_ns: Optional[int]
    reduce_ns: Optional[int]
    preparing_ns: Optional[int]
    exposed_preparing_ns: Optional[int]


class ReduceJson(TypedDict):
    """A communication operator of the chosen step, ns; `offset_ns`: after the step's start."""

    stream_id: Optional[int]
    name: Optional[str]
    offset_ns: int
    dur_ns: int


class StepTraceJson(TypedDict):
    """params: step (empty: the mean), device (empty: the first of several). `devices`: whose steps are known; `device`: the one that
    is shown, null where there are not several. tables: "steps" (the columns of StepTimesJson). `method`: "points" as recorded,
    the gap first; "kernels": forward and backward end with the last kernel that computes, the gap is last; "figures":
    step_trace_time.csv alone. `mean`: over the steps `averaged`. `recorded`: the average in the file, for comparison.
    `reduces`: of the chosen step."""

    source: str
    devices: list[int]
    device: Optional[int]
    method: Literal["points", "kernels", "figures"]
    steps: list[StepTimesJson]
    mean: StepTimesJson
    averaged: list[Optional[str]]
    recorded: Optional[StepTimesJson]
    chosen: Optional[str]
    reduces: list[ReduceJson]
    fp_point: Optional[str]
    bp_point: Optional[str]
