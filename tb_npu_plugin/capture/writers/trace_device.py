"""The device's half of trace_view.json: CANN calls, tasks, communication, counters, and the flows to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import MSTX, CommOp, Group, Kernel, Segment, Task
from tb_npu_plugin.capture.writers import plane_tasks
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.links import counters, port_speed
from tb_npu_plugin.capture.writers.overlap import OVERLAP, OverlapRows
from tb_npu_plugin.capture.writers.text import us_text
from tb_npu_plugin.capture.writers.trace_text import Clock, flow_end, quote
from tb_npu_plugin.schema import trace_events
from tb_npu_plugin.schema.trace_events import CALL_KEYS, CALL_PREFIX, OPERATION_KEYS, STEP_KEYS, TASK_KEYS, args_of

Timed = tuple[int, str]
_NO_ID = "4294967295"
_DIRECTIONS = {COPIES[False].hardware: "host to device", COPIES[True].hardware: "device to host"}
_OPERATION, _CALL, _TASK = args_of(OPERATION_KEYS), args_of(CALL_KEYS), args_of(TASK_KEYS)


def process_id(output: Output, process: str) -> int:
    """Id of a process of the trace that is none of the system (5.2)."""
    return (output.process.pid << 10) | (output.dialect.sorts[process] << 5) | output.process.device


class DeviceEvents:
    """(start, text) of the events of one device; `ts` writes their times."""

    def __init__(self, output: Output, ts: Clock) -> None:
        self._output, self._options, self._dialect, self._ts = output, output.options, output.dialect, ts
        self._pids = {name: process_id(output, name) for name in output.dialect.sorts}
        self._call_texts, self._task_text = cache(self._make_call_texts), cache(self._make_task_text)
        self._speed = port_speed(output)
        self.streams: set[int] = set()
        self.cann_threads: set[int] = set()
        self.mark_threads: set[int] = set()
        self._planes = PlaneEvents(self._pids["Communication"], self._pids["Ascend Hardware"], ts)

    def cann(self, segment: Segment) -> list[Timed]:
        """CANN calls that the level shows, and the starts of the flows to the device."""
        out: list[Timed] = []
        self.cann_threads.update({call.tid for call in segment.cann})
        ts, pid = self._ts, self._pids["CANN"]
        if self._options.level >= 1:
            with_runtime = self._options.level >= 2
            for call in segment.cann:
                if call.level == "runtime" and not with_runtime:
                    continue
                front, args = self._call_texts(call.level, call.name, call.item, call.mode)
                tid, start = call.tid, call.start
                out.append(
                    (
                        start,
                        f'{front}{tid}, "ts": {ts(start)}, "dur": {(call.end - start) / 1000}, "args": '
                        f'{_CALL % (tid, *args, call.connection)}, "ph": "X"}}',
                    )
                )
        seen = set()
        launches: list[Task | CommOp] = [*segment.tasks, *segment.comm]
        for launch in launches:
            acl = launch.acl
            if acl is None or launch.connection in seen:
                continue
            seen.add(launch.connection)
            id_ = device_id(launch)
            out.append(
                (
                    acl,
                    f'{{"name": "HostToDevice{id_}", "ph": "s", "cat": "HostToDevice", "id": "{id_}", "pid": {pid}, '
                    f'"tid": {launch.acl_tid}, "ts": {ts(acl)}}}',
                )
            )
        return out

    def _make_call_texts(self, level: str, name: str, item: str, mode: str) -> tuple[str, tuple[str, ...]]:
        """What precedes the thread, and arguments."""
        level = self._dialect.cann_level if level == "hccl" else level
        front = f'{{"name": {quote(CALL_PREFIX[level] + name)}, "pid": {self._pids["CANN"]}, "tid": '
        return front, (quote(mode), quote(level), quote(name), quote(item))

    def _make_task_text(self, kernel: Kernel) -> str:
        """What precedes the stream."""
        return f'{{"name": {quote(kernel.name)}, "pid": {self._pids["Ascend Hardware"]}, "tid": '

    def _arrive(self, at: int, pid: int, tid: int, id_: str) -> Timed:
        return at, (
            f'{{"name": "HostToDevice{id_}", "ph": "f", "id": "{id_}", "ts": {self._ts(at)}, "cat": "HostToDevice", '
            f'"pid": {pid}, "tid": {tid}, "bp": "e"}}'
        )

    def tasks(self, segment: Segment) -> list[Timed]:
        """Tasks of the streams, and the ends of the flows to them."""
        out: list[Timed] = []
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
            out.append(
                (
                    start,
                    f'{self._task_text(kernel)}{stream}, "ts": {ts(start)}, "dur": {us_text(task.dur)}, "args": {args[:-1]}{size}'
                    f'{linked(task)}}}, "ph": "X"}}',
                )
            )
            if task.acl is not None:
                id_ = device_id(first.setdefault(task.connection, task))
                out.append(self._arrive(start, pid, stream, id_))
        return out

    def linked(self, task: Task) -> str:
        """Further arguments of a task, from the framework."""
        return ""

    def communication(self, segment: Segment) -> list[Timed]:
        """Communication operators, and their tasks on streams and planes."""
        out: list[Timed] = []
        ts, pid, with_planes = self._ts, self._pids["Communication"], self._options.level >= 1
        for op in segment.comm:
            base, data_type = self.row_of(op.group), f'"{op.data_type}"'
            args = _OPERATION % (op.connection, _NO_ID, data_type, f'"{op.algorithm}"', op.count)
            out.append(
                (
                    op.start,
                    f'{{"name": {quote(op.name)}, "pid": {pid}, "tid": {base}, "ts": {ts(op.start)}, '
                    f'"dur": {op.dur / 1000}, "args": {args}, "ph": "X"}}',
                )
            )
            out.append(self._arrive(op.start, pid, base, device_id(op)))
            self.streams.add(plane_tasks.stream_of(op.group))
            out += self._planes.on_stream(op)
            if with_planes:
                out += self._planes.on_planes(op, base)
        return out

    def row_of(self, group: Group) -> int:
        """First thread of a communicator: its operator row, then its planes."""
        groups = self._output.process.groups
        return sum(1 + other.planes for other in groups if other.planes and other.index < group.index)

    def samples(self, segment: Segment) -> list[Timed]:
        """Counters."""
        memory = self._options.memory
        return [
            self._counter(sample.at, sample.process, sample.name, {sample.key: sample.value})
            for sample in segment.samples
            if memory or sample.process != "NPU MEM"
        ]

    def links(self, segment: Segment) -> list[Timed]:
        """Counters of the links."""
        return [
            self._counter(sample.at, sample.link, name, values)
            for sample in segment.links
            for name, values in counters(sample, self._speed).items()
        ]

    def _counter(self, at: int, process: str, name: str, values: Mapping[str, float]) -> Timed:
        args = ", ".join([f'"{key}": {value}' for key, value in values.items()])
        return at, (
            f'{{"name": "{name}", "ts": {self._ts(at)}, "pid": {self._pids[process]}, "tid": 0, "args": {{{args}}}, '
            f'"ph": "C"}}'
        )

    def overlap(self, rows: OverlapRows) -> list[Timed]:
        """Rows of Overlap Analysis."""
        ts, pid = self._ts, self._pids["Overlap Analysis"]
        return [
            (
                start,
                f'{{"name": "{OVERLAP[kind]}", "pid": {pid}, "tid": {kind}, "ts": {ts(start)}, '
                f'"dur": {(end - start) / 1000}, "ph": "X"}}',
            )
            for start, end, kind in rows.tolist()
        ]

    def torch_to_npu(self, segment: Segment) -> list[Timed]:
        """Flows from the operator that launched a task to the task: both ends in one text."""
        out: list[Timed] = []
        seen = set()
        pid = self._pids["Ascend Hardware"]
        for task in segment.tasks:
            if task.op is not None and task.connection not in seen:
                seen.add(task.connection)
                out.append(self._flow(task, pid, task.stream))
        pid = self._pids["Communication"]
        return out + [self._flow(op, pid, self.row_of(op.group)) for op in segment.comm]

    def host_marks(self, segment: Segment) -> list[Timed]:
        """Marks of mstx by the thread that set them."""
        self.mark_threads.update({mark.tid for mark in segment.marks})
        ts, pid = self._ts, self._pids[trace_events.MSTX]
        return [
            (
                mark.start,
                f'{{"name": {quote(mark.message)}, "pid": {pid}, "tid": {mark.tid}, "ts": {ts(mark.start)}, '
                f'"dur": {(mark.end - mark.start) / 1000}, "args": '
                f'{trace_events.MSTX_ARGS.format(quote(mark.kind), quote(mark.domain))}, "ph": "X"}}',
            )
            for mark in segment.marks
        ]

    def marks(self, segment: Segment) -> list[Timed]:
        """Flows from marks of mstx to their rows on the device: both ends in one text."""
        out: list[Timed] = []
        ts, pid, host = self._ts, self._pids["Ascend Hardware"], self._pids[trace_events.MSTX]
        for mark in segment.marks:
            if (task := mark.task) is not None:
                start = flow_end("s", MSTX, MSTX, task.connection, host, mark.tid, ts(mark.start))
                end = flow_end("f", MSTX, MSTX, task.connection, pid, task.stream, ts(task.start))
                out.append((task.start, f"{start}, {end}"))
        return out

    def _flow(self, launch: Task | CommOp, pid: int, tid: int) -> Timed:
        op, at, host = launch.op, launch.start, self._output.process.pid
        assert op is not None
        start = flow_end("s", "torch_to_npu", "async_npu", at, host, op.tid, self._ts(op.start))
        return at, f"{start}, {flow_end('f', 'torch_to_npu', 'async_npu', at, pid, tid, self._ts(at))}"


def device_id(launch: Task | CommOp) -> str:
    """Id of a HostToDevice flow: opaque, may exceed 64 bits (5.5)."""
    if isinstance(launch, CommOp):
        return str((launch.connection << 32) - 1)
    if not launch.kernel.core:
        return str(launch.connection)
    return str((launch.stream << 64) | (launch.task << 48) | (launch.batch << 32) | 0xFFFFFFFF)


_NO_ID, _UNSIGNED = "4294967295", (1 << 64) - 1
_ARGS, _TASK_ARGS = args_of(STEP_KEYS), args_of(TASK_KEYS)
#: Stands where the texts are cut: a character that JSON does not have.
_CUT = "\0"
#: Texts before the time of a task, its duration, the number and the connection of its operator, and after that.
_StreamTexts = list[str]
#: Texts before the time of a task, its duration, the number of its operator and its rate, and after that; bytes.
_Texts = tuple[str, str, str, str, str, int]


class PlaneEvents:
    """(start, text) of the tasks of each operator. pid, hardware: of the trace's processes; `ts` writes their times."""

    def __init__(self, pid: int, hardware: int, ts: Clock) -> None:
        self._pid, self._hardware, self._ts = pid, hardware, ts
        self._operations = 800  # so many tasks had the stream before
        self._texts = lru_cache(plane_tasks.PATTERNS)(self._make_texts)
        self._stream_texts = lru_cache(plane_tasks.PATTERNS)(self._make_stream_texts)

    def on_stream(self, op: CommOp) -> list[tuple[int, str]]:
        """Tasks of the next operator on its stream, which every level has."""
        self._operations += 1
        ts, planes, number = self._ts, op.planes, self._operations
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{place}{op.connection}{end}")
            for (name, at, args, place, end), start, dur in zip(
                self._stream_texts(planes.pattern, op.group), planes.starts, planes.durs
            )
        ]

    def _make_stream_texts(self, pattern: Pattern, group: Group) -> list[_StreamTexts]:
        stream, texts = plane_tasks.stream_of(group), []
        for place, task in enumerate(pattern.tasks):
            kind = f'"{plane_tasks.kind_of(task)}"'
            args = _TASK_ARGS % (_NO_ID, kind, stream, _CUT, 0, place, _CUT)
            front = f'{{"name": {kind}, "pid": {self._hardware}, "tid": {stream}, "ts": {_CUT}, "dur": {_CUT}'
            texts.append(f'{front}, "args": {args}, "ph": "X"}}'.split(_CUT))
        return texts

    def on_planes(self, op: CommOp, row: int) -> list[tuple[int, str]]:
        """The same tasks on the planes. row: of its group."""
        ts, planes, number = self._ts, op.planes, self._operations
        texts = self._texts(planes.pattern, row, op.group, op.data_type)
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{what}{plane_tasks.rate_of(size, dur)}{end}")
            for (name, at, args, what, end, size), start, dur in zip(texts, planes.starts, planes.durs)
        ]

    def _make_texts(self, pattern: Pattern, row: int, group: Group, data_type: str) -> list[_Texts]:
        return [
            self._text(task, place, row, plane_tasks.stream_of(group), data_type)
            for place, task in enumerate(pattern.tasks)
        ]

    def _text(self, task: PlaneTask, place: int, row: int, stream: int, data_type: str) -> _Texts:
        args = _ARGS % (
            f'"{plane_tasks.notify_id(task) & _UNSIGNED}"',
            plane_tasks.estimated_us(task),
            stream,
            _CUT,
            place,
            f'"{task.name}"',
            task.src,
            plane_tasks.target_of(task),
            f'"{plane_tasks.transport_of(task)}"',
            task.size,
            f'"{plane_tasks.data_type_of(task, data_type)}"',
            f'"{task.link}"',
            _CUT,
            _NO_ID,
        )
        text = (
            f'{{"name": "{task.name}", "pid": {self._pid}, "tid": {row + 1 + task.plane}, "ts": {_CUT}, "dur": {_CUT}, '
            f'"args": {args}, "ph": "X"}}'
        )
        name, at, before, what, end = text.split(_CUT)
        return name, at, before, what, end, task.size
