"""The host data drive the device: every operator that PyTorch ran is enqueued, launched and run on a simulated NPU.

Times of the host are the recorded ones, except that the host waits where it would: for a value that it reads from the
device, and at the end of a step. What comes after a wait is later by as much. The backward pass, which PyTorch runs on the
calling thread on a CPU, runs on a thread of its own as it does with a device.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Union

from tb_npu_plugin.capture.mock import operators
from tb_npu_plugin.capture.mock.collective import Peers
from tb_npu_plugin.capture.mock.host import HostData
from tb_npu_plugin.capture.mock.kineto import Call, Function, Recorded, Signature
from tb_npu_plugin.capture.mock.memory import Memory
from tb_npu_plugin.capture.mock.mstx import Marks, StreamMark
from tb_npu_plugin.capture.mock.nesting import Nested, nest
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.device import LEVEL_2
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice
from tb_npu_plugin.capture.simulation.records import (
    GcPause,
    HostOp,
    OpInfo,
    Process,
    PyCall,
    Segment,
    Step,
    by_start,
    outer_first,
)

STEP = "ProfilerStep#"
#: ns that one launch takes on the host at most, and how long after the device the host notices that it is done.
_LAUNCH, _NOTICE = 12_000, 15_000
_END = 1 << 63

Work = Union[tuple[Launch, ...], Transfer, StreamMark, int]


class Clock:
    """Recorded time to shown time: later by all waits before."""

    def __init__(self) -> None:
        self._at, self._later = [0], [0]

    def __call__(self, at: int) -> int:
        """Shown time of a recorded time."""
        if at >= self._at[-1]:
            return at + self._later[-1]
        return at + self._later[bisect_right(self._at, at) - 1]

    def wait(self, at: int, until: int) -> None:
        """The host waits from `at`, recorded time, until `until`, shown time. Waits come in order."""
        by = until - self(at)
        if by > 0:
            self._at.append(at)
            self._later.append(self._later[-1] + by)


@dataclass
class Part:
    """What one segment is made of: everything that begins before `until` (recorded time)."""

    step: Call | None
    until: int
    calls: list[Call] = field(default_factory=list)


class Replay:
    """One capture. `segments` may be taken once."""

    def __init__(self, data: HostData, recorded: Recorded, chip: Chip) -> None:
        settings = data.settings
        self._data, self._recorded, self._npu = data, recorded, settings.simulates
        self._marks = Marks(data, self._npu, STEP)
        self._calls = [*recorded.calls, *self._marks.calls]
        self._calls = [call for call in outer_first(self._calls) if _wanted(data, call.tid, call.start)]
        self._functions = [item for item in recorded.functions if _wanted(data, item.tid, item.start)]
        self._functions = outer_first(self._functions)
        tids = {data.tid, *(call.tid for call in self._calls)}
        self.process = Process(
            data.pid,
            data.device,
            settings.rank or 0,
            settings.world,
            data.start,
            data.end or data.start,
            settings.npu,
            soc=chip.soc,
            split=chip.split,
            cube_cores=chip.cube_cores,
            clock=chip.clock,
        )
        self._autograd = max(tids) + 1 if settings.npu else 0
        self.process.dequeue_tid = max(tids) + 2
        launching = [self.process.dequeue_tid] if settings.npu and settings.task_queue else []
        self.process.threads = [*sorted(tids), *launching, *([self._autograd] if settings.npu else [])]
        self.process.marks = any(call.signature.name.startswith(STEP) for call in self._calls)
        random = Random(f"{data.pid}/{data.start}")
        self._device = RecordedDevice(
            chip,
            random,
            data.start,
            self.process.dequeue_tid,
            settings.level == "Level2",
            task_queue=settings.task_queue,
        )
        self._kernels, self._chip = KernelFactory(chip), chip
        self._peers = Peers(settings, chip, data, self._calls, recorded.works)
        self.process.groups = self._peers.groups
        self._device.meters.communicators = len(self._peers.groups)
        self._memory = Memory(chip.memory, recorded.memory)
        self._clock = Clock()
        self._infos: dict[tuple[Signature, tuple[str, ...]], OpInfo] = {}
        self._launches: dict[Signature, tuple[Launch, ...]] = {}
        self._gc_from = 0  # collections before belong to the segments before

    # -- segments -----------------------------------------------------------------------------------
    def segments(self) -> Iterator[Segment]:
        """One per step; one for all without steps."""
        functions = iter(self._functions)
        ahead = next(functions, None)
        parts = self._parts()
        for part in parts:
            mine: list[Function] = []
            while ahead is not None and ahead.start < part.until:
                mine.append(ahead)
                ahead = next(functions, None)
            segment = self._device.segment = Segment()
            self._replay(part, mine, segment)
            self.process.end = max(self.process.end, self._clock(self._data.end or 0), self._device.busy_until())
            segment.until = _END if part is parts[-1] else self._clock(part.until)
            self._device.meters.sample(segment, min(segment.until, self.process.end), self._memory.reserved)
            yield segment

    def _parts(self) -> list[Part]:
        """Cut at the end of each step; what follows the last one belongs to it."""
        steps = [call for call in self._calls if call.signature.name.startswith(STEP)]
        parts = [Part(step, step.end) for step in steps] or [Part(None, _END)]
        parts[-1].until = _END
        at = 0
        for call in self._calls:
            while call.start >= parts[at].until:
                at += 1
            parts[at].calls.append(call)
        return parts

    def _replay(self, part: Part, functions: list[Function], segment: Segment) -> None:
        host = self._data.settings.host
        nested = nest(part.calls, functions if host.with_stack else [], self._autograd, self._memory.take(part.until))
        ops = [
            HostOp(self._info(call.signature, stack), tid, call.start, call.end, call.sequence, call.forward)
            for call, stack, tid in zip(part.calls, nested.stacks, nested.tids)
        ]
        if self._npu:
            self._run(part, nested, ops, segment)
        clock = self._clock
        for op in ops:
            op.start, op.end = clock(op.start), clock(op.end)
        segment.ops = ops
        if part.step is not None:
            number = part.step.signature.name[len(STEP) :]
            segment.step = Step(int(number), clock(part.step.start), clock(part.step.end))
        segment.python = [
            PyCall(item.name, item.tid, clock(item.start), clock(item.end), item.id, item.parent, item.module)
            for item in functions
            if host.with_stack or item.module is not None
        ]
        segment.gc = [
            GcPause(tid, clock(start), clock(end))
            for start, end, tid in self._data.collections
            if self._gc_from <= start < part.until
        ]
        self._gc_from = part.until
        self._marks.take(part.until, clock, segment)
        self._memory.write(nested.holders, ops, clock, segment)

    def _info(self, signature: Signature, stack: tuple[str, ...]) -> OpInfo:
        key = (signature, stack)
        found = self._infos.get(key)
        if found is None:
            found = self._infos[key] = OpInfo(signature.name, signature.shapes, signature.types, stack)
        return found

    # -- launches -----------------------------------------------------------------------------------
    def _run(self, part: Part, nested: Nested, ops: list[HostOp], segment: Segment) -> None:
        """Launch what the operators launch, in order of time. At the end of the step the host waits for the device: what
        runs behind the last one (a finalizer, a thread that asked to be recorded) is later by that."""
        calls, step_end = part.calls, part.step.end if part.step is not None else _END
        planned: list[tuple[int, int, int, Work]] = []  # from, room, operator, what
        starts = [call.start for call in calls]
        for number, work in self._work(calls, nested):
            place = _place(calls[number], number, starts, nested.last[number], _count(work))
            if place is not None:
                planned.append((*place, number, work))
        planned.sort(key=lambda item: item[:3])
        for at, room, number, work in planned:
            op = ops[number]
            if at >= step_end:
                step_end = self._end_step(step_end)
            backward = op.tid == self._autograd
            self._peers.waits.until(self._device, at)
            if isinstance(work, tuple):
                if not backward:  # gradients are reduced beside the backward pass
                    self._peers.waits.backward_is_over(self._device)
                for launch in work:
                    self._launch(launch, op, self._clock(at), room)
                    self._launched(at + room)
                    at += room
            elif isinstance(work, Transfer):
                start = self._clock(at)
                end = start + room * 9 // 10
                self._peers.communicate(self._device, work, op, calls[number], start, end, later=backward)
                self._launched(at + room)
            elif isinstance(work, StreamMark):
                row = self._marks.launch(self._device, work, op, self._clock(at), self._clock(at) + room * 9 // 10)
                segment.tasks += [row] if row is not None else []
                self._launched(at + room)
            else:
                self._read(work, op, calls[number], self._clock(at), room)
        if calls:
            self._peers.waits.until(self._device, max(call.end for call in calls))
        if step_end != _END:
            self._end_step(step_end)
        segment.tasks = sorted(segment.tasks, key=by_start)
        segment.comm = sorted(segment.comm, key=by_start)
        segment.cann = outer_first(segment.cann)

    def _end_step(self, at: int) -> int:
        """Wait for the device; gives the end of the next step of the part, which there is none of."""
        self._peers.waits.until(self._device, at)
        self._clock.wait(at, self._device.busy_until() + _NOTICE)
        return _END

    def _work(self, calls: list[Call], nested: Nested) -> Iterator[tuple[int, Work]]:
        """What each operator does on the device. One inside an operator that launches for all does nothing."""
        covered = [False] * len(calls)
        busy = [False] * len(calls)
        for number, parent in enumerate(nested.parents):
            if parent >= 0:
                covered[number] = covered[parent] or operators.owns(calls[parent].signature)
        for number in range(len(calls) - 1, -1, -1):
            parent = nested.parents[number]
            work = None if covered[number] else self._own_work(calls[number], busy[number])
            if work is not None:
                yield number, work
            if parent >= 0 and (work is not None or busy[number]):
                busy[parent] = True

    def _own_work(self, call: Call, inner: bool) -> Work | None:
        """None: nothing. inner: operators inside it launch something."""
        signature = call.signature
        if signature.name == operators.ITEM:
            return 8
        mark = self._marks.launches.get(signature)
        if mark is not None:
            return mark
        transfer = self._peers.transfer(call)
        if transfer is not None:
            return transfer
        if inner and not operators.owns(signature):
            return None
        found = self._launches.get(signature)
        if found is None:
            found = self._launches[signature] = operators.launches(self._kernels, signature)
            for launch in found:
                self._device.warm(launch.kernel)  # compiled in the steps before the capture
        return found or None

    def _launched(self, at: int) -> None:
        """Without a task queue the operator has launched by itself: what comes from `at` on, recorded time, is later."""
        if not self._device.task_queue:
            self._clock.wait(at, self._device.free_at)

    def _launch(self, launch: Launch, op: HostOp, at: int, room: int) -> None:
        if not launch.compiled and self._device.task_queue != LEVEL_2:
            name, mode = launch.prepared
            self._device.call("acl", name, "0", mode, at, at + room * 4 // 10, op.tid)
        self._device.launch(launch, op, at + room // 2, at + room * 9 // 10)

    def _read(self, size: int, op: HostOp, call: Call, at: int, room: int) -> None:
        """Copy a value to the host, which waits for it."""
        device = self._device
        end = at + room * 9 // 10
        device.copy(size, True, op, at + room // 2, end)
        end = max(end, device.free_at) if not device.task_queue else end
        done = max(device.busy_until() + _NOTICE, end + 1)
        self._clock.wait(call.end, done)
        device.call("acl", "aclrtSynchronizeStreamWithTimeout", "0", "ACL_RTS", end, self._clock(call.end), op.tid)


def _count(work: Work) -> int:
    return len(work) if isinstance(work, tuple) else 1


def _place(call: Call, number: int, starts: list[int], last: int, count: int) -> tuple[int, int] | None:
    """Where an operator can enqueue `count` times while none that began later is open: start and room for each."""
    until = min(call.end, starts[number + 1]) if number + 1 < len(starts) else call.end
    for start, end in ((call.start, until), (last, call.end)):
        room = min(_LAUNCH, (end - start - 2) // count)
        if room >= 10 and (start == call.start or _quiet(starts, start, end)):
            return start + 1, room
    return None


def _quiet(starts: list[int], start: int, end: int) -> bool:
    """No operator of any thread begins in between."""
    at = bisect_right(starts, start)
    return at == len(starts) or starts[at] >= end


def _wanted(data: HostData, tid: int, at: int) -> bool:
    """The thread that started the capture, and those that asked for it while they did."""
    return tid == data.tid or any(tid == other and since <= at < until for other, since, until in data.threads)
