"""Raw data of the mock device to result files. Needs no PyTorch; the same raw data give the same files.

The host's operators are those of PyTorch's profiler, the device's work is that of the device's log. Both are put in order
of time, and the simulated host does the same. The computation of the stand-in kernels on the CPU is excluded: the host
clock is paused during it. It waits where a host with an NPU would: for a value that it reads, for a synchronisation, and
at the end of a step; everything after a wait is shown later by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Callable

import numpy as np

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.backend import RAW_FOLDER, Progress, Settings
from tb_npu_plugin.capture.device.records import BACKWARD, NOTHING, Copy, Kind, Record, Recording, Signature, load
from tb_npu_plugin.capture.recording.host_lane import Call, HostLane, stacks_of
from tb_npu_plugin.capture.recording.operations import TorchExchanges, describe, launches_of
from tb_npu_plugin.capture.recording.raw_data import DEVICE, TRACE, HostData, read
from tb_npu_plugin.capture.recording.recorded_host import END, ROOM, HostClock, RecordedHost
from tb_npu_plugin.capture.simulation import records
from tb_npu_plugin.capture.simulation.chips import chosen_chip
from tb_npu_plugin.capture.simulation.device import MARK, STREAM
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.memory import CachingAllocator, Held
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.framework import Files
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import COMMUNICATION, TORCH
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.intervals import union
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.dialects import NEW
from tb_npu_plugin.schema.settings import LEVELS
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS, PROFILER_METADATA, SIMULATED
from tb_npu_plugin.schema.trace import STEP_MARK

_COMPUTED = (Kind.OPERATOR, Kind.COPY, Kind.COLLECTIVE, Kind.COLLECTIVE_WAIT)
#: Name of a block that no recorded operator allocated (the buckets of DistributedDataParallel, say).
_NO_OPERATOR = "unknown"
#: What happens on the host.
CALL_BEGINS, CALL_ENDS, FUNCTION_BEGINS, FUNCTION_ENDS, RECORD = range(5)

#: ns of the operators that put a mark on the stream: less than Python takes until it calls the next one.
_OPERATOR = 500


#: What an operator does: the number of a mark, and whether its row on the device begins and ends with it.
StreamMark = tuple[int, bool, bool]
#: A stream has passed a mark: when, as which task of the stream, launched by which call.
StreamMoment = tuple[StreamMark, int, int, int]


class Marks:
    """Marks and ranges of mstx: operators of their message on the host, and with a stream rows on the device (1.8).

    `calls` are the operators; `launches` those that put something on the stream, which is always the compute stream.
    Marks of steps are left out: steps have another one."""

    def __init__(self, data: HostData) -> None:
        self.calls: list[Call] = []
        self.launches: dict[records.OpInfo, StreamMark] = {}
        self._marks: list[tuple[int, int, int, str, str]] = []
        self._begun: dict[int, list[int]] = {}
        self._tasks: dict[int, records.Task] = {}
        self._kernels: dict[str, records.Kernel] = {}
        self._taken = 0
        last = data.end or data.start
        kept = (mark for mark in data.marks if not mark[3].startswith(STEP_MARK))
        for start, to, tid, message, domain, stream in sorted(kept, key=lambda mark: mark[1] or last):
            end = last if to is None else to
            number = len(self._marks)
            self._marks.append((start, end, tid, message, domain))
            self.calls.append(Call(start, end, tid, records.OpInfo(message)))
            operators = [("mstx_range_start_op", start, True, False), ("mstx_range_end_op", end, False, True)]
            if start == end:
                operators = [("mstx_mark_op", start, True, True)]
            is_on_device = stream is not None and to is not None and data.settings.npu
            for name, at, begins, ends in operators if is_on_device else ():
                info = records.OpInfo(name)
                self.launches[info] = (number, begins, ends)
                self.calls.append(Call(at, at + _OPERATOR if ends else min(end, at + _OPERATOR), tid, info))

    def tasks(self, moments: Iterable[StreamMoment]) -> Iterator[records.Task]:
        """Rows on the device of the marks that are complete."""
        for (number, begins, ends), *now in moments:
            first = now if begins else self._begun.pop(number, None)
            if not ends:
                self._begun[number] = now
            elif first is not None:
                message, (begin, task, connection) = self._marks[number][3], first
                kernel = self._kernels.setdefault(message, records.Kernel(message, records.MSTX, "", records.MSTX))
                self._tasks[number] = records.Task(kernel, begin, now[0] + MARK - begin, STREAM, task, connection)
                yield self._tasks[number]

    def take(self, until: int, clock: Callable[[int], int], segment: records.Segment) -> None:
        """Hand over the marks that end before a time (recorded time)."""
        while self._taken < len(self._marks) and self._marks[self._taken][1] < until:
            start, end, tid, message, domain = self._marks[self._taken]
            row = self._tasks.get(self._taken)
            segment.marks.append(records.UserMark(message, domain, tid, clock(start), clock(end), row))
            self._taken += 1


class Replay:
    """One capture. `segments` may be taken once. log: what the device did."""

    def __init__(self, data: HostData, lane: HostLane, log: Recording, chip: Chip) -> None:
        settings = data.settings
        self._data, self._npu, self._log = data, settings.npu, log
        computed = log.of(*_COMPUTED)
        host_time = HostClock(union(computed["begin"], computed["end"]))
        self._exchanges = TorchExchanges(settings, chip, log)
        recorded = {data.tid} | {tid for tid, _, _ in data.threads}
        self._rows = log.records
        autograd = {call.tid for call in lane.calls if call.forward} - recorded
        autograd |= set(np.unique(self._rows["thread"][(self._rows["flags"] & BACKWARD) > 0]).tolist()) - recorded
        self._autograd = autograd
        self._marks = Marks(data)
        calls = (*lane.calls, *self._marks.calls)
        self._calls = records.outer_first(call for call in calls if self._is_shown(call.tid, call.start))
        self._functions = records.outer_first(item for item in lane.functions if self._is_shown(item.tid, item.start))
        self._stacks = stacks_of(self._calls, self._functions) if settings.host.with_stack else []
        tids = sorted({data.tid, *(call.tid for call in self._calls)})
        dequeue = max([*tids, *autograd]) + 1
        #: Threads of the host; what others did counts for the main one.
        self._tids = {*tids, dequeue, *sorted(autograd)[:1]}
        launching = [dequeue] if settings.npu and settings.task_queue else []
        has_marks = any(call.info.name.startswith(STEP_MARK) for call in self._calls)
        whose = (data.pid, data.device, settings.rank or 0, settings.world, data.start, data.end or data.start)
        self.process = records.Process(*whose, settings.npu, has_marks, [*tids, *launching], dequeue, chip=chip)
        seed, has_runtime = f"{data.pid}/{data.start}", settings.level == "Level2"
        self._host = RecordedHost(self.process, seed, host_time, has_runtime, settings.task_queue)
        kernels = KernelFactory(chip)
        #: Of the operator with this number among the signatures.
        self._launches = cache(lambda number: launches_of(log.signatures[number], kernels))
        self._host.join(self._exchanges.groups)
        self._blocks = _held_before(self._host.allocator, self._rows)  # of the caching allocator, by address
        self._with_stack = cache(lambda info, stack: replace(info, stack=stack))
        self._gc_from = 0
        #: State of the current segment: its mark, operators that are open by number of their call, Python functions by
        #: number, and marks that streams have passed.
        self._step: records.HostOp | None = None
        self._open: dict[int, records.HostOp] = {}
        self._python: dict[int, records.PyCall] = {}
        self._moments: list[StreamMoment] = []

    def _is_shown(self, tid: int, at: int) -> bool:
        """The thread that started the capture, those of the backward pass, and threads while they are enabled."""
        if tid == self._data.tid or tid in self._autograd:
            return True
        return any(tid == other and since <= at < until for other, since, until in self._data.threads)

    def segments(self) -> Iterator[records.Segment]:
        """One per step, each to the end of its mark and the last one to the end; one for all without steps."""
        marks = [call for call in self._calls if call.info.name.startswith(STEP_MARK)]
        steps: list[Any] = sorted(marks, key=lambda call: call.start)
        bounds = [*(step.end for step in steps[:-1]), END]
        for step, until, events in zip(steps or [None], bounds, self._events(bounds)):
            yield self._segment(step, until, events)

    def _events(self, bounds: list[int]) -> list[records.Ints]:
        """What happens in each segment, in order: rows of time, kind (CALL_BEGINS, ...), and number among the calls, functions or records.

        What begins before a bound ends in the same segment.
        """
        limits = np.array(bounds, dtype=np.int64)

        def rows(begins: records.Ints, at: records.Ints, rank: int, tie: records.Ints, kind: int) -> records.Ints:
            segment = np.searchsorted(limits, begins, "right")
            return np.column_stack(np.broadcast_arrays(segment, at, rank, tie, kind, np.arange(len(at))))

        entries = self._rows["entry"]
        found = [rows(entries, entries, 2, np.arange(len(entries)), RECORD)]
        both: dict[int, Sequence[Any]] = {CALL_BEGINS: self._calls, FUNCTION_BEGINS: self._functions}
        for kind, spans in both.items():
            starts, ends = records.arrays(spans, "start", "end")
            ends = np.maximum(ends, starts + 1)
            # what ends makes room for what begins; the outer of two begins first and ends last
            found += [rows(starts, starts, 1, -ends, kind), rows(starts, ends, 0, -starts, kind + 1)]
        table = np.concatenate(found)
        segment, at, rank, tie, _, number = table.T
        table = table[np.lexsort((number, tie, rank, at, segment))]
        return [one[:, [1, 4, 5]] for one in np.split(table, np.searchsorted(table[:, 0], np.arange(1, len(bounds))))]

    def _segment(self, step: Call | None, until: int, events: records.Ints) -> records.Segment:
        """The segment of a step, with what begins before `until` (recorded time)."""
        host, data = self._host, self._data
        ats, kinds, numbers = events.T
        times: list[int] = host.recorded(ats).tolist()
        logged = map(Record._make, self._rows[numbers[kinds == RECORD]].tolist())
        limits = [*times[1:], times[-1] + ROOM] if times else []
        self._step, self._python, self._moments = None, {}, []
        host.clock.begin(times[0] if times else int(host.recorded(data.start)))
        for now, limit, kind, number in zip(times, limits, kinds.tolist(), numbers.tolist()):
            host.clock.move_to(now, limit)
            if kind == RECORD:
                self._replay(next(logged))
            elif kind == CALL_BEGINS:
                self._begin_call(number, step)
            elif kind == CALL_ENDS:
                self._end_call(number, step)
            elif kind == FUNCTION_BEGINS:
                self._python[number] = replace(self._functions[number], start=host.now)
            else:
                self._python[number].end = host.now
        if step is None:
            host.wait_for_device()
        segment = host.take()
        if step is not None and self._step is not None:
            segment.step = records.Step(int(step.info.name[len(STEP_MARK) :]), self._step.start, self._step.end)
        segment.until = END if until == END else self._host.shown(until)
        self.process.end = max(self.process.end, self._host.shown(data.end or data.start), host.device.busy_until())
        self._add_host_events(until, segment)
        if self._npu:
            host.device.meters.sample(segment, min(segment.until, self.process.end), host.allocator.reserved)
        return segment

    def _begin_call(self, number: int, step: Call | None) -> None:
        host, call = self._host, self._calls[number]
        host.use(call.tid, 0)
        op = self._open[number] = host.begin_operator(self._info(number), call.tid, call.sequence, call.forward)
        if (mark := self._marks.launches.get(call.info)) is not None:
            self._moments.append((mark, *host.mark(call.info.name)))
        if call is step:
            self._step = op

    def _end_call(self, number: int, step: Call | None) -> None:
        host, call = self._host, self._calls[number]
        host.use(call.tid, 0)
        if call is step:
            host.wait_for_device()
        host.end_operator(self._open.pop(number))

    def _add_host_events(self, until: int, segment: records.Segment) -> None:
        """Add what is on the host beside operators: Python, collections, marks."""
        with_stack = self._data.settings.host.with_stack
        segment.python = [call for call in self._python.values() if with_stack or call.module is not None]
        new, shown = [one for one in self._data.collections if self._gc_from <= one[0] < until], self._host.shown
        segment.gc = [records.GcPause(tid, shown(start), shown(end)) for start, end, tid in new]
        self._gc_from = until
        segment.tasks += self._marks.tasks(self._moments)
        self._marks.take(until, shown, segment)

    def _info(self, number: int) -> records.OpInfo:
        info, stack = self._calls[number].info, self._stacks[number] if self._stacks else ()
        return self._with_stack(info, stack) if stack else info

    def _replay(self, record: Any) -> None:
        """Do what a record of the device says."""
        host, kind = self._host, record.kind
        if kind in (Kind.VIEW, Kind.ARRIVAL):
            return
        tid = record.thread if record.thread in self._tids else self._data.tid
        host.use(tid, record.stream)
        if kind == Kind.ALLOCATE:
            if record.bytes > 0:
                self._blocks[record.id] = host.memory.allocate(host.op.name or _NO_OPERATOR, record.bytes, host.now)
        elif kind == Kind.FREE:
            if record.bytes > 0 and record.id in self._blocks:
                host.memory.release(self._blocks.pop(record.id), host.now, host.now)
        elif self._npu and self._is_shown(record.thread, record.entry):
            signature = self._log.signatures[record.signature] if record.signature >= 0 else None
            if host.open and host.open[-1] is not self._step:
                self._launch(record, signature)
            else:  # PyTorch's profiler has no operator here
                name = signature.name.partition(".")[0] if signature is not None else "npu"
                op = host.begin_operator(records.OpInfo(name), tid)
                self._launch(record, signature)
                host.end_operator(op)

    def _launch(self, record: Any, signature: Signature | None) -> None:
        """Launch what a record says."""
        host, kind = self._host, record.kind
        is_kernel = kind == Kind.OPERATOR or (kind == Kind.COPY and record.detail == Copy.DEVICE_TO_DEVICE)
        if is_kernel and signature is not None:
            host.launch_all(self._launches(record.signature))
        elif kind == Kind.COPY:
            host.copy(record.bytes, record.detail == Copy.DEVICE_TO_HOST, 1)
        elif kind == Kind.SYNC:
            host.synchronize()
        elif kind == Kind.EVENT_RECORD:
            host.done["event", record.id] = host.device.busy[host.stream]
        elif kind == Kind.STREAM_WAIT:
            host.wait_for("event", record.id)
        elif kind == Kind.COLLECTIVE_WAIT:
            host.wait_for("collective", record.id)
        elif kind == Kind.COLLECTIVE and signature is not None:
            self._exchanges.run(host, signature, record.id)


def _held_before(allocator: CachingAllocator, log: Any) -> dict[int, Held]:
    """Blocks by address that are freed without having been allocated: they were allocated before the capture."""
    out: dict[int, Held] = {}
    seen: set[int] = set()
    rows = log[(log["kind"] == Kind.ALLOCATE) | (log["kind"] == Kind.FREE)]
    for kind, address, size in zip(*(rows[name].tolist() for name in ("kind", "id", "bytes"))):
        if kind == Kind.FREE and size > 0 and address not in seen:
            out[address] = allocator.allocate(size), None
        seen.add(address)
    return out


def parse(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    """A Parse (capture/backend.py). TB_NPU_CHIP chooses the chip."""
    data = read(folder)
    chip = chosen_chip()
    trace = folder / RAW_FOLDER / TRACE
    total = 2 * trace.stat().st_size  # reading is about half of the work
    with gc_paused():
        lane = HostLane(trace, lambda done: progress(Progress(done, total, "reading")))
        log = _device_log(folder)
        replay = Replay(data, lane, log, chip)
        # what the script added, for the database; nothing where the process ended before it could be written
        metadata = {**side_files.read_object(folder / PROFILER_METADATA.name), SIMULATED: describe(log)}
        metadata.pop(GROUPS, None)
        options = _options(data.settings, tuple(export_types), metadata)
        files = Files(Output(out, replay.process, options, NEW, data.settings.rank is not None), TORCH)
        whole = (data.end or 0) - data.start
        for segment in replay.segments():
            files.add(segment)
            share = min(1.0, max(0, segment.until - data.start) / max(1, whole))
            progress(Progress(total // 2 + int(total // 2 * share * 0.9), total, "simulating"))
        files.close()
        progress(Progress(total, total, "done"))


def _device_log(folder: Path) -> Recording:
    """What the device did; nothing where the process had none."""
    path = folder / RAW_FOLDER / DEVICE
    try:
        return load(path)
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError, KeyError) as problem:
        raise BadFile(f"{path} cannot be used: {problem}", "Record it again.") from problem


#: Settings that Options have under the same names.
_SAME = ("l2_cache", "cpu", "npu", "gc_threshold", "sys_io", "sys_interconnection")


def _options(settings: Settings, export: tuple[str, ...], metadata: Mapping[str, Any]) -> Options:
    host, level = settings.host, LEVELS.get(settings.level, 0)
    return Options(
        *(level, settings.aic_metrics, host.record_shapes, host.profile_memory, host.with_stack or host.with_modules),
        export=export,
        **{name: getattr(settings, name) for name in _SAME},
        built_in_marks=(COMMUNICATION,) if settings.records_domain(COMMUNICATION) else (),
        metadata={**metadata, ENVIRONMENT: dict(settings.environment)},
    )
