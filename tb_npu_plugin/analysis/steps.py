"""Where the time of a step goes on the device: from step_trace_time.csv, or computed from the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels import is_communication
from tb_npu_plugin.tables import NULL_INT, Table, known

#: Figures of a step, ns. computing + communication_not_overlapped + free = stage + bubble (within 0.5 us in files).
FIGURES = (
    "computing",
    "communication_not_overlapped",
    "overlapped",
    "communication",
    "free",
    "stage",
    "bubble",
    "preparing",
)


@dataclass(frozen=True)
class Step:
    """One device and step. None is unknown; `step` None: the profile has no step marks."""

    step: Optional[str]
    device_id: Optional[int]
    computing: Optional[int]
    communication_not_overlapped: Optional[int]
    overlapped: Optional[int]
    communication: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]


def from_step_trace(table: Table) -> list[Step]:
    """Every row of step_trace_time.csv, as it stands."""
    steps = table.text("step")
    devices, figures = table.ints("device_id"), [table.ints(name) for name in FIGURES]
    return [
        Step(steps[row], _known(devices[row]), *(_known(figure[row]) for figure in figures))
        for row in range(len(table))
    ]


def from_kernels(kernels: Table) -> list[Step]:
    """The same figures from the kernels of each device and step. Time that several streams use at once counts once;
    free is what neither computes nor communicates between the first start and the last end; stage is that range.
    bubble and preparing cannot be told from kernels. Rows of no step are left out where others have one."""
    steps, devices = kernels.text("step"), kernels.ints("device_id")
    if (steps.codes >= 0).any():
        kernels = kernels.take(steps.codes >= 0)
        steps, devices = kernels.text("step"), kernels.ints("device_id")
    groups = Groups([devices, steps], len(kernels))
    return [_budget(kernels.take(rows), steps[int(rows[0])], _known(devices[rows[0]])) for rows in groups.rows()]


def _budget(kernels: Table, step: str | None, device_id: int | None) -> Step:
    kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
    start = kernels.ints("start_ns")
    end = start + kernels.ints("dur_ns")
    communicates = is_communication(kernels)
    computing = intervals.union(start[~communicates], end[~communicates])
    communication = intervals.union(start[communicates], end[communicates])
    overlapped = intervals.overlap(communication, computing).total
    stage = int(end.max() - start.min()) if len(start) else None
    busy = computing.total + communication.total - overlapped
    return Step(
        step=step,
        device_id=device_id,
        computing=computing.total,
        communication_not_overlapped=communication.total - overlapped,
        overlapped=overlapped,
        communication=communication.total,
        free=None if stage is None else stage - busy,
        stage=stage,
        bubble=None,
        preparing=None,
    )


def _known(value: np.int64) -> int | None:
    return None if value == NULL_INT else int(value)
