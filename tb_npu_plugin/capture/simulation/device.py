"""One NPU behind a task queue: launches in, tasks on streams out; and its counters.

The launching thread takes elements from the task queue one by one and calls CANN for each; the device starts a task
when it has been launched, when its stream is free, and when what the stream waits for is done. So a host that launches
too slowly leaves gaps on the device (host-bound), and one that launches fast runs ahead until the queue or the stream
is full and then waits (device-bound).

TASK_QUEUE_ENABLE, as torch_npu's reference of environment variables has it: 0 has no queue, the thread of the operator
calls CANN itself; 1 has the queue; with 2 the launching thread also asks for the workspace and takes it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

from tb_npu_plugin.capture.simulation.launch import COMPILE, COMPILED, Launch, copy_ns
from tb_npu_plugin.capture.simulation.records import CommOp, Kernel, Sample, Segment, Task
from tb_npu_plugin.schema.chips import Chip

#: ns between two samples, as profile_memory switches it on (50 Hz).
EVERY = 20_000_000
#: ns by which a sample may come late, in steps of 10 (as in the public sample of a real 910B).
_LATE = 30_000
#: Traffic of the banks of the memory by their mean: they differ a little (as there).
_BANKS = (1.004, 1.001, 0.998, 0.997)
#: Bytes that CANN's components hold beside the caching allocator: HCCL per communicator (two buffers of 200 MB).
_RUNTIME, _GRAPH_ENGINE, _HCCL = 92 << 20, 76 << 20, 400 << 20
#: Bytes that other processes hold.
_OTHERS = 236 << 20


class Meters:
    """Counters of the device: memory traffic, cache, clock, memory of the process and of CANN's components. Samples are taken at
    fixed moments, or a little later; each covers the time between two such moments.

    Kernels leave their output in the L2 cache where it fits (launch.py). What was left there longest is written to the main
    memory when the cache is full: by the next sample, or by a later one where that is more than the memory takes.
    """

    def __init__(self, chip: Chip, start: int) -> None:
        self._chip, self._next, self._start = chip, start, start
        self._traffic: dict[int, list[int]] = {}  # window -> bytes: from and to main memory, from and to the cache
        self._moved = Counter[int]()  # window -> bytes of communication
        self._unwritten = 0  # bytes in the cache that the main memory does not have
        self.communicators = 0

    def count(self, task: Task) -> None:
        work = task.kernel.work
        traffic = self._traffic.setdefault((task.start - self._start) // EVERY, [0, 0, 0, 0])
        traffic[0] += work.main_read
        traffic[1] += work.main_written
        traffic[2] += work.cached
        traffic[3] += work.kept

    def count_communication(self, op: CommOp) -> None:
        self._moved[(op.start - self._start) // EVERY] += op.planes.pattern.size

    def sample(self, segment: Segment, until: int, reserved: int) -> None:
        """Take the samples that are due before `until`. reserved: bytes of the caching allocator."""
        while self._next < until:
            window = (self._next - self._start) // EVERY - 1
            at = self._next + (self._next * 40_503 >> 8) % (_LATE // 10) * 10
            read, written, cached, kept = self._traffic.pop(window, (0, 0, 0, 0))
            moved = self._moved.pop(window, 0)
            # what the cache writes to the main memory in this window
            self._unwritten += kept
            room = int(self._chip.bandwidth * EVERY / 1e9) - (read + written + 2 * moved)
            written_back = max(0, min(self._unwritten - self._chip.cache, room))
            self._unwritten -= written_back
            written += written_back
            busy = read + written + cached + moved > 0
            both = read + moved, written + moved
            banks = [tuple(round(size * share / len(_BANKS) / EVERY * 1000, 3) for size in both) for share in _BANKS]
            hit_rate = round(cached / (read + cached), 6) if cached else 0.0
            hccl = _HCCL * self.communicators
            whole = reserved + hccl + _RUNTIME + _GRAPH_ENGINE
            sizes = {"PROCESS": whole, "APP": reserved, "HCCL": hccl}
            sizes |= {"RUNTIME": _RUNTIME, "GE": _GRAPH_ENGINE, "SLOG": 0}
            clock, throughput = self._chip.clock if busy else 800, round((read + cached) / EVERY * 1000, 3)
            segment.samples.append(Sample(at, clock, banks, throughput, hit_rate, whole + _OTHERS, sizes))
            self._next += EVERY


#: Random numbers are made on the second stream; all other kernels run in order on the first one.
STREAM, RANDOM_STREAM = 2, 3
#: Elements of the task queue (kQueueCapacity of torch_npu), and tasks that a stream takes ahead (assumed).
QUEUE, AHEAD = 4096, 1024
#: Values of TASK_QUEUE_ENABLE; with the last one the launching thread prepares kernels, too.
TASK_QUEUES = (0, 1, 2)
LEVEL_2 = TASK_QUEUES[-1]
#: Copies: to the host?
COPIES = {back: Kernel("MEMCPY_ASYNC", "", "", "SDMA_SQE" if back else "PCIE_DMA_SQE") for back in (False, True)}
EVENT_WAIT = Kernel("EVENT_WAIT", "", "", "EVENT_WAIT_SQE")
#: ns of the parts of a launch on the launching thread: from dequeue to the call, the call before and in the node
#: launch, from there to the device. Means; each varies (skewed). As in the public sample of a real 910B.
DEQUEUE, _BEFORE, _NODE, AFTER, ARRIVE = 2_000, 3_000, 6_000, 1_500, 9_000
#: Host times by their mean: the smallest one, and how the others rise above it. Most stay below the mean, one of ten takes
#: 1.5 times as long, one of a hundred 2.7 times.
LEAST, RISE, LAST = 0.736, 0.12, 1.05
#: ns of the call that launches a communication operator; a copy's lasts until it arrives.
COMMUNICATE = 30_000
#: ns from the node launch to when the launch counts as passed through CANN, for the flow of the trace.
ACL = 300
#: ns until a mark arrives at the device, and of its call.
MARK_ARRIVES, MARK_CALL = ARRIVE, _BEFORE
#: ns from an enqueue to its dequeue at least, and between two dequeues.
_WAKE, _NEXT = 9_000, 1_500
#: ns of the call for the size of the workspace, on either thread; and of taking it where it is large enough.
WORKSPACE_SIZE, TAKE_WORKSPACE = 4_000, 1_000
#: ns that a mark of mstx takes on a stream (assumed).
MARK = 40
#: ns that a copy begins before the task in front of it ends, as neighbours on a stream of a real 910B do.
_EARLY = 400


def vary(mean: int, number: float) -> int:
    """About `mean` ns of the host, on the grid of its clock. number: random, from 0 to 1."""
    return int(mean * (LEAST + RISE * number / (LAST - number))) // 10 * 10


class Launched(NamedTuple):
    """A kernel launch."""

    begin: int  # when CANN is called for it
    sized: int  # when the launching thread has the size of the workspace; `begin` if it prepares none
    prepared: int  # when it has the workspace; likewise
    compiling: int  # ns of compiling the operator on first sight; 0: it was known
    node: int  # the node launch
    node_end: int
    end: int  # of the call
    start: int  # of the kernel
    dur: int
    slowed: int  # ns of it that are due to a slow device


class Device:
    """Device and launching thread of one process: when launches, copies and communication happen. random: gives numbers
    from 0 to 1; slow: factor of the kernels' durations; task_queue: TASK_QUEUE_ENABLE."""

    def __init__(self, chip: Chip, start: int, random: Callable[[], float], slow: float, task_queue: int) -> None:
        self.chip, self._random, self._slow, self._task_queue = chip, random, slow, task_queue
        self.meters = Meters(chip, start)
        self.free_at = start  # the launching thread is
        #: When who enqueued last can go on: when the queue had room, without a queue when the call returned.
        self.resumes = 0
        self.compiled: set[Kernel] = set()  # of operators that are compiled
        self.busy: defaultdict[int, int] = defaultdict(int)  # stream -> until when
        self.communicating: defaultdict[int, int] = defaultdict(int)  # group -> until when
        self._dequeued, self._started = [0] * QUEUE, [0] * AHEAD
        self._count = 0

    def busy_until(self) -> int:
        """When everything that was launched is done."""
        return max([self.free_at, *self.busy.values(), *self.communicating.values()])

    def _dequeue(self, enqueued: int) -> int:
        """Take the next element; returns when CANN is called for it: at once without a queue."""
        if not self._task_queue:
            return enqueued
        self.resumes = self._dequeued[self._count % QUEUE]
        return max(self.free_at + _NEXT, enqueued + _WAKE) + DEQUEUE

    def _return(self, end: int) -> None:
        self.free_at = end + AFTER
        if self._task_queue:
            self._dequeued[self._count % QUEUE] = self.free_at
        else:
            self.resumes = self.free_at
        self._count += 1

    def launch(self, launch: Launch, stream: int, enqueued: int, preempted: int) -> Launched:
        """Launch a kernel. preempted: ns for which the launching thread loses its core."""
        random = self._random
        begin = sized = prepared = self._dequeue(enqueued)
        if self._task_queue == LEVEL_2 and not launch.compiled:
            sized = prepared = begin + vary(WORKSPACE_SIZE, random())
            if launch.workspace:
                prepared += vary(TAKE_WORKSPACE, random())
        before = vary(_BEFORE, random()) + 100
        compiling = 0
        if launch.compiled:
            if launch.kernel in self.compiled:
                before += COMPILED
            else:
                self.compiled.add(launch.kernel)
                compiling = vary(COMPILE, random())
        inner = vary(_NODE, random()) + preempted
        closing, arrive, jitter = vary(1_000, random()), vary(ARRIVE, random()), int(500 * random())
        usual = launch.ns * (0.96 + 0.08 * random())
        dur = int(usual * self._slow) + 1
        place = self._count % AHEAD
        node = max(prepared + before + compiling, self._started[place])  # a full stream takes no more
        start = max(node + inner + arrive, self.busy[stream] + 300) + jitter
        self._started[place], self.busy[stream] = start, start + dur
        end = node + inner + closing
        self._return(end)
        return Launched(begin, sized, prepared, compiling, node, node + inner, end, start, dur, dur - int(usual) - 1)

    def copy(self, enqueued: int, size: int, parts: int) -> tuple[int, int, list[int], int]:
        """Copy in so many tasks. Returns begin and end of the call, when the tasks start, and ns of each of them."""
        begin = self._dequeue(enqueued)
        end = begin + vary(ARRIVE, self._random())
        start, dur, starts = end + 4_000, copy_ns(self.chip, size), []
        for _ in range(parts):
            start = max(self.busy[STREAM] - _EARLY, start)
            self.busy[STREAM] = start + dur
            starts.append(start)
        self._return(end)
        return begin, end, starts, dur

    def mark(self, enqueued: int) -> tuple[int, int]:
        """Put a mark on the stream. Returns when its call begins, and when the stream passes it."""
        begin = self._dequeue(enqueued)
        at = max(self.busy[STREAM] + 300, begin + MARK_ARRIVES)
        self.busy[STREAM] = at + MARK
        self._return(begin + MARK_CALL)
        return begin, at

    def communicate(self, enqueued: int, group: int) -> tuple[int, int, int]:
        """Launch a communication operator. Returns begin and end of the call, and when this rank arrives."""
        begin = self._dequeue(enqueued)
        end = begin + vary(COMMUNICATE, self._random())
        # its data come from the compute stream
        at = max(self.communicating[group] + 2_000, end + 5_000, self.busy[STREAM] + 1_500)
        self._return(end)
        return begin, end, at

    def wait(self, done: int, stream: int = STREAM) -> tuple[int, int] | None:
        """Let a stream wait until `done`. Returns start and end of the task, None if there is nothing to wait for."""
        busy = self.busy[stream]
        if done <= busy:
            return None
        start = max(busy + 300, self.free_at)
        end = max(done, start) + 200
        self.busy[stream] = end
        return start, end
