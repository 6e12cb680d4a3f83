"""A host whose times were recorded: its plan is made from what it did, and its device is simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tb_npu_plugin.capture.recording.marks import StreamMark, StreamMoment
from tb_npu_plugin.capture.simulation.columns import Ints
from tb_npu_plugin.capture.simulation.device import EVENT_WAIT, MARK_ARRIVES, MARK_CALL, STREAM, Floats, stream_of
from tb_npu_plugin.capture.simulation.host import Host, HostFaults, Place
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.plan import Action, Circumstances, Plan, Row
from tb_npu_plugin.capture.simulation.planner import Planner
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import Kernel, OpInfo, Segment

#: ns of the call that lets a stream wait (assumed).
_STREAM_CALL = 2_000
#: ns between two things that happen on the host.
_LEAST = 10
#: First stream of the device beside the default one, and that of random numbers.
_OTHER_STREAMS = 30


class RecordedPlanner(Planner):
    """Makes the plan of one segment. Its caller moves the time, then says what the host did. times: of each tick, ns."""

    def __init__(self, around: Circumstances, start: int) -> None:
        super().__init__(around, set())
        self.plan.once = True
        self.times, self.limit, self.now, self._stream = [start], start, start, 0
        self._stacks: dict[int, list[int]] = {}

    def move_to(self, now: int, limit: int) -> None:
        """Set the host time. What takes time from here ends before `limit`, when the host did the next thing."""
        self.now, self.limit = max(now, self.now + _LEAST), limit
        self._wait_tick()

    def spend(self, ns: int) -> None:
        """Host time passes, at most up to the limit."""
        self.now += max(_LEAST, min(ns, self.limit - self.now))
        self._wait_tick()

    def _wait_tick(self) -> int:
        self.times.append(self.now)
        self._tick += 1
        return self._tick

    def use(self, thread: int, stream: int) -> None:
        """What follows happens on this thread and stream."""
        self._open = self._stacks.setdefault(thread, [])
        self._stream = stream

    def _caller(self) -> int:
        return self.plan.ops[self._open[-1]].thread

    def _stream_of(self, kernel: Kernel) -> int:
        return self.device_stream if (found := stream_of(kernel)) == STREAM else found

    @property
    def device_stream(self) -> int:
        """Number of the stream in results."""
        return STREAM if not self._stream else _OTHER_STREAMS + self._stream

    def _use_workspace(self, size: int) -> None:
        """The log has what was allocated."""

    @property
    def innermost(self) -> int:
        """Row of the operator that is open; -1: none is."""
        return self._open[-1] if self._open else -1

    def begin_operator(self, info: OpInfo, thread: int, sequence: int = -1, forward: int = 0) -> int:
        """Begin an operator; gives its row. forward: the forward thread, 0 outside the backward pass."""
        self._open.append(self._op(info, thread, sequence, forward))
        return self._open[-1]

    def end_operator(self, row: int) -> None:
        """End it."""
        self.plan.op_ends[row] = self._tick
        if row in self._open:
            self._open.remove(row)

    def run(self, launches: tuple[Launch, ...]) -> None:
        """Launch kernels, which were compiled before the capture."""
        for launch in launches:
            if launch.compiled:
                self._known.add(launch.kernel)
            self.launch(launch)

    def mark(self, name: str, mark: StreamMark) -> None:
        """Put a mark on the stream."""
        call = self._call("", name, "", "", self._caller())  # it takes a connection, and is no call of CANN
        self._enqueue(Action.MARK, name, 0, (mark, self.device_stream, call))

    def record_event(self, event: int) -> None:
        """Record an event on the stream."""
        self.plan.actions.append((Action.RECORD_EVENT, 0, (event, self.device_stream)))

    def wait_for(self, awaited: tuple[str, int]) -> None:
        """Let the stream wait for ("event", number) or ("collective", number)."""
        plan, start = self.plan, self._tick
        self.spend(_STREAM_CALL)
        call = self._call("acl", "aclrtStreamWaitEvent", "0", "ACL_RTS", self._caller())
        plan.host_calls.append((call, start, self._tick))
        plan.actions.append((Action.WAIT, len(plan.waits), awaited))
        plan.waits.append(len(plan.tasks))
        plan.tasks.append(Row(EVENT_WAIT, self.device_stream, -1, call + 1))

    def rest(self) -> None:
        """Wait for the device without a call."""
        start = self._wait_tick()
        self._wait_tick()
        self.plan.actions.append((Action.SYNCHRONIZE, start, None))


class RecordedHost(Host):
    """A host whose times are recorded."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, HostFaults())
        self.times: list[int] = []
        self._late = 0  # ns by which results show the host later than it was recorded
        self.shown: Ints = np.zeros(0, dtype=np.int64)  # times of the last segment's ticks, as results show them
        self._events: dict[int, int] = {}
        self._marked: list[StreamMoment] = []
        self.done: dict[int, int] = {}  # collective -> its end

    def _clock(self, plan: Plan, draws: Floats) -> Ints:
        return np.array(self.times, dtype=np.int64) + self._late

    def _record_event(self, argument: Any) -> None:
        event, stream = argument
        self._events[event] = self.device.stream_until(stream)

    def _mark(self, argument: Any, start: int) -> int:
        mark, stream, call = argument
        assert self._recording is not None
        begin, at = self.device.point(start, MARK_CALL, MARK_ARRIVES)
        self._marked.append(
            StreamMoment(mark, at, self._recording.next_number(stream), self._counters.connection + call + 1)
        )
        return begin

    def take_marks(self) -> list[StreamMoment]:
        """The marks that streams have passed since the last call, in order."""
        found, self._marked = self._marked, []
        return found

    def _awaited(self, argument: Any) -> int:
        kind, number = argument
        return (self._events if kind == "event" else self.done).get(number, 0)

    def carry_out(self, planner: RecordedPlanner, number: int, communicate: Callable[[Any, Transfer], None]) -> Segment:
        """Run the plan of a segment, whose end is not known here. communicate: works out a collective where the host stops."""
        plan, self.times = planner.plan, planner.times
        step = self._step = self._begin(plan, number)
        self._draw(step)
        for transfer in self._carry_out(step):
            communicate(self, transfer)
        step.apply_host_delay()
        self.shown = step.clock
        self.now = int(step.clock[-1])
        self._late = self.now - self.times[-1]
        step.memory = self.allocator.carry_out(plan.events)
        self._counters = self._counters.behind(plan)
        assert self._recording is not None
        return self._recording.segment(step, 0)
