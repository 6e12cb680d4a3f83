"""A host whose times were recorded. Its device is simulated."""

from __future__ import annotations

from bisect import bisect_right

from tb_npu_plugin.capture.recording.marks import StreamMark, StreamMoment
from tb_npu_plugin.capture.simulation.device import STREAM, stream_of
from tb_npu_plugin.capture.simulation.host import Host, Place
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo

#: ns of the call that lets a stream wait (assumed).
_STREAM_CALL = 2_000
#: ns between two things that happen on the host.
_LEAST = 10
#: First stream of the device beside the default one, and that of random numbers.
_OTHER_STREAMS = 30


class RecordedHost(Host):
    """Its caller moves the time, then says what the host did. Results show the host later than it was recorded, by the time
    that it has waited for the device.

    now       time that results show
    recorded  the same in recorded time
    done      ("event" or "collective", number) -> when it is done
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.recorded = self._limit = self.now
        self.done: dict[tuple[str, int], int] = {}
        self._waited: list[int] = []  # recorded times of waits of this segment
        self._delays: list[int] = []  # ns between recorded and shown time after each of them
        self._open: dict[int, list[HostOp]] = {}  # by thread
        self._stream = 0

    # -- time ---------------------------------------------------------------------------------------
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

    def spend(self, ns: int, number: float | None = None) -> None:
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

    # -- where --------------------------------------------------------------------------------------
    def use(self, tid: int, stream: int) -> None:
        """What follows happens on this thread and stream."""
        self.records.open = self._open.setdefault(tid, [])
        self._stream = stream

    @property
    def tid(self) -> int:
        """Thread of the innermost operator."""
        return self.records.open[-1].tid

    def _stream_of(self, kernel: Kernel) -> int:
        return self.device_stream if (found := stream_of(kernel)) == STREAM else found

    @property
    def device_stream(self) -> int:
        """Number of the stream in results."""
        return STREAM if not self._stream else _OTHER_STREAMS + self._stream

    # -- what the host did --------------------------------------------------------------------------
    def begin_operator(self, info: OpInfo, tid: int, sequence: int = -1, forward: int = 0) -> HostOp:
        """Begin an operator on the current thread. forward: the forward thread, 0 outside the backward pass."""
        self.records.enter(info, tid, self.now, sequence, forward)
        return self.records.open[-1]

    def end_operator(self, op: HostOp) -> None:
        """End it."""
        op.end = self.now
        if op in self.records.open:
            self.records.open.remove(op)

    def launch_all(self, launches: tuple[Launch, ...]) -> None:
        """Launch kernels, which were compiled before the capture."""
        for launch in launches:
            if launch.compiled:
                self.device.compiled.add(launch.kernel)
            self.launch(launch)

    def _use_workspace(self, size: int) -> None:
        """The log has what was allocated."""

    def mark(self, name: str, mark: StreamMark) -> StreamMoment:
        """Put a mark on the stream."""
        start = self._enqueue()
        begin, at = self.device.mark(start)
        self._resume(start)
        return StreamMoment(mark, at, *self.records.mark(name, self.device_stream, start, self.now, begin))

    def record_event(self, event: int) -> None:
        """Record an event on the stream."""
        self.done["event", event] = self.device.stream_until(self.device_stream)

    def wait_for(self, kind: str, number: int) -> None:
        """Let the stream wait for an "event" or a "collective"."""
        start = self.now
        self.spend(_STREAM_CALL)
        self.records.call("acl", "aclrtStreamWaitEvent", "0", "ACL_RTS", self.tid, start, self.now)
        waited = self.device.wait(self.done.get((kind, number), 0), self.device_stream)
        if waited is not None:
            self.records.wait(*waited, self.device_stream)
