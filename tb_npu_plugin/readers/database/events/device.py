"""The device's events: tasks of the streams, communication, overlap; and CANN's calls, which launch them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.copies import are_copies, find_copies
from tb_npu_plugin.readers.database.events.processes import Processes, thread_of
from tb_npu_plugin.readers.database.events.sink import Sink, quoted
from tb_npu_plugin.readers.database.strings import Strings, picked, places
from tb_npu_plugin.schema import torch_npu_db_reading as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.torch_npu_db import NO_ID
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import NULL_INT, IntArray, Text

Index = NDArray[np.int64]

#: Numbers of planes are below this; what is not, as 4294967295 for none, is drawn on the first.
_MAX_PLANES = 1 << 12


def add_calls(context: Context, sink: Sink, processes: Processes) -> None:
    """CANN calls on the host."""
    calls = context.calls
    if not len(calls):
        return
    names = context.strings.names(calls.ints("name"))
    levels = context.levels.column(calls.ints("level"), raw=True)
    prefixes = [trace_events.CALL_PREFIX.get(level, f"{level}@") for level in levels.values] + [""]
    whole = [prefix + name for prefix in prefixes for name in names.values]
    codes = np.where(names.codes < 0, -1, levels.codes.astype(np.int64) * len(names.values) + names.codes)
    codes = np.where(
        (levels.codes < 0) & (names.codes >= 0), (len(prefixes) - 1) * len(names.values) + names.codes, codes
    )
    text = Text(codes.astype(np.int32), whole)
    threads, level_text, name_text = thread_of(calls), quoted(levels), quoted(names)
    columns = (threads, levels.codes, names.codes, calls.ints("connection"))

    def args(first: int, last: int) -> Iterable[str]:
        rows = zip(*(values[first:last].tolist() for values in columns))
        made = trace_events.CALL_ARGS
        return (made % (thread, level_text[a], name_text[b], _known(connection)) for thread, a, b, connection in rows)

    pid = processes.pid(trace_events.CANN)
    start = calls.ints("start_ns")
    sink.slices(pid, threads, text, start, calls.ints("end_ns") - start, "", args)
    processes.name(sink, trace_events.CANN, pid)
    for thread in np.unique(threads).tolist():
        sink.meta(trace.THREAD_NAME, pid, thread, trace_events.THREAD.format(thread))
        sink.meta(trace.THREAD_SORT_INDEX, pid, thread, thread)


def _rows(columns: Sequence[NDArray[Any]], first: int, last: int) -> Iterator[tuple[Any, ...]]:
    """Some rows of columns of equal length, as Python values."""
    return zip(*(column[first:last].tolist() for column in columns))


def _known(value: int) -> str:
    return "null" if value == NULL_INT else str(value)


class Tasks:
    """Tasks of the streams. thread, start, connection: of each row of TASK; device: of each, and of its process."""

    def __init__(self, context: Context, processes: Processes) -> None:
        self._context, tasks = context, context.tasks
        self.start, self.connection = tasks.ints("start_ns"), tasks.ints("connection")
        self.dur = tasks.ints("end_ns") - self.start
        self.thread = np.where(tasks.ints("stream_id") == NULL_INT, 0, tasks.ints("stream_id"))
        devices = context.devices(tasks)
        self.device = np.where(devices == NULL_INT, processes.device, devices)
        self.pid = (processes.system << 10) | (trace_events.SORTS[trace_events.HARDWARE] << 5) | self.device
        self.info = places(context.compute.ints("id"), tasks.ints("id"))
        self.shown = ~self._wrappers()

    def _wrappers(self) -> NDArray[np.bool_]:
        """Tasks that only hold others: those have the same stream and task id, and contexts. Text exports leave them
        out. Task ids come again, so the others must begin meanwhile."""
        tasks = self._context.tasks
        has_context = ~np.isin(tasks.ints("context_id"), (NO_ID, NULL_INT))
        maybe = np.flatnonzero(~has_context & (self.info < 0))
        inner = np.flatnonzero(has_context)
        out = np.zeros(len(tasks), dtype=np.bool_)
        if not len(inner) or not len(maybe):
            return out
        identity = (tasks.ints("stream_id") << 32) | (tasks.ints("task_id") & NO_ID)
        known, code = np.unique(identity[inner], return_inverse=True)
        order = np.lexsort((self.start[inner], code))
        inner, code = inner[order], code.reshape(-1)[order]
        place = np.minimum(np.searchsorted(known, identity[maybe]), len(known) - 1)
        same = known[place] == identity[maybe]
        maybe, place = maybe[same], place[same]
        after = _first_from(code, self.start[inner], place, self.start[maybe])
        found = after < len(inner)
        after = np.minimum(after, len(inner) - 1)
        begins = self.start[inner[after]]
        out[maybe] = found & (code[after] == place) & (begins <= self.start[maybe] + self.dur[maybe])
        return out

    def add(self, sink: Sink, processes: Processes) -> None:
        """The tasks, device by device, and the names of their rows."""
        names, types = self._texts()
        for device in np.unique(self.device).tolist():
            rows = np.flatnonzero((self.device == device) & self.shown)
            pid = processes.pid(trace_events.HARDWARE, device)
            self._slices(sink, pid, rows, names, types)
            processes.name(sink, trace_events.HARDWARE, pid, device)
            for stream in np.unique(self.thread[rows]).tolist():
                sink.meta(trace.THREAD_NAME, pid, stream, trace_events.STREAM.format(stream))
                sink.meta(trace.THREAD_SORT_INDEX, pid, stream, stream)

    def _slices(self, sink: Sink, pid: int, rows: Index, names: Text, types: Text) -> None:
        tasks, written = self._context.tasks, quoted(types)
        keys = ("model_id", "stream_id", "task_id", "context_id", "connection")
        columns = [tasks.ints(key)[rows] for key in keys]
        codes = types.codes[rows]
        copies = self._copies(rows)

        def args(first: int, last: int) -> Iterable[str]:
            for place, (code, *numbers) in enumerate(_rows((codes, *columns), first, last), first):
                model, *others = map(_known, numbers)
                text = trace_events.TASK_ARGS % (model, written[code], *others)
                yield text[:-1] + copies[place] if place in copies else text

        text = Text(names.codes[rows], names.values)
        sink.slices(pid, self.thread[rows], text, self.start[rows], self.dur[rows], "", args)

    def _copies(self, rows: Index) -> dict[int, str]:
        """What is known of copies: place among the rows -> JSON that ends their args."""
        found = self._context.source.read(schema.MEMCPY)
        if not len(found):
            return {}
        row = places(found.ints("id"), self._context.tasks.ints("id")[rows])
        kinds = Strings(self._context.source, schema.MEMCPY_OPERATIONS).column(found.ints("operation"), raw=True)
        written, size, dur = quoted(kinds), found.ints("size"), self.dur[rows]
        out = {}
        for place in np.flatnonzero(row >= 0).tolist():
            bytes_, ns, code = int(size[row[place]]), int(dur[place]), kinds.codes[row[place]]
            rate = round(bytes_ / ns, 6) if ns > 0 and bytes_ >= 0 else "null"
            out[place] = trace_events.COPY_ARGS.format(_known(bytes_), rate, written[code])
        return out

    def _texts(self) -> tuple[Text, Text]:
        """Names: the kernel's, or the text of the mark, else the kind of task. Task types: by core, else the kind of
        task."""
        context = self._context
        kind = context.strings.column(context.tasks.ints("kind"), raw=True)
        names = context.strings.names(context.compute.ints("name"))
        cores = context.strings.column(context.compute.ints("core"))
        types = Text(cores.codes, [trace_events.TASK_TYPES.get(core, core) for core in cores.values])
        named = _either(picked(context.spool, names, self.info), self._messages(kind))
        return _either(named, kind), _either(picked(context.spool, types, self.info), kind)

    def _messages(self, kind: Text) -> Text:
        """Of tasks that mstx has put on a stream: the text of the mark or range on the host."""
        marks = self._context.source.read(schema.MSTX)
        texts = self._context.strings.names(marks.ints("message"))
        is_mark = np.isin(kind.codes, [code for code, text in enumerate(kind.values) if text == trace.MSTX])
        place = np.where(is_mark, places(marks.ints("connection"), self.connection), -1)
        return picked(self._context.spool, texts, place)


def _first_from(codes: IntArray, starts: IntArray, code: IntArray, start: IntArray) -> IntArray:
    """First place with this code and a start not before this one; starts are sorted within codes, which are sorted."""
    times, rank = np.unique(np.concatenate([starts, start]), return_inverse=True)
    rank = rank.reshape(-1)
    return np.searchsorted(codes * len(times) + rank[: len(starts)], code * len(times) + rank[len(starts) :])


def _either(first: Text, second: Text) -> Text:
    """The first text of a row, else the second."""
    codes = np.where(first.codes >= 0, first.codes, np.where(second.codes >= 0, second.codes + len(first.values), -1))
    return Text(codes.astype(np.int32), [*first.values, *second.values])


class Operations:
    """Communication operators. thread: row of each in the trace, which its group has; device: of each."""

    def __init__(self, context: Context, processes: Processes) -> None:
        self._context, self.rows = context, context.comm
        older, _ = COMMUNICATION_CORES
        self.title = (
            trace_events.OLD_COMMUNICATION if context.communication_core == older else trace_events.COMMUNICATION
        )
        self.pid = processes.pid(self.title)
        self.start = self.rows.ints("start_ns")
        devices = context.devices(self.rows)
        self.device = np.where(devices == NULL_INT, processes.device, devices)
        self.steps = context.source.read(schema.COMMUNICATION_TASK)
        self._groups = context.strings.column(self.rows.ints("group"), raw=True)
        step_groups = context.strings.column(self.steps.ints("group"), raw=True)
        number = {name: code for code, name in enumerate(self._groups.values)}
        code_of = np.array([number.get(name, -1) for name in step_groups.values] + [-1])
        self._step_group = code_of[step_groups.codes]
        planes = self.steps.ints("plane")
        self._plane = np.where((planes >= 0) & (planes < _MAX_PLANES), planes, 0)
        self._planes = self._count_planes()
        first = np.cumsum([0, *(1 + count for count in self._planes)])
        self._first = np.append(first[:-1], 0)  # the last: of operators without a group
        self.thread = self._first[self._groups.codes].astype(np.int64)

    def _count_planes(self) -> list[int]:
        """Rows of the tasks of each group; one where tasks were not recorded."""
        return [
            int(self._plane[self._step_group == group].max(initial=0)) + 1
            for group in range(max(len(self._groups.values), 1))
        ]

    def add(self, sink: Sink, processes: Processes, tasks: Tasks) -> None:
        """Operators, their tasks on the planes, and the names of these rows."""
        if not len(self.rows):
            return
        self._operators(sink)
        self._steps(sink, tasks)
        processes.name(sink, self.title, self.pid)
        groups: Sequence[object] = self._groups.values or [""]
        if self.title == trace_events.OLD_COMMUNICATION:
            groups = range(len(groups))
        for name, first, count in zip(groups, self._first.tolist(), self._planes):
            rows = [(first, trace_events.GROUP.format(name).replace("  ", " "))]
            rows += [(first + 1 + plane, trace_events.PLANE.format(plane)) for plane in range(count)]
            for thread, title in rows:
                sink.meta(trace.THREAD_NAME, self.pid, thread, title)
                sink.meta(trace.THREAD_SORT_INDEX, self.pid, thread, thread)

    def _operators(self, sink: Sink) -> None:
        context, rows = self._context, self.rows
        data = Strings(context.source, schema.DATA_TYPE_NAMES).column(rows.ints("data_type"), raw=True)
        algorithm = context.strings.column(rows.ints("algorithm"), raw=True)
        data_text, algorithm_text = quoted(data), quoted(algorithm)
        columns = (rows.ints("connection"), data.codes, algorithm.codes, rows.ints("count"))

        def args(first: int, last: int) -> Iterable[str]:
            for connection, a, b, count in zip(*(values[first:last].tolist() for values in columns)):
                yield trace_events.OPERATION_ARGS % (
                    _known(connection), data_text[a], algorithm_text[b], _known(count),
                )  # fmt: skip

        names = context.strings.names(rows.ints("name"))
        sink.slices(self.pid, self.thread, names, self.start, rows.ints("end_ns") - self.start, "", args)

    def _steps(self, sink: Sink, tasks: Tasks) -> None:
        context, steps = self._context, self.steps
        task = places(context.tasks.ints("id"), steps.ints("id"))
        there = np.flatnonzero((task >= 0) & (self._step_group >= 0))
        task = task[there]
        kinds = context.strings.column(steps.ints("kind"), raw=True)
        texts = [
            Strings(context.source, names).column(steps.ints(key), raw=True)
            for names, key in (
                (schema.TRANSPORT_NAMES, "transport"), (schema.DATA_TYPE_NAMES, "data_type"),
                (schema.LINK_TYPE_NAMES, "link"),
            )
        ]  # fmt: skip
        written = [quoted(text) for text in (kinds, *texts)]
        numbers = [steps.ints(key)[there] for key in ("notify", "src", "dst", "size")]
        of_task = [context.tasks.ints(key)[task] for key in ("stream_id", "task_id")]
        codes = [text.codes[there] for text in (kinds, *texts)]
        speed, dur = steps.floats("bandwidth")[there], tasks.dur[task]
        columns: list[NDArray[Any]] = [*numbers, *of_task, *codes, speed, dur]

        def args(first: int, last: int) -> Iterable[str]:
            for notify, src, dst, size, stream, number, kind, transport, data, link, rate, ns in _rows(
                columns, first, last
            ):
                yield trace_events.STEP_ARGS % (
                    f'"{_known(notify)}"', ns / 1000, _known(stream), _known(number), written[0][kind], _known(src), _known(dst),
                    written[1][transport], _known(size), written[2][data], written[3][link],
                    "null" if rate != rate else rate,
                )  # fmt: skip

        thread = self._first[self._step_group[there]].astype(np.int64) + 1 + self._plane[there]
        sink.slices(self.pid, thread, Text(kinds.codes[there], kinds.values), tasks.start[task], dur, "", args)


def add_launches(context: Context, sink: Sink, processes: Processes, tasks: Tasks, operations: Operations) -> None:
    """Arrows to the device, to kernels, copies and communication operators: from the CANN calls that launched them, and
    from the operators that these belong to."""
    calls = context.calls
    own = np.flatnonzero(((tasks.info >= 0) & ~context.in_communication | are_copies(context)) & tasks.shown)
    order = ((own, tasks), (np.arange(len(operations.rows)), operations))
    connection = np.concatenate([tasks.connection[own], operations.rows.ints("connection")])
    pid = np.concatenate([tasks.pid[own], np.full(len(operations.rows), operations.pid)])
    thread = np.concatenate([part.thread[rows] for rows, part in order])
    start = np.concatenate([part.start[rows] for rows, part in order])
    call = places(calls.ints("connection"), connection)
    found = np.flatnonzero(call >= 0)
    at, threads = calls.ints("start_ns"), thread_of(calls)
    sink.flows(
        trace.HOST_TO_DEVICE, trace.HOST_TO_DEVICE,
        (processes.pid(trace_events.CANN), threads[call[found]], at[call[found]]),
        (pid[found], thread[found], start[found]), (False, True),
    )  # fmt: skip
    _add_owners(context, sink, processes, own, connection, (pid, thread, start))


def _add_owners(
    context: Context,
    sink: Sink,
    processes: Processes,
    own: Index,
    connection: IntArray,
    target: tuple[IntArray, IntArray, IntArray],
) -> None:
    """Arrows from operators to what they launched: the tasks of the rows `own`, then all communication operators."""
    ops = context.torch_of_kind("op")
    row, linked = context.links(ops)
    op = np.append(row, -1)[places(linked, connection)]
    op[np.flatnonzero(are_copies(context)[own])] = -1
    copies = find_copies(context, ops)
    place = places(own, copies.task)
    op[place[place >= 0]] = copies.op[place >= 0]
    chosen = np.flatnonzero(op >= 0)
    sink.flows(
        trace.ASYNC_NPU, trace_events.TORCH_TO_NPU,
        (processes.system, thread_of(ops)[op[chosen]], ops.ints("start_ns")[op[chosen]]),
        (target[0][chosen], target[1][chosen], target[2][chosen]),
    )  # fmt: skip


def add_overlap(sink: Sink, processes: Processes, tasks: Tasks, operations: Operations) -> None:
    """What each device did at each time: computing, communicating, neither; see specs/ascend_pt.md 5.6."""
    kernels = tasks.info >= 0
    for device in np.unique(np.concatenate([tasks.device[kernels], operations.device])).tolist():
        own, others = kernels & (tasks.device == device), operations.device == device
        computing = intervals.union(tasks.start[own], (tasks.start + tasks.dur)[own])
        communication = intervals.union(operations.start[others], operations.rows.ints("end_ns")[others])
        _overlap_of(sink, processes, device, computing, communication)


def _overlap_of(
    sink: Sink,
    processes: Processes,
    device: int,
    computing: intervals.Intervals,
    communication: intervals.Intervals,
) -> None:
    """The rows of one device."""
    busy = intervals.merge(computing, communication)
    if not len(busy.start):
        return
    free = intervals.Intervals(busy.end[:-1], busy.start[1:])
    parts = (computing, communication, intervals.subtract(communication, computing), free)
    start = np.concatenate([part.start for part in parts])
    dur = np.concatenate([part.end - part.start for part in parts])
    kind: IntArray = np.repeat(np.arange(len(parts)), [len(part.start) for part in parts])
    order = np.lexsort((kind, start))
    names = Text(kind[order].astype(np.int32), [*trace_events.OVERLAPS])
    pid = processes.pid(trace_events.OVERLAP, device)
    sink.slices(pid, kind[order], names, start[order], dur[order], "", None)
    processes.name(sink, trace_events.OVERLAP, pid, device)
    for thread, title in enumerate(trace_events.OVERLAPS):
        sink.meta(trace.THREAD_NAME, pid, thread, title)
