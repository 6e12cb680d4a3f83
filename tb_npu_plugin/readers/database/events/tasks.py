"""Events of the tasks on device streams."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import EventSink, json_int, json_texts, rows_of
from tb_npu_plugin.readers.database.strings import Strings, take_text
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.torch_npu_db import NO_ID
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn, find_rows

Index = NDArray[np.int64]


class TaskEvents:
    """Stream tasks: thread, start, dur, connection, device, pid and `info` row of each row of TASK."""

    def __init__(self, processes: Processes) -> None:
        self._processes, self._context = processes, processes.context
        context, tasks = processes.context, processes.context.tasks
        self.start, self.connection = tasks.ints("start_ns"), tasks.ints("connection")
        self.dur = tasks.ints("end_ns") - self.start
        self.thread = np.where(tasks.ints("stream_id") == NULL_INT, 0, tasks.ints("stream_id"))
        devices = context.devices(tasks)
        self.device = np.where(devices == NULL_INT, processes.device, devices)
        self.pid = processes.pids(trace_events.HARDWARE, self.device)
        self.info = find_rows(context.compute.ints("id"), tasks.ints("id"))
        self.shown = ~self._wrappers()

    def _wrappers(self) -> NDArray[np.bool_]:
        """Mask of tasks that only wrap others, which text exports leave out. The wrapped tasks have the same stream and
        task id, and a context. Task ids repeat, so a wrapped task must also start during the wrapper."""
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

    def add(self) -> None:
        """Add the tasks and thread names, device by device."""
        processes, sink = self._processes, self._processes.sink
        sink.see(schema.TASK.table, len(self._context.tasks))
        sink.leave_out("unshown_task", schema.TASK.table, int(np.count_nonzero(~self.shown)))
        names, types = self._texts()
        for device in np.unique(self.device).tolist():
            rows = np.flatnonzero((self.device == device) & self.shown)
            pid = processes.pid(trace_events.HARDWARE, device)
            self._slices(sink, pid, rows, names, types)
            processes.name(trace_events.HARDWARE, pid, device)
            processes.name_threads(pid, self.thread[rows], trace_events.STREAM)

    def _slices(self, sink: EventSink, pid: int, rows: Index, names: StringColumn, types: StringColumn) -> None:
        tasks, written = self._context.tasks, json_texts(types)
        keys = ("model_id", "stream_id", "task_id", "context_id", "connection")
        columns = [tasks.ints(key)[rows] for key in keys]
        codes = types.codes[rows]
        copies = self._copies(rows)

        def args(first: int, last: int) -> Iterable[str]:
            for place, (code, *numbers) in enumerate(rows_of((codes, *columns), first, last), first):
                model, *others = map(json_int, numbers)
                text = trace_events.TASK_ARGS % (model, written[code], *others)
                yield text[:-1] + copies[place] if place in copies else text

        text = StringColumn(names.codes[rows], names.values)
        sink.slices(pid, self.thread[rows], text, self.start[rows], self.dur[rows], "", args, schema.TASK.table)

    def _copies(self, rows: Index) -> dict[int, str]:
        """Return the details of copies: index in `rows` -> the JSON that ends their args."""
        found = self._context.source.read(schema.MEMCPY)
        if not len(found):
            return {}
        row = find_rows(found.ints("id"), self._context.tasks.ints("id")[rows])
        kinds = Strings(self._context.source, schema.MEMCPY_OPERATIONS).column(found.ints("operation"), raw=True)
        written, size, dur = json_texts(kinds), found.ints("size"), self.dur[rows]
        out = {}
        for place in np.flatnonzero(row >= 0).tolist():
            bytes_, ns, code = int(size[row[place]]), int(dur[place]), kinds.codes[row[place]]
            rate = round(bytes_ / ns, 6) if ns > 0 and bytes_ >= 0 else "null"
            out[place] = trace_events.COPY_ARGS.format(json_int(bytes_), rate, written[code])
        return out

    def _texts(self) -> tuple[StringColumn, StringColumn]:
        """Return names (of the kernel or mark, else the task kind) and task types (by core, else the task kind)."""
        context = self._context
        kind = context.strings.column(context.tasks.ints("kind"), raw=True)
        names = context.strings.names(context.compute.ints("name"))
        cores = context.strings.column(context.compute.ints("core"))
        types = StringColumn(cores.codes, [trace_events.TASK_TYPES.get(core, core) for core in cores.values])
        named = take_text(context.spool, names, self.info).or_else(self._messages(kind))
        return named.or_else(kind), take_text(context.spool, types, self.info).or_else(kind)

    def _messages(self, kind: StringColumn) -> StringColumn:
        """Return the host mark or range text of each task that mstx put on a stream; else unknown."""
        marks = self._context.source.read(schema.MSTX)
        texts = self._context.strings.names(marks.ints("message"))
        is_mark = np.isin(kind.codes, [code for code, text in enumerate(kind.values) if text == trace.MSTX])
        place = np.where(is_mark, find_rows(marks.ints("connection"), self.connection), -1)
        return take_text(self._context.spool, texts, place)


def _first_from(codes: IntArray, starts: IntArray, code: IntArray, start: IntArray) -> IntArray:
    """Return the first index with the given code and a start at or after the given one. `codes` are sorted, and
    `starts` are sorted within each code."""
    times, rank = np.unique(np.concatenate([starts, start]), return_inverse=True)
    rank = rank.reshape(-1)
    return np.searchsorted(codes * len(times) + rank[: len(starts)], code * len(times) + rank[len(starts) :])
