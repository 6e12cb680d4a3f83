"""The device's half of trace_view.json: CANN calls, tasks, communication, counters, and the flows to them; and the texts that both
halves consist of. Source: docs/facts/ascend_pt.md, trace_view.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import repeat
from typing import Any, TypeVar, Union

from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.planes import PATTERNS, Pattern
from tb_npu_plugin.capture.simulation.records import MSTX, CommOp, Group, Segment, Task
from tb_npu_plugin.capture.writers.files import Output, us_text
from tb_npu_plugin.capture.writers.links import counters, port_speed
from tb_npu_plugin.capture.writers.overlap import OverlapRows
from tb_npu_plugin.schema import trace_events
from tb_npu_plugin.schema.trace_events import CALL_KEYS, CALL_PREFIX, OPERATION_KEYS, STEP_KEYS, TASK_KEYS, args_of


def quote(text: str) -> str:
    """JSON text of a name; the vendor does not escape what is outside ASCII."""
    return json.dumps(text, ensure_ascii=False)


def meta(kind: str, pid: int, tid: int, **args: Any) -> str:
    """An event that names or sorts a process or a thread."""
    return json.dumps({"name": kind, "pid": pid, "tid": tid, "args": args, "ph": "M"}, ensure_ascii=False)


def slice_text(name: str, pid: int, tid: int, ts: str, dur: float | str, args: str = "") -> str:
    """An event of the device. name, ts, args: JSON texts; dur: us."""
    rest = f', "args": {args}' if args else ""
    return f'{{"name": {name}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}{rest}, "ph": "X"}}'


def flow_end(end: str, name: str, category: str, id_: int, pid: int, tid: int, at: str) -> str:
    """The start ("s") or the end ("f") of a flow. at: JSON text of its time."""
    return (
        f'{{"ph": "{end}", "bp": "e", "name": "{name}", "id": {id_}, "pid": {pid}, "tid": {tid}, "ts": {at}, '
        f'"cat": "{category}"}}'
    )


#: Process, thread and JSON text of the time of one end of a flow.
End = tuple[int, int, str]


def flow(name: str, category: str, id_: int, start: End, end: End) -> str:
    """Both ends of a flow."""
    return f"{flow_end('s', name, category, id_, *start)}, {flow_end('f', name, category, id_, *end)}"


def process_rows(name: str, pid: int, label: str, sort: int, threads: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Events that name and sort a process, then its threads: (id, name)."""
    out = [meta("process_name", pid, 0, name=name), meta("process_labels", pid, 0, labels=label)]
    out.append(meta("process_sort_index", pid, 0, sort_index=sort))
    for tid, title in threads:
        out += [meta("thread_name", pid, tid, name=title), meta("thread_sort_index", pid, tid, sort_index=tid)]
    return out


Timed = tuple[int, str]
_Launch = TypeVar("_Launch", bound=Union[Task, CommOp])
_NO_ID, _UNSIGNED = "4294967295", (1 << 64) - 1
_DIRECTIONS = {COPIES[False].hardware: "host to device", COPIES[True].hardware: "device to host"}
_OPERATION, _CALL, _TASK, _STEP = map(args_of, (OPERATION_KEYS, CALL_KEYS, TASK_KEYS, STEP_KEYS))
#: Stands where texts are cut: a character that JSON does not have.
_CUT = "\0"


def process_id(output: Output, process: str) -> int:
    """Id of a process of the trace, outside those of the system (5.2)."""
    return (output.process.pid << 10) | (output.dialect.sorts[process] << 5) | output.process.device


#: Of each task the texts before its time, its duration, the number of its operator, what is last, and after that.
_Texts = list[list[str]]


class DeviceEvents:
    """(start, text) of the events of one device."""

    def __init__(self, output: Output) -> None:
        self._output, self._options, self._dialect = output, output.options, output.dialect
        self._ts = output.dialect.ts
        self._pids = {name: process_id(output, name) for name in output.dialect.sorts}
        self._call_texts, self._quoted = cache(self._make_call_texts), cache(quote)
        self._speed = port_speed(output)
        self.streams: set[int] = set()
        self.cann_threads: set[int] = set()
        self.mark_threads: set[int] = set()
        self._operations = 800  # so many tasks of communication had the stream before
        self._plane_texts = lru_cache(PATTERNS)(self._make_plane_texts)

    def cann(self, segment: Segment) -> Iterator[Timed]:
        """CANN calls that the level shows, and the starts of the flows to the device."""
        self.cann_threads.update({call.tid for call in segment.cann})
        ts, pid, level = self._ts, self._pids["CANN"], self._options.level
        for call in segment.cann if level >= 1 else ():
            if level >= 2 or call.level != "runtime":
                name, args = self._call_texts(call.level, call.name, call.item, call.mode)
                tid, start = call.tid, call.start
                values = _CALL % (tid, *args, call.connection)
                yield start, slice_text(name, pid, tid, ts(start), (call.end - start) / 1000, values)
        launched: list[Task | CommOp] = [*(task for task in segment.tasks if task.acl is not None), *segment.comm]
        for launch in _first(launched):
            at, id_ = launch.acl or 0, device_id(launch)
            text = f'{{"name": "HostToDevice{id_}", "ph": "s", "cat": "HostToDevice", "id": "{id_}", '
            yield at, f'{text}"pid": {pid}, "tid": {launch.acl_tid}, "ts": {ts(at)}}}'

    def _make_call_texts(self, level: str, name: str, item: str, mode: str) -> tuple[str, tuple[str, ...]]:
        level = self._dialect.cann_level if level == "hccl" else level
        return quote(CALL_PREFIX[level] + name), (quote(mode), quote(level), quote(name), quote(item))

    def _arrive(self, at: int, pid: int, tid: int, id_: str) -> Timed:
        return at, (
            f'{{"name": "HostToDevice{id_}", "ph": "f", "id": "{id_}", "ts": {self._ts(at)}, "cat": "HostToDevice", '
            f'"pid": {pid}, "tid": {tid}, "bp": "e"}}'
        )

    def tasks(self, segment: Segment) -> Iterator[Timed]:
        """Tasks of the streams, and the ends of the flows to them."""
        ts, pid = self._ts, self._pids["Ascend Hardware"]
        detailed, linked = self._options.level >= 2, self.linked
        first: dict[int, Task] = {}
        self.streams.update({task.stream for task in segment.tasks})
        for task in segment.tasks:
            kernel, stream, start = task.kernel, task.stream, task.start
            size = ""
            if detailed and task.size:
                size = f', "data size(Byte)": {task.size}, "memcpy direction": "{_DIRECTIONS[kernel.hardware]}"'
            args = _TASK % (_NO_ID, f'"{kernel.hardware}"', stream, task.task, task.batch, _NO_ID, task.connection)
            args = f"{args[:-1]}{size}{linked(task)}}}"
            yield start, slice_text(self._quoted(kernel.name), pid, stream, ts(start), us_text(task.dur), args)
            if task.acl is not None:
                yield self._arrive(start, pid, stream, device_id(first.setdefault(task.connection, task)))

    def linked(self, task: Task) -> str:
        """Further arguments of a task, from the framework."""
        return ""

    def communication(self, segment: Segment) -> list[Timed]:
        out: list[Timed] = []
        ts, pid, with_planes = self._ts, self._pids["Communication"], self._options.level >= 1
        for op in segment.comm:
            base, start = self.row_of(op.group), op.start
            args = _OPERATION % (op.connection, _NO_ID, f'"{op.data_type}"', f'"{op.algorithm}"', op.count)
            out.append((start, slice_text(quote(op.name), pid, base, ts(start), op.dur / 1000, args)))
            out.append(self._arrive(start, pid, base, device_id(op)))
            self.streams.add(op.group.stream)
            self._operations += 1
            starts, durs, pattern = op.planes.starts, op.planes.durs, op.planes.pattern
            on_stream, on_planes = self._plane_texts(pattern, base, op.group, op.data_type)
            out += self._filled(on_stream, starts, durs, repeat(op.connection))
            if with_planes:
                rates = (task.size / dur if dur else 0.0 for task, dur in zip(pattern.tasks, durs))
                out += self._filled(on_planes, starts, durs, rates)
        return out

    def _filled(self, texts: _Texts, starts: list[int], durs: list[int], last: Iterable[float]) -> list[Timed]:
        ts, number = self._ts, self._operations
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{what}{value}{end}")
            for (name, at, args, what, end), start, dur, value in zip(texts, starts, durs, last)
        ]

    def _make_plane_texts(self, pattern: Pattern, row: int, group: Group, data_type: str) -> tuple[_Texts, _Texts]:
        """Texts on the hardware stream of the group, and on its planes. Operators of one pattern differ in times, numbers and rates:
        the texts between these are put together once."""
        stream, on_stream, on_planes = group.stream, [], []
        for place, task in enumerate(pattern.tasks):
            kind = f'"{task.kind}"'
            args = _TASK % (_NO_ID, kind, stream, _CUT, 0, place, _CUT)
            on_stream.append(slice_text(kind, self._pids["Ascend Hardware"], stream, _CUT, _CUT, args).split(_CUT))
            notify, name, thread = f'"{task.notify_id & _UNSIGNED}"', f'"{task.name}"', row + 1 + task.plane
            moved = f'"{task.transport}"', task.size, f'"{task.data_type(data_type)}"', f'"{task.link}"'
            numbers = notify, task.estimated_us, stream, _CUT, place
            args = _STEP % (*numbers, name, task.src, task.target, *moved, _CUT, _NO_ID)
            on_planes.append(slice_text(name, self._pids["Communication"], thread, _CUT, _CUT, args).split(_CUT))
        return on_stream, on_planes

    def row_of(self, group: Group) -> int:
        """First thread of a communicator: its operator row, then its planes."""
        groups = self._output.process.groups
        return sum(1 + other.planes for other in groups if other.planes and other.index < group.index)

    def counters(self, segment: Segment) -> Iterator[Timed]:
        for one in segment.samples:
            found: list[tuple[str, str, str, float]] = [("AI Core Freq", "AI Core Freq", "MHz", one.clock)]
            for bank, rates in enumerate(one.banks):
                for way, rate in zip(("Read", "Write"), rates):
                    found.append(("HBM", f"HBM {bank}/{way}", f"{way}(MB/s)", rate))
            found.append(("LLC", "LLC 0 Read/Throughput", "Throughput(MB/s)", one.throughput))
            found.append(("LLC", "LLC 0 Read/Hit Rate", "Hit Rate(%)", one.hit_rate))
            for name, size in (("APP", one.sizes["PROCESS"]), ("Device", one.device)) if self._options.memory else ():
                kinds = ("DDR", 0.0), ("HBM", size / 1024), ("Memory", size / 1024)
                found += [("NPU MEM", f"{name}/{kind}", "KB", value) for kind, value in kinds]
            yield from (self._counter(one.at, process, name, {key: value}) for process, name, key, value in found)

    def links(self, segment: Segment) -> Iterator[Timed]:
        for sample in segment.links:
            for name, values in counters(sample, self._speed).items():
                yield self._counter(sample.at, sample.link, name, values)

    def _counter(self, at: int, process: str, name: str, values: Mapping[str, float]) -> Timed:
        args = ", ".join([f'"{key}": {value}' for key, value in values.items()])
        return at, (
            f'{{"name": "{name}", "ts": {self._ts(at)}, "pid": {self._pids[process]}, "tid": 0, "args": {{{args}}}, '
            f'"ph": "C"}}'
        )

    def overlap(self, rows: OverlapRows) -> Iterator[Timed]:
        pid, names = self._pids["Overlap Analysis"], [f'"{name}"' for name in trace_events.OVERLAPS]
        for start, end, kind in rows.tolist():
            yield start, slice_text(names[kind], pid, kind, self._ts(start), (end - start) / 1000)

    def torch_to_npu(self, segment: Segment) -> Iterator[Timed]:
        """Flows from the operator that launched a task to the task: both ends in one text."""
        pid, ts = self._pids["Ascend Hardware"], self._ts
        tasks = _first(task for task in segment.tasks if task.op is not None)
        ends: list[tuple[Task | CommOp, int, int]] = [(task, pid, task.stream) for task in tasks]
        ends += [(op, self._pids["Communication"], self.row_of(op.group)) for op in segment.comm]
        for launch, pid, tid in ends:
            assert launch.op is not None
            start = self._output.process.pid, launch.op.tid, ts(launch.op.start)
            at = launch.start
            yield at, flow("torch_to_npu", "async_npu", at, start, (pid, tid, ts(at)))

    def host_marks(self, segment: Segment) -> Iterator[Timed]:
        """Marks of mstx by the thread that set them."""
        self.mark_threads.update({mark.tid for mark in segment.marks})
        ts, pid = self._ts, self._pids[trace_events.MSTX]
        for mark in segment.marks:
            args = trace_events.MSTX_ARGS.format(quote(mark.kind), quote(mark.domain))
            times = ts(mark.start), (mark.end - mark.start) / 1000
            yield mark.start, slice_text(quote(mark.message), pid, mark.tid, *times, args)

    def marks(self, segment: Segment) -> Iterator[Timed]:
        """Flows from marks of mstx to their rows on the device: both ends in one text."""
        ts, pid, host = self._ts, self._pids["Ascend Hardware"], self._pids[trace_events.MSTX]
        for mark in segment.marks:
            if (task := mark.task) is not None:
                start, end = (host, mark.tid, ts(mark.start)), (pid, task.stream, ts(task.start))
                yield task.start, flow(MSTX, MSTX, task.connection, start, end)


def _first(launches: Iterable[_Launch]) -> list[_Launch]:
    """Of the launches with the same connection the first one."""
    out: dict[int, _Launch] = {}
    for launch in launches:
        out.setdefault(launch.connection, launch)
    return list(out.values())


def device_id(launch: Task | CommOp) -> str:
    """Id of a HostToDevice flow: opaque, may exceed 64 bits (5.5)."""
    if isinstance(launch, CommOp):
        return str((launch.connection << 32) - 1)
    if not launch.kernel.core:
        return str(launch.connection)
    return str((launch.stream << 64) | (launch.task << 48) | (launch.batch << 32) | 0xFFFFFFFF)
