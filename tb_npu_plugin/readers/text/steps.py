"""Completes and corrects the table of steps.
Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.steps.partition import extents_of, from_step_trace
from tb_npu_plugin.schema.torch_npu_csv import STEP_LEAD, STEP_START
from tb_npu_plugin.tables import NULL_INT, Table


def with_known_times(tables: dict[str, Table], is_marked: bool = False) -> dict[str, Table]:
    """Add the starts of each step on device and host to step_trace. is_marked:
    steps are bounded by their host marks, as in MindSpore, instead of by what they launched."""
    steps, kernels = tables.get("step_trace"), tables.get("kernels")
    if steps is None:
        return tables
    if kernels is not None and not steps.has(STEP_START.key):
        steps = _with_starts(steps, kernels, is_marked)
    return {**tables, "step_trace": steps}


def _with_starts(steps: Table, kernels: Table, is_marked: bool) -> Table:
    """Add the columns start_ns and lead_ns, computed from the kernels."""
    names, devices = steps.text("step").tolist(), steps.ints("device_id").tolist()
    totals = [step.total_ns for step in from_step_trace(steps)]
    preparing = steps.ints("preparing").tolist()
    extents = extents_of(kernels)
    any_device = {step: extent for (_, step), extent in sorted(extents.items(), key=lambda item: -item[1][0])}
    starts, leads = [NULL_INT] * len(steps), [NULL_INT] * len(steps)
    for device in set(devices):
        found = [
            (*extent, row)
            for row in range(len(steps))
            if devices[row] == device
            and (extent := extents.get((device, names[row])) or any_device.get(names[row])) is not None
        ]
        found.sort()
        own = [first for first, _, _ in found]
        if is_marked:  # no free time before the very first task
            own[1:] = [first - max(0, preparing[row]) for first, _, row in found[1:]]
        else:
            own = _starts([(first, last, totals[row]) for first, last, row in found])
        for (first, _, row), start in zip(found, own):
            starts[row], leads[row] = start, first - start
    return steps.with_columns(
        [(STEP_START, np.array(starts, dtype=np.int64)), (STEP_LEAD, np.array(leads, dtype=np.int64))]
    )


def _starts(steps: Sequence[tuple[int, int, int | None]]) -> list[int]:
    """Return the starts of the steps of a device. steps: (start of first task, end of last task, step time), ns. Free
    time between two steps belongs entirely to the first one, to the second one (if the device still ran when the first
    one ended on the host), or to neither: the choice that best explains step time minus task time is used."""
    out: list[int] = []
    is_taken = True  # the previous step takes the free time before this one
    for at, (first, last, total) in enumerate(steps):
        before = 0 if is_taken else max(0, first - steps[at - 1][1])
        behind = max(0, steps[at + 1][0] - last) if at + 1 < len(steps) else 0
        more = 0 if total is None else total - (last - first)
        leads, trails = min(
            ((lead, trail) for lead in (False, True) for trail in (False, True)),
            key=lambda choice: abs(more - before * choice[0] - behind * choice[1]),
        )
        out.append(first - before if leads else first)
        is_taken = trails
    return out
