"""step_trace_time.csv. Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.columns import columns
from tb_npu_plugin.capture.simulation.records import RECEIVE, Segment
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.overlap import ALONE, COMMUNICATION, COMPUTING, FREE, StepFinder
from tb_npu_plugin.schema import torch_npu_csv as schema

Number = TypeVar("Number", int, float)
Ints = NDArray[np.int64]
#: When the first thing of a step computed or communicated, where only gaps begin in it (it copies).
_NOTHING = 1 << 63


@dataclass
class _Sums:
    """One step, in ns: start on the host; begin and end on the device; when it first computed or communicated; overlap rows by
    kind, and the same in us as the vendor's Python adds them up."""

    host_start: int
    first: int
    last: int
    busy: int = _NOTHING
    ns: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    us: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])


class StepSums(Writer):
    """What step_trace_time.csv and StepTraceTime add up, by step."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._row_step, self._receive_step = StepFinder(output.windows), StepFinder(output.windows)
        self._steps: dict[int | None, _Sums] = {}
        self._bubbles: dict[int | None, tuple[int, float]] = defaultdict(lambda: (0, 0))  # ns, us
        self._first_op: int | None = None

    def add(self, segment: Segment) -> None:
        if self._first_op is None and segment.ops:
            self._first_op = columns(segment.ops, "start")[0][0]
        for op in segment.comm:
            found = self._step(op.start, self._receive_step) if op.type == RECEIVE else None
            if found is not None:
                ns, us = self._bubbles[found[0]]
                self._bubbles[found[0]] = ns + op.dur, us + op.dur / 1000
        self.take_overlap()

    def take_overlap(self) -> None:
        """Add the overlap rows that are complete."""
        starts, ends, kinds = self._output.overlap.rows.T
        at = 0
        while at < len(starts):
            found = self._step(int(starts[at]), self._row_step)
            if found is None:
                at += 1
                continue
            until = at + int(np.searchsorted(starts[at:], found[2]))
            self._add_up(found, starts[at:until], ends[at:until], kinds[at:until])
            at = until

    def _add_up(self, found: tuple[int | None, int, int], starts: Ints, ends: Ints, kinds: Ints) -> None:
        """Rows of one step, at least one."""
        key, host_start, _ = found
        step = self._steps.setdefault(key, _Sums(host_start, int(starts[0]), int(ends[0])))
        durs = ends - starts
        for kind in range(len(step.ns)):
            mine = durs[kinds == kind]
            # in file order, as the vendor's Python adds them: cumsum does so, sum does not
            step.us[kind] = float(np.cumsum(np.concatenate([[step.us[kind]], mine / 1000]))[-1])
            step.ns[kind] += int(mine.sum())
        step.last = max(step.last, int(ends.max()))
        busy = starts[(kinds == COMPUTING) | (kinds == COMMUNICATION)]
        if len(busy):
            step.busy = min(step.busy, int(busy[0]))

    def _step(self, at: int, finder: StepFinder) -> tuple[int | None, int, int] | None:
        """(step id, its start on the host, end of its window on the device); None outside every step."""
        if not self._output.process.marks:
            return None, self._first_op or self._output.process.start, (1 << 63) - 1
        found = finder.window(at)
        return None if found is None else (found[2].id, found[2].start, found[1])

    def rounded(self) -> list[tuple[int | None, dict[str, float]]]:
        """Figures of step_trace_time.csv in us by step: through float64 us, as the vendor works them out."""
        out = []
        for key, step in self._steps.items():
            facts = [ns / 1000 for ns in (step.host_start, step.first, step.last, step.busy)]
            preparing = 0.0 if step.busy == _NOTHING else facts[3] - facts[0]
            out.append((key, figures_of(step.us, facts[2] - facts[1], self._bubbles[key][1], preparing)))
        return out

    def exact(self) -> list[tuple[int | None, dict[str, float]]]:
        """Figures of StepTraceTime in us by step: worked out in ns."""
        out = []
        for key, step in self._steps.items():
            preparing = 0 if step.busy == _NOTHING else step.busy - step.host_start
            found = figures_of(step.ns, step.last - step.first, self._bubbles[key][0], preparing)
            out.append((key, {name: ns / 1000 for name, ns in found.items()}))
        return out


def figures_of(sums: Sequence[Number], whole: Number, bubble: Number, preparing: Number) -> dict[str, Number]:
    """Figures of a step. sums: by kind of overlap row; whole: from the first to the last of them; bubble: of receiving."""
    alone, communication = sums[ALONE], sums[COMMUNICATION]
    return {
        "computing": sums[COMPUTING],
        "communication_not_overlapped": alone,
        "overlapped": communication - alone,
        "communication": communication,
        "free": sums[FREE],
        "stage": whole - bubble,
        "bubble": bubble,
        "communication_not_overlapped_and_exclude_receive": max(alone - bubble, 0),
        "preparing": preparing,
    }


class StepTrace(StepSums):
    """step_trace_time.csv."""

    def close(self) -> None:
        self.take_overlap()
        file, keys = self._output.csv(schema.STEP_TRACE), self._output.columns(schema.STEP_TRACE)
        for step, figures in self.rounded():
            cells = {**figures, "step": "" if step is None else step, "device_id": self._output.process.device}
            file.add([",".join(str(cells[name]) for name in keys)])
