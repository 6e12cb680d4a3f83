"""step_trace_time.csv. Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.columns import columns
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.overlap import (
    ALONE,
    COMMUNICATION,
    COMPUTING,
    FREE,
    OverlapRows,
    StepFinder,
    Windows,
)
from tb_npu_plugin.schema import torch_npu_csv as schema

Ints = NDArray[np.int64]
#: When the first thing of a step computed or communicated, where only gaps begin in it (it copies).
_NOTHING = 1 << 63


class StepSums:
    """What step_trace_time.csv and StepTraceTime add up, by step."""

    def __init__(self, output: Output, windows: Windows) -> None:
        self._output = output
        self._row_step, self._receive_step = StepFinder(windows), StepFinder(windows)
        self._sums: dict[int | None, list[float]] = {}
        self._facts: dict[int | None, list[int]] = {}  # step start, first, last, first computing or communication
        self._whole: dict[int | None, list[int]] = {}  # the sums in ns
        self._bubbles: dict[int | None, float] = {}
        self._bubbles_ns: dict[int | None, int] = {}
        self._first_op: int | None = None

    def add(self, segment: Segment) -> None:
        """Add what the overlap rows do not have."""
        if self._first_op is None and segment.ops:
            self._first_op = columns(segment.ops, "start")[0][0]
        for op in segment.comm:
            if op.type == "hcom_receive_":
                found = self._step(op.start, self._receive_step)
                if found is not None:
                    self._bubbles[found[0]] = self._bubbles.get(found[0], 0) + op.dur / 1000
                    self._bubbles_ns[found[0]] = self._bubbles_ns.get(found[0], 0) + op.dur

    def overlap(self, rows: OverlapRows, before: int) -> None:
        """Take overlap rows in file order."""
        starts, ends, kinds = rows.T
        at = 0
        while at < len(rows):
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
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = [0.0, 0.0, 0.0, 0.0]
            self._whole[key] = [0, 0, 0, 0]
            self._facts[key] = [host_start, int(starts[0]), int(ends[0]), _NOTHING]
        facts, durs = self._facts[key], ends - starts
        for kind in range(len(sums)):
            mine = durs[kinds == kind]
            # in file order, as the vendor's Python adds them: cumsum does so, sum does not
            sums[kind] = float(np.cumsum(np.concatenate([[sums[kind]], mine / 1000]))[-1])
            self._whole[key][kind] += int(mine.sum())
        facts[2] = max(facts[2], int(ends.max()))
        busy = starts[(kinds == COMPUTING) | (kinds == COMMUNICATION)]
        if len(busy):
            facts[3] = min(facts[3], int(busy[0]))

    def _step(self, at: int, finder: StepFinder) -> tuple[int | None, int, int] | None:
        """(step id, its start on the host, end of its window on the device); None outside every step."""
        if not self._output.process.marks:
            return None, self._first_op or self._output.process.start, (1 << 63) - 1
        found = finder.window(at)
        return None if found is None else (found[2].id, found[2].start, found[1])

    def rounded(self) -> list[tuple[int | None, dict[str, float]]]:
        """Figures of step_trace_time.csv in us by step: through float64 us, as the vendor works them out."""
        out = []
        for key, sums in self._sums.items():
            facts = [ns / 1000 for ns in self._facts[key]]
            out.append((key, self._figures(key, sums, facts, self._bubbles.get(key, 0), 0.0)))
        return out

    def exact(self) -> list[tuple[int | None, dict[str, float]]]:
        """Figures of StepTraceTime in us by step: worked out in ns."""
        out = []
        for key, sums in self._whole.items():
            found = self._figures(key, sums, self._facts[key], self._bubbles_ns.get(key, 0), 0)
            out.append((key, {name: ns / 1000 for name, ns in found.items()}))
        return out

    def _figures(
        self, key: int | None, sums: Sequence[float], facts: Sequence[float], bubble: float, zero: float
    ) -> dict[str, float]:
        host_start, first, last, busy = facts
        alone, whole = sums[ALONE], sums[COMMUNICATION]
        return {
            "computing": sums[COMPUTING],
            "communication_not_overlapped": alone,
            "overlapped": whole - alone,
            "communication": whole,
            "free": sums[FREE],
            "stage": last - first - bubble,
            "bubble": bubble,
            "communication_not_overlapped_and_exclude_receive": max(alone - bubble, 0),
            "preparing": zero if self._facts[key][3] == _NOTHING else busy - host_start,
        }


class StepTrace(StepSums):
    """step_trace_time.csv."""

    def close(self) -> None:
        """Write the file."""
        keys = [column.key for column in schema.STEP_TRACE.columns]
        if not self._output.dialect.device_id:
            keys.remove("device_id")
        if not self._output.dialect.preparing:
            keys.remove("preparing")
        file = self._output.csv(schema.STEP_TRACE, tuple(keys))
        for step, figures in self.rounded():
            cells = {**figures, "step": "" if step is None else step, "device_id": self._output.process.device}
            file.write([",".join(str(cells[name]) for name in keys)])
        file.close()
