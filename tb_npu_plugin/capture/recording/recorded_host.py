"""A host whose times were recorded. Its device is simulated."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from tb_npu_plugin.capture.simulation.device import MARK_CALL, STREAM
from tb_npu_plugin.capture.simulation.host import Clock, Host
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.records import HostOp, Ints, Process
from tb_npu_plugin.intervals import Intervals

#: ns of host time that the last launch takes at most beyond what was recorded.
ROOM = 8_000
#: Later than any recorded time.
END = 1 << 62
#: ns between two things that happen on the host.
_LEAST = 10


class HostClock:
    """Host time without the computation of stand-in kernels: stands still while the CPU computes in place of the device."""

    def __init__(self, computed: Intervals) -> None:
        self._begins, self._ends = computed.start, computed.end
        self._removed: Ints = np.concatenate([[0], np.cumsum(self._ends - self._begins)])

    def __call__(self, times: Any) -> Any:
        """Times, or one, without what was computed before."""
        if not len(self._begins):
            return np.asarray(times)
        place = np.searchsorted(self._begins, times, "right")
        inside = np.where(place > 0, np.maximum(0, self._ends[np.maximum(place - 1, 0)] - times), 0)
        return np.asarray(times) - self._removed[place] + inside


class RecordedClock(Clock):
    """Its user moves it. Results show the host later than it was recorded, by the time that it
    has waited for the device.

    now       time that results show
    recorded  the same in recorded time
    """

    def __init__(self, now: int) -> None:
        self.now = self.recorded = self._limit = now
        self._waited: list[int] = []  # recorded times of waits of this segment
        self._delays: list[int] = []  # ns between recorded and shown time after each of them

    def begin(self, start: int) -> None:
        """Begin a segment at a recorded time."""
        self._move(start - self.recorded)
        self._waited, self._delays = [start], [self.now - start]

    def move_to(self, recorded: int, limit: int) -> None:
        """Go on to a recorded time. What takes time from here ends before `limit`, when the host did the next thing."""
        self._move(max(recorded - self.recorded, _LEAST))
        self._limit = limit

    def _move(self, ns: int) -> None:
        self.recorded += ns
        self.now += ns

    def spend(self, ns: int) -> None:
        """Work for `ns`, at most up to the limit."""
        self._move(max(_LEAST, min(ns, self._limit - self.recorded)))

    def wait_until(self, now: int) -> None:
        """Wait for the device, which the recorded host did not."""
        self.now = now
        self._waited.append(self.recorded)
        self._delays.append(now - self.recorded)

    def shown(self, recorded: int) -> int:
        """From recorded time to the time that results show, in this segment."""
        return recorded + self._delays[max(0, bisect_right(self._waited, recorded) - 1)]


class RecordedHost(Host):
    """Repeats what a host did: its user moves the clock, then says what happened.

    recorded  time without the computation of stand-in kernels
    done      ("event" or "collective", number) -> when it is done
    """

    clock: RecordedClock

    def __init__(
        self, process: Process, seed: str, recorded: HostClock, runtime: bool = False, task_queue: int = 1
    ) -> None:
        random, clock = Random(f"{seed}/{process.rank}").random, RecordedClock(process.start)
        super().__init__(process, process.chip, clock, random, runtime=runtime, task_queue=task_queue, allocates=False)
        self.recorded, self.done = recorded, dict[tuple[str, int], int]()
        self._open: dict[int, list[HostOp]] = {}  # by thread

    def shown(self, at: int) -> int:
        """From time as it was recorded to the time that results show, in the last segment."""
        return self.clock.shown(int(self.recorded(at)))

    def use(self, tid: int, stream: int) -> None:
        """What follows happens on this thread and stream."""
        self.open = self._open.setdefault(tid, [])
        self.tid, self.stream = tid, 30 + stream if stream else STREAM  # others are numbered from 30 on

    def end_operator(self, op: HostOp) -> None:
        """End it."""
        op.end = self.now
        if op in self.open:
            self.open.remove(op)

    def launch_all(self, launches: Sequence[Launch]) -> None:
        """Launch kernels, which were compiled before the capture."""
        for launch in launches:
            if launch.compiled:
                self.device.compiled.add(launch.kernel)
            self.launch(launch)

    def mark(self, name: str) -> tuple[int, int, int]:
        """Put a mark on the stream: when the stream passes it, as which task, launched by which call."""
        start = self._enqueue()
        begin, at = self.device.mark(start)
        self._resume(start)
        self._connection += 1  # without a call of CANN
        self._add_element(name, start, begin, begin + MARK_CALL)
        return at, self._next_task(self.stream)[0], self._connection

    def wait_for(self, kind: str, number: int) -> None:
        """Let the stream wait for an "event" or a "collective"."""
        start = self.now
        self.clock.spend(2_000)  # assumed
        self._call("acl", "aclrtStreamWaitEvent", "ACL_RTS", self.tid, start, self.now)
        self._wait(self.done.get((kind, number), 0))
