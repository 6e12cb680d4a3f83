"""What readers add to the table of steps, and what they take from it. Source: specs/ascend_pt.md 4.9."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.steps import starts_of
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tb_npu_plugin.tables import NULL_INT, Table


def with_known_times(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables; in step_trace with the start of each step on the device, and without preparing that is none."""
    steps = tables.get("step_trace")
    if steps is None:
        return tables
    return {**tables, "step_trace": _with_starts(_with_known_preparing(steps), tables.get("kernels"))}


def _with_known_preparing(steps: Table) -> Table:
    """The preparation of a step that neither computed nor communicated is unknown. torch_npu counts it to -1 us after 1970
    then: it took minus 50 years, and steps with it began 50 years late."""
    if not all(map(steps.has, ("computing", "communication", "preparing"))):
        return steps
    idle = (steps.ints("computing") == 0) & (steps.ints("communication") == 0)
    if not idle.any():
        return steps
    return Table(steps.columns, {**steps.data, "preparing": np.where(idle, NULL_INT, steps.ints("preparing"))})


def _with_starts(steps: Table, kernels: Table | None) -> Table:
    """With the column start_ns, from the kernels."""
    if kernels is None or steps.has(STEP_START.key):
        return steps
    starts = starts_of(kernels)
    by_step = {step: start for (_, step), start in sorted(starts.items(), key=lambda item: -item[1])}
    names, devices = steps.text("step").tolist(), steps.ints("device_id").tolist()
    found = [
        starts.get((device, name), NULL_INT)
        if kernels.has("device_id") and device != NULL_INT
        else by_step.get(name, NULL_INT)
        for name, device in zip(names, devices)
    ]
    return steps.with_columns([(STEP_START, np.array(found, dtype=np.int64))])
