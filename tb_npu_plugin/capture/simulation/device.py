"""One NPU behind a task queue: launches in, tasks on streams out.

The launching thread takes elements from the task queue one by one and calls CANN for each; the device starts a task
when it has been launched, when its stream is free, and when what the stream waits for is done. So a host that launches
too slowly leaves gaps on the device (host-bound), and one that launches fast runs ahead until the queue or the stream
is full and then waits (device-bound).

TASK_QUEUE_ENABLE, as torch_npu's reference of environment variables has it: 0 has no queue, the thread of the operator
calls CANN itself; 1 has the queue; with 2 the launching thread also asks for the workspace and takes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.columns import Ints
from tb_npu_plugin.capture.simulation.cost import copy_ns
from tb_npu_plugin.capture.simulation.meters import Meters
from tb_npu_plugin.capture.simulation.records import Kernel

Floats = NDArray[np.float64]
#: Random numbers come from a stream of their own, all other kernels run in order.
STREAM, RANDOM_STREAM = 2, 3
_STREAMS = {"DSA_SQE": RANDOM_STREAM}
#: Tasks of a stream are numbered from here on, in batches of as many as 16 bits tell apart.
FIRST_TASK, TASK_BITS = 300, 16
#: Elements of the task queue (kQueueCapacity of torch_npu), and tasks that a stream takes ahead (assumed).
QUEUE, AHEAD = 4096, 1024
#: Values of TASK_QUEUE_ENABLE; with the last one the launching thread prepares kernels, too.
TASK_QUEUES = (0, 1, 2)
LEVEL_2 = TASK_QUEUES[-1]
COPIES = {
    to_host: Kernel("MEMCPY_ASYNC", "", "", "SDMA_SQE" if to_host else "PCIE_DMA_SQE") for to_host in (False, True)
}
EVENT_WAIT = Kernel("EVENT_WAIT", "", "", "EVENT_WAIT_SQE")
#: ns of the parts of a launch on the launching thread: from dequeue to the call, the call before and in the node
#: launch, from there to the device. Means; each varies (skewed). As in the public sample of a real 910B.
DEQUEUE, _BEFORE, _NODE, AFTER, ARRIVE = 2_000, 3_000, 6_000, 1_500, 9_000
#: Of times of the host: their least share of the mean, and how the others rise above it: most stay below the mean, one of
#: ten takes 1.5 times as long, one of a hundred 2.7 times.
_LEAST, _RISE, _LAST = 0.736, 0.12, 1.05
#: ns of the call that launches a communication operator; a copy's lasts until it arrives.
COMMUNICATE = 30_000
#: ns from the node launch to when the launch counts as passed through CANN, for the flow of the trace.
ACL = 300
#: ns until a mark arrives at the device, and of its call.
MARK_ARRIVES, MARK_CALL = ARRIVE, _BEFORE
#: ns from an enqueue to its dequeue at least, and between two dequeues.
_WAKE, _NEXT = 9_000, 1_500
#: ns that the call for the size of the workspace takes, whichever thread makes it; and taking it where it is there.
WORKSPACE_SIZE, TAKE_WORKSPACE = 4_000, 1_000
#: The workspace of a stream grows by whole pages, and there is a little more than was asked for (torch_npu's allocator).
_PAGE, _MORE = 2 << 20, 32
#: ns that a mark of mstx takes on a stream (assumed).
MARK = 40
#: ns that a copy begins before the task in front of it ends, as neighbours on a stream of a real 910B do.
_EARLY = 400


class LaunchTimes(NamedTuple):
    """ns of the parts of launches: before the node launch, in it, from there to the end of the call and to the device, and
    until it starts there; of their kernels, and what a slow rank adds to that."""

    before: Ints
    inner: Ints
    closing: Ints
    arrive: Ints
    jitter: Ints
    dur: Ints
    slowed: Ints


#: Stream of a launch, then its LaunchTimes from `before` to `dur`.
Launching = tuple[int, int, int, int, int, int, int]


def launch_times(lots: Sequence[Floats], ns: Ints, slow: float) -> LaunchTimes:
    """Of six random numbers for each launch and the mean durations of the kernels."""
    plain = ns * (0.96 + 0.08 * lots[5])
    dur = whole(plain * slow) + 1
    return LaunchTimes(
        vary(_BEFORE, lots[0]) + 100,
        vary(_NODE, lots[1]),
        vary(1_000, lots[2]),
        vary(ARRIVE, lots[3]),
        whole(lots[4] * 500),
        dur,
        dur - whole(plain) - 1,
    )


def whole(numbers: Floats) -> Ints:
    """Without decimals."""
    return numbers.astype(np.int64)


def skewed(lots: Floats) -> Floats:
    """What times of the host are by their means, by random numbers. 1 on the mean."""
    return _LEAST + _RISE * lots / (_LAST - lots)


def vary(mean: int, lots: Floats) -> Ints:
    """About `mean` ns, on the grid of the host's clock, by random numbers."""
    return whole(mean * skewed(lots)) // 10 * 10


def workspace_of(size: int) -> int:
    """Bytes of the workspace of a stream that suffice for a kernel which needs `size`."""
    return -(-(size + _MORE) // _PAGE) * _PAGE


def workspace_states(held: dict[int, int], stream: int, size: int) -> list[tuple[int, tuple[int, int, int]]]:
    """What the workspaces are after the call for the size of one, and in the end: ns behind that call, -1 at the end of all,
    and (allocated, reserved, active). held: bytes by stream, which may grow."""
    states = []
    if held.get(stream, 0) < size:
        held[stream] = size
        states.append((0, (0, sum(held.values()), 0)))
    mine, reserved = held[stream], sum(held.values())
    return [*states, (10, (mine, reserved, mine)), (-1, (0, reserved, 0))]


def stream_of(kernel: Kernel) -> int:
    """Stream that a kernel runs on."""
    return _STREAMS.get(kernel.core, STREAM)


class Device:
    """Device and launching thread of one process: when what is asked of it happens. slow: factor of the kernels'
    durations; task_queue: TASK_QUEUE_ENABLE."""

    def __init__(self, chip: Chip, start: int, slow: float, task_queue: int = 1) -> None:
        self.chip, self.slow, self.task_queue = chip, slow, task_queue
        self.meters = Meters(chip, start)
        self.free_at = start  # the launching thread
        self._busy: dict[int, int] = defaultdict(int, {STREAM: 0, RANDOM_STREAM: 0})
        self._communicating: dict[int, int] = {}
        self._dequeued = [0] * QUEUE
        self._started = [0] * AHEAD
        self._count = 0
        self.compiled: set[Kernel] = set()

    def room_at(self, now: int) -> int:
        """When an element can be put on the task queue: now, or when the oldest one has been taken off."""
        oldest = self._dequeued[self._count % QUEUE]
        return oldest if oldest > now else now

    def busy_until(self) -> int:
        """When everything that was launched is done."""
        return max([self.free_at, *self._busy.values(), *self._communicating.values()])

    def communication_until(self, group: int) -> int:
        """When the communication of a group is done."""
        return self._communicating.get(group, 0)

    def _take(self, start: int) -> int:
        """Dequeue the element that is enqueued at `start`; gives when CANN is called for it: at once without a queue."""
        if not self.task_queue:
            return start
        free, enqueued = self.free_at + _NEXT, start + _WAKE
        return (free if free > enqueued else enqueued) + DEQUEUE

    def _done(self, end: int) -> None:
        self.free_at = end + AFTER
        if self.task_queue:
            self._dequeued[self._count % QUEUE] = self.free_at
        self._count += 1

    def run(
        self, starts: Iterable[int], launches: Iterable[Launching], late: int
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]], int]:
        """Kernels that are enqueued at these times, one behind the other, by a host that is `late` and waits for room on the
        queue: when CANN is called, launches each, and it starts; (place among them, ns) where the host is later from there
        on; how late it is in the end. In one loop, as there are hundreds of thousands."""
        queues, dequeued, started, busy = self.task_queue > 0, self._dequeued, self._started, self._busy
        count, free_at = self._count, self.free_at
        rows, lates = list[tuple[int, int, int]](), list[tuple[int, int]]()
        for start, (stream, before, inner, closing, arrive, jitter, dur) in zip(starts, launches):
            begin = start = start + late
            slot, place = count % AHEAD, count % QUEUE
            resumes = dequeued[place]
            if queues:  # as _take
                free, enqueued = free_at + _NEXT, start + _WAKE
                begin = (free if free > enqueued else enqueued) + DEQUEUE
            at = begin + before
            if at < started[slot]:  # a full stream takes no more
                at = started[slot]
            ready, free = at + inner + arrive, busy[stream] + 300
            if ready < free:
                ready = free
            started[slot] = ready = ready + jitter
            busy[stream] = ready + dur
            free_at = at + inner + closing + AFTER
            if queues:
                dequeued[place] = free_at
            else:  # the operator has launched by itself
                resumes = free_at
            if resumes > start:
                by = -(-resumes // 10) * 10 - start
                late += by
                lates.append((len(rows), by))
            rows.append((begin, at, ready))
            count += 1
        self._count, self.free_at = count, free_at
        return rows, lates, late

    def move(self, start: int, took: int, size: int, parts: int) -> tuple[int, list[int], int]:
        """A copy that is enqueued at `start`: when its call begins, its tasks start, and ns that each of them takes."""
        begin = self._take(start)
        ready, dur, starts = begin + took + 4_000, copy_ns(self.chip, size), []
        for _ in range(parts):
            ready = max(self._busy[STREAM] - _EARLY, ready)
            self._busy[STREAM] = ready + dur
            starts.append(ready)
        self._done(begin + took)
        return begin, starts, dur

    def point(self, start: int, took: int, arrive: int) -> tuple[int, int]:
        """A mark that is enqueued at `start`: when its call begins, and when the stream passes it."""
        begin = self._take(start)
        at = max(self._busy[STREAM] + 300, begin + arrive)
        self._busy[STREAM] = at + MARK
        self._done(begin + took)
        return begin, at

    def meet(self, start: int, took: int, group: int) -> tuple[int, int]:
        """Communication that is enqueued at `start`: when its call begins, and when this rank is there."""
        begin = self._take(start)
        # its data come from the compute stream
        at = max(self._communicating.get(group, 0) + 2_000, begin + took + 5_000, self._busy[STREAM] + 1_500)
        self._done(begin + took)
        return begin, at

    def part(self, group: int, end: int) -> None:
        """The communication of a group is done at `end`."""
        self._communicating[group] = end

    def stream_until(self, stream: int) -> int:
        """When what was launched on a stream is done."""
        return self._busy[stream]

    def hold(self, done: int, stream: int = STREAM) -> tuple[int, int] | None:
        """Let a stream wait until `done`: start and end of the task, if it must."""
        busy = self._busy[stream]
        if done <= busy:
            return None
        begin = max(busy + 300, self.free_at)
        end = max(done, begin) + 200
        self._busy[stream] = end
        return begin, end
