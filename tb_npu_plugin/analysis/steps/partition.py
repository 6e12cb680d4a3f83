"""Partitions step time on the device: from step_trace_time.csv, or computed from the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_communication, is_computing, is_copy
from tb_npu_plugin.intervals import Intervals
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tb_npu_plugin.tables import Column, IntArray, Table, from_lists, known, nullable

#: Figures of a step, ns. computing + communication_not_overlapped + copying + free = stage + bubble (within 0.5 us in
#: files).
FIGURES = (
    "computing",
    "communication_not_overlapped",
    "overlapped",
    "communication",
    "copying",
    "free",
    "stage",
    "bubble",
    "preparing",
)
#: Source of step times: the profiler's figures, device tasks, or recorded points of each step.
StepSource = Literal["recorded", "computed", "points"]
#: Files round Stage and Preparing to quarters of a microsecond: smaller values are rounding errors.
_ROUNDING_NS = 500


@dataclass(frozen=True)
class Step:
    """One device and step. None: unknown; `step` None: the profile has no step marks.

    start_ns: start on the device; lead_ns: from there to its first task. exposed_preparing: part of `preparing` outside
    all steps; the rest overlaps the previous step and must not count twice.
    """

    step: Optional[str]
    device_id: Optional[int]
    computing: Optional[int]
    communication_not_overlapped: Optional[int]
    overlapped: Optional[int]
    communication: Optional[int]
    copying: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]
    start_ns: Optional[int] = None
    lead_ns: Optional[int] = None
    exposed_preparing: Optional[int] = None

    @property
    def total_ns(self) -> int | None:
        """Step time: the sum of its parts. Stage excludes the bubble and is rounded."""
        if self.computing is None or self.communication_not_overlapped is None or self.free is None:
            return None if self.stage is None else self.stage + (self.bubble or 0)
        return self.computing + self.communication_not_overlapped + (self.copying or 0) + self.free


def from_step_trace(table: Table) -> list[Step]:
    """Every row of step_trace_time.csv, unchanged."""
    figures = [nullable(table.ints(name)) for name in ("device_id", *FIGURES, "start_ns", "lead_ns")]
    return _with_exposed_preparing([Step(*row) for row in zip(table.text("step").tolist(), *figures)])


def _with_exposed_preparing(steps: Sequence[Step]) -> list[Step]:
    """Set exposed_preparing. For a device's first step it is all of preparing."""
    exposed: dict[int, int | None] = {}
    is_recorded = any(step.preparing is not None for step in steps)
    for device in {step.device_id for step in steps} if is_recorded else ():
        own = [at for at, step in enumerate(steps) if step.device_id == device]
        reached: int | None = None  # end of the previous steps; None: unknown
        for number, at in enumerate(sorted(own, key=lambda at: _order(steps[at]))):
            start, length, preparing = steps[at].start_ns, steps[at].total_ns, steps[at].preparing
            end = None if start is None or length is None else start + length
            if number == 0:
                exposed[at], reached = preparing, end
                continue
            if start is None or preparing is None or reached is None:
                exposed[at] = None
            else:  # from the host mark, outside all steps
                before = min(preparing - (steps[at].lead_ns or 0), start - reached)
                exposed[at] = before if before > _ROUNDING_NS else 0
            reached = None if end is None or reached is None else max(reached, end)
    return [
        step if exposed.get(at) is None else replace(step, exposed_preparing=exposed[at])
        for at, step in enumerate(steps)
    ]


def _order(step: Step) -> tuple[int, int, str]:
    """Sort key: the start, or the number if it is unknown."""
    name = step.step or ""
    return step.start_ns or 0, len(name), name


def averaged_steps(devices: Sequence[int | None], source: StepSource) -> list[int]:
    """Indices of the steps that enter the mean, given the device of each step; steps of a device are sorted by time.

    With recorded times, all enter. A device's last computed step is incomplete, as it ends with its last task. The
    first step with recorded points has no gap before it. A single step always enters.
    """
    out = []
    for device in dict.fromkeys(devices):
        own = [at for at, one in enumerate(devices) if one == device]
        if len(own) > 1 and source != "recorded":
            own = own[1:] if source == "points" else own[:-1]
        out += own
    return sorted(out)


def extents_of(kernels: Table) -> dict[tuple[int | None, str | None], tuple[int, int]]:
    """Start of the first and end of the last device task of each device and step, ns."""
    kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
    devices, steps, starts = kernels.ints("device_id"), kernels.text("step"), kernels.ints("start_ns")
    groups = Groups([devices, steps], len(kernels))
    firsts, lasts = groups.min(starts).tolist(), groups.max(starts + kernels.ints("dur_ns")).tolist()
    return {
        (device, steps[row]): extent
        for device, row, extent in zip(nullable(devices[groups.first]), groups.first.tolist(), zip(firsts, lasts))
    }


def from_kernels(kernels: Table, are_iterations: bool = False) -> list[Step]:
    """The same figures computed from kernels, by device.

    A step lasts from the start of its first kernel to that of the device's next step; the last one ends with its last
    kernel. So steps do not overlap. Iterations of a serving engine end with their own last kernel: between them there
    may be no requests. Everything that runs in this time on any stream counts, whichever step launched it.
    Copying is the time in which only copies run, unknown if no copy was recorded. Bubble and preparing are unknown.
    Without step marks, the capture is one step.
    """
    kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
    has_steps = bool((kernels.text("step").codes >= 0).any())
    out: list[Step] = []
    for part in _by_device(kernels):
        out += _of_device(part, has_steps, are_iterations)
    return out


def table_of(steps: Sequence[Step], *more: Column) -> Table:
    """The steps as table step_trace. more: its columns that not all formats have."""
    rows = [asdict(step) for step in steps]
    columns = [column for column in (*TABLES["step_trace"], *more, STEP_START) if column.key in Step.__annotations__]
    return from_lists(columns, {column.key: [row[column.key] for row in rows] for column in columns})


def _by_device(kernels: Table) -> list[Table]:
    groups = Groups([kernels.ints("device_id")], len(kernels))
    return [kernels] if len(groups) == 1 else [kernels.take(rows) for rows in groups.rows()]


def _of_device(kernels: Table, has_steps: bool, are_iterations: bool) -> list[Step]:
    named = kernels.take(kernels.text("step").codes >= 0) if has_steps else kernels
    if not len(named):
        return []
    steps, starts, ends = _bounds(named)
    if not are_iterations:
        ends = np.append(starts[1:], ends[-1])
    figures = _figures(kernels, starts, ends)
    (device,) = nullable(named.ints("device_id")[:1])
    return [
        Step(
            step=step,
            device_id=device,
            **{key: int(values[at]) for key, values in figures.items() if values is not None},
            **{key: None for key, values in figures.items() if values is None},
            bubble=None,
            preparing=None,
            start_ns=int(starts[at]),
        )
        for at, step in enumerate(steps)
    ]


def _bounds(kernels: Table) -> tuple[list[str | None], IntArray, IntArray]:
    """Steps of a device by their start, with the start of their first and the end of their last kernel, ns."""
    steps, start = kernels.text("step"), kernels.ints("start_ns")
    groups = Groups([steps], len(kernels))
    firsts = groups.min(start)
    order = np.argsort(firsts, kind="stable")
    lasts = groups.max(start + kernels.ints("dur_ns"))
    return steps.take(groups.first[order]).tolist(), firsts[order], lasts[order]


def _figures(kernels: Table, starts: IntArray, ends: IntArray) -> dict[str, IntArray | None]:
    """Times from each start to its end, ns."""
    start = kernels.ints("start_ns")
    end = start + kernels.ints("dur_ns")
    communicates, copies, computes = is_communication(kernels), is_copy(kernels), is_computing(kernels)

    def between(found: Intervals) -> IntArray:
        covered = intervals.Coverage(found)
        return covered.until(ends) - covered.until(starts)

    works = communicates | copies | computes
    busy = between(intervals.union(start[works], end[works]))
    computing = intervals.union(start[computes], end[computes])
    communication = intervals.union(start[communicates], end[communicates])
    overlapped = between(intervals.overlap(communication, computing))
    without_copies = between(intervals.merge(computing, communication)) if copies.any() else busy
    return {
        "computing": between(computing),
        "communication_not_overlapped": between(communication) - overlapped,
        "overlapped": overlapped,
        "communication": between(communication),
        "copying": busy - without_copies if copies.any() else None,
        "free": ends - starts - busy,
        "stage": ends - starts,
    }
