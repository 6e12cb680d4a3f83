"""Steps of a trace: to which one a moment on the host belongs, and the budget of each on the GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.readers.kineto.picked import Picked
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, Text, from_lists


@dataclass(frozen=True)
class Steps:
    """The marks of the training loop on the host, by start. names: what follows ProfilerStep#."""

    start: IntArray
    end: IntArray
    names: list[str]

    @staticmethod
    def of(picked: Picked) -> Steps:
        """Read them."""
        events = picked.events
        rows = picked.steps[np.argsort(events.ts[picked.steps], kind="stable")]
        names = [events.names[code][len(STEP_MARK) :] for code in events.name[rows].tolist()]
        return Steps(events.ts[rows], events.ts[rows] + events.dur[rows], names)

    def at(self, moments: IntArray) -> Text:
        """The step in which each moment lies; unknown in none."""
        place = np.searchsorted(self.start, moments, side="right") - 1
        inside = (place >= 0) & (moments < np.append(self.end, NULL_INT)[place])
        names = Text.of(self.names)  # of several marks of one name each is that step
        return Text(np.where(inside, np.append(names.codes, -1)[place], -1).astype(np.int32), names.values)


def budgets(kernels: Table, steps: Steps) -> Table:
    """The table step_trace: one row per GPU and step. Kernels of NCCL communicate, the others compute, copies do
    neither; a step on the GPU lasts from the first to the last of its activities. What belongs to no step is left out
    where there are steps."""
    named = kernels.text("step")
    if (named.codes >= 0).any():
        kernels = kernels.take(named.codes >= 0)
    codes, devices = kernels.text("step").codes, kernels.ints("device_id")
    host = dict(zip(reversed(steps.names), reversed(steps.start.tolist())))  # of equal names the first
    columns = [column for column in TABLES["step_trace"] if column.key in _KEYS]
    out: dict[str, list[object]] = {key: [] for key in _KEYS}
    order = np.lexsort((codes, devices))  # stable: by start still
    last = np.flatnonzero((np.diff(codes[order]) != 0) | (np.diff(devices[order]) != 0)) + 1
    starts, durations, kinds = kernels.ints("start_ns"), kernels.ints("dur_ns"), kernels.text("core")
    for rows in np.split(order, last):
        step, device = kernels.text("step")[int(rows[0])], int(devices[rows[0]])
        for key, value in _budget(starts[rows], durations[rows], kinds.take(rows), host.get(step or "")).items():
            out[key].append(value)
        out["step"].append(step)
        out["device_id"].append(None if device == NULL_INT else device)
    return from_lists(columns, out)


_KEYS = (
    "device_id", "step", "computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage",
    "preparing",
)  # fmt: skip


def _budget(start: IntArray, dur: IntArray, kinds: Text, host_start: int | None) -> dict[str, int | None]:
    end = start + dur
    computes, communicates = kinds.equals(kineto.KERNEL_KIND), kinds.equals(kineto.COMMUNICATION_KIND)
    computing = intervals.union(start[computes], end[computes])
    communication = intervals.union(start[communicates], end[communicates])
    overlapped = intervals.overlap(communication, computing).total
    first = int(start.min())
    stage = int(end.max()) - first
    return {
        "computing": computing.total,
        "communication_not_overlapped": communication.total - overlapped,
        "overlapped": overlapped,
        "communication": communication.total,
        "free": stage - computing.total - communication.total + overlapped,
        "stage": stage,
        "preparing": None if host_start is None or first < host_start else first - host_start,
    }
