"""Marks and ranges of mstx: operators of their message on the host, and with a stream rows on the device (1.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tb_npu_plugin.capture.recording.host_lane import Call
from tb_npu_plugin.capture.recording.raw_data import HostData
from tb_npu_plugin.capture.simulation.device import MARK, STREAM
from tb_npu_plugin.capture.simulation.records import MSTX, Kernel, OpInfo, Segment, Task, UserMark

#: ns of the operators that put a mark on the stream: less than Python takes until it calls the next one.
_OPERATOR = 500


class StreamMark(NamedTuple):
    """What an operator does: it begins or ends the row of a mark on the device, or both."""

    number: int
    begins: bool
    ends: bool


#: A stream has passed a mark: when, as which task of the stream, launched by which call.
StreamMoment = tuple[StreamMark, int, int, int]


class Marks:
    """`calls` are the operators; `launches` those that put something on the stream, which is always the compute stream.
    Marks whose message begins with `skipped` are left out: steps have another mark."""

    def __init__(self, data: HostData, simulates: bool, skipped: str) -> None:
        self.calls: list[Call] = []
        self.launches: dict[OpInfo, StreamMark] = {}
        self._marks: list[tuple[int, int, int, str, str]] = []
        self._begun: dict[int, list[int]] = {}
        self._tasks: dict[int, Task] = {}
        self._kernels: dict[str, Kernel] = {}
        self._taken = 0
        last = data.end or data.start
        kept = (mark for mark in data.marks if not mark[3].startswith(skipped))
        for start, to, tid, message, domain, stream in sorted(kept, key=lambda mark: mark[1] or last):
            end = last if to is None else to
            number = len(self._marks)
            self._marks.append((start, end, tid, message, domain))
            self.calls.append(Call(start, end, tid, OpInfo(message)))
            operators = [("mstx_range_start_op", start, True, False), ("mstx_range_end_op", end, False, True)]
            if start == end:
                operators = [("mstx_mark_op", start, True, True)]
            for name, at, begins, ends in operators if stream is not None and to is not None and simulates else ():
                info = OpInfo(name)
                self.launches[info] = StreamMark(number, begins, ends)
                until = at + _OPERATOR if ends else min(end, at + _OPERATOR)
                self.calls.append(Call(at, until, tid, info))

    def tasks(self, moments: Iterable[StreamMoment]) -> list[Task]:
        """Rows on the device of the marks that are complete."""
        out = []
        for (number, begins, ends), *now in moments:
            first = now if begins else self._begun.pop(number, None)
            if not ends:
                self._begun[number] = now
            elif first is not None:
                message, (begin, task, connection) = self._marks[number][3], first
                kernel = self._kernels.setdefault(message, Kernel(message, MSTX, "", MSTX))
                self._tasks[number] = Task(kernel, begin, now[0] + MARK - begin, STREAM, task, connection)
                out.append(self._tasks[number])
        return out

    def take(self, until: int, clock: Callable[[int], int], segment: Segment) -> None:
        """Hand over the marks that end before a time (recorded time)."""
        while self._taken < len(self._marks) and self._marks[self._taken][1] < until:
            start, end, tid, message, domain = self._marks[self._taken]
            segment.marks.append(UserMark(message, domain, tid, clock(start), clock(end), self._tasks.get(self._taken)))
            self._taken += 1
