"""JSON of the view of the course of steps."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict


class StepTimesJson(TypedDict):
    """One step, ns. gap + fp_bp + tail = total where all are known. `start_ns`: begin of the gap, after base_ns.
    `reduce_ns`: time in which anything communicates, whatever happens beside."""

    step: Optional[str]
    start_ns: Optional[int]
    total_ns: Optional[int]
    gap_ns: Optional[int]
    fp_bp_ns: Optional[int]
    tail_ns: Optional[int]
    reduce_ns: Optional[int]


class ReduceJson(TypedDict):
    """A communication operator of the chosen step, ns; `offset_ns`: after the step's start."""

    stream_id: Optional[int]
    name: Optional[str]
    offset_ns: int
    dur_ns: int


class StepTraceJson(TypedDict):
    """params: step (empty: the mean), device (empty: the first of several). `devices`: whose steps are known; `device`: the one that
    is shown, null where there are not several. tables: "steps" (the columns of StepTimesJson). `method`: "points" as recorded;
    "kernels": gap is Preparing, else the time since the last kernel of the step before, forward and backward end with
    the last kernel that computes; "figures": step_trace_time.csv alone. `mean`: over `averaged` steps, all but the
    first. `recorded`: the average in the file, for comparison. `reduces`: of the chosen step."""

    source: str
    devices: list[int]
    device: Optional[int]
    method: Literal["points", "kernels", "figures"]
    steps: list[StepTimesJson]
    mean: StepTimesJson
    averaged: int
    recorded: Optional[StepTimesJson]
    chosen: Optional[str]
    reduces: list[ReduceJson]
    fp_point: Optional[str]
    bp_point: Optional[str]
