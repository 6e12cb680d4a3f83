"""MindSpore's data pipeline: TFReader -> Map -> Batch -> DeviceQueue, with bounded queues between them.

Everything follows from when the training took its batches. A pipeline that keeps up is faster than the training: all
queues are full and the last operator waits to push. One that does not is paced by Map, which makes the last row of each
batch just before the training gets it: the queue in front of Map is full, those behind it are empty. Times are ns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

ROWS = 16  # of a batch
#: Batches on the device, beyond the pipeline's own queues.
DEVICE_DEPTH = 2
#: ns that a training waits for each batch of a pipeline that does not keep up, at least.
LONG_WAIT = 1_200_000
#: Batches before the capture began: enough to fill all queues.
_BEFORE, _AFTER = 24, 24
_PUSH, _ASSEMBLE, _SLACK = 20_000, 30_000, 100_000
#: Share of the time between two batches that an operator needs for one, where the pipeline keeps up.
_READ, _MAP = 0.2, 0.4


@dataclass(frozen=True)
class Operator:
    """One operator."""

    id: int
    type: str
    workers: int
    capacity: int  # rows (behind Batch: batches) of its output queue; 0 without one
    children: tuple[int, ...]


DEVICE_QUEUE = Operator(0, "DeviceQueue", 1, 0, (1,))
EPOCH_CTRL = Operator(1, "EpochCtrl", 1, 0, (2,))
BATCH = Operator(2, "Batch", 4, 8, (3,))
MAP = Operator(3, "Map", 8, 64, (4,))
READER = Operator(4, "TFReader", 4, 64, ())
OPERATORS = (DEVICE_QUEUE, EPOCH_CTRL, BATCH, MAP, READER)
#: Operator that a slow loader slows down.
BOTTLENECK = MAP


@dataclass(frozen=True)
class Batch:
    """One batch at the end of the pipeline: when it was asked for, there, and pushed to the device."""

    asked: int
    got: int
    pushed: int


class Pipeline:
    """What happened in the pipeline of a training that took its batches at `taken`; slow: it had to wait for them."""

    def __init__(self, taken: Sequence[int], slow: bool) -> None:
        self.slow = slow
        period = (taken[-1] - taken[0]) // (len(taken) - 1) if len(taken) > 1 else 50_000_000
        self._period = max(period, 1_000_000)
        before = [taken[0] - self._period * number for number in range(_BEFORE, 0, -1)]
        self._taken = [*before, *taken, *(taken[-1] + self._period * number for number in range(1, _AFTER + 1))]
        #: Operator -> times at which rows came into its queue, and left it; both grow.
        self._came: dict[Operator, list[int]] = {operator: [] for operator in (BATCH, MAP, READER)}
        self._left: dict[Operator, list[int]] = {operator: [] for operator in (BATCH, MAP, READER)}
        self.batches: list[Batch] = []
        ready = pushed = mapped = self._taken[0] - self._period - _SLACK
        for number in range(len(self._taken)):
            mapped, ready = self._assemble(number, mapped, ready)
            asked, got = pushed, max(pushed, ready)
            self._left[BATCH].append(got)
            pushed = max(got + _PUSH, self._taken[number - DEVICE_DEPTH] if number >= DEVICE_DEPTH else 0)
            self.batches.append(Batch(asked, got, pushed))

    def _assemble(self, number: int, mapped: int, ready: int) -> tuple[int, int]:
        """Make one batch; gives when its last row was mapped and when it was ready."""
        came, left = self._came, self._left
        begun, rows = ready, number * ROWS
        previous = self._taken[number - 1] if number else self._taken[0] - self._period
        for row in range(rows, rows + ROWS):
            room = left[READER][row - READER.capacity] if row >= READER.capacity else 0
            read = max((came[READER][-1] if came[READER] else mapped) + int(_READ * self._period / ROWS), room)
            came[READER].append(read)
            begin = max(read, mapped)
            left[READER].append(begin)
            if self.slow:
                done = max(begin, previous - _SLACK + (self._taken[number] - previous) * (row - rows + 1) // ROWS)
            else:
                done = begin + int(_MAP * self._period / ROWS)
            mapped = max(done, left[MAP][row - MAP.capacity] if row >= MAP.capacity else 0)
            came[MAP].append(mapped)
            left[MAP].append(max(mapped, begun))
        room = left[BATCH][number - BATCH.capacity] if number >= BATCH.capacity else 0
        ready = max(left[MAP][-1] + _ASSEMBLE, room)
        came[BATCH].append(ready)
        return mapped, ready

    def pushed_between(self, start: int, end: int) -> list[Batch]:
        """The batches whose push was in a time."""
        return [batch for batch in self.batches if start <= batch.pushed <= end]

    def sizes(self, operator: Operator, moments: Sequence[int]) -> list[int]:
        """Rows in the output queue of an operator at these times."""
        came, left = self._came[operator], self._left[operator]
        return [min(bisect_right(came, at) - bisect_right(left, at), operator.capacity) for at in moments]

    def busy(self, operator: Operator) -> float:
        """Share of its time that each worker of an operator computes."""
        if operator is MAP:
            return 0.92 if self.slow else 0.9 * _MAP
        if operator is READER:
            return 0.9 * _READ
        return min(0.9, _ASSEMBLE / self._period) if operator is BATCH else 0.0

    def count(self, operator: Operator, start: int, end: int) -> tuple[int, int]:
        """(rows that an operator gave in a time, ns of a worker for each)."""
        if operator is DEVICE_QUEUE:
            return len(self.pushed_between(start, end)), _PUSH
        came = self._came[operator]
        each = self._period * self.busy(operator) * operator.workers / (1 if operator is BATCH else ROWS)
        return bisect_right(came, end) - bisect_right(came, start - 1), int(each)
