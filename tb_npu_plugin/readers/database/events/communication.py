"""Events of communication operators and their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import json_int, json_texts, rows_of
from tb_npu_plugin.readers.database.events.tasks import TaskEvents
from tb_npu_plugin.readers.database.strings import Strings
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import NULL_INT, find_rows

Index = NDArray[np.int64]
#: Plane numbers from here on are invalid (4294967295: none) and drawn on the first plane.
_MAX_PLANES = 1 << 12
#: Kind of the tasks at level 0, where planes and kinds are unknown. The text export has no such tasks.
_NOT_REPORTED = "N/A"
_STEPS = schema.COMMUNICATION_TASK.table


class CommunicationEvents:
    """Communication operators with their device, pid and thread in the trace. A group has the same threads in the
    process of each device."""

    def __init__(self, processes: Processes, tasks: TaskEvents) -> None:
        context = processes.context
        self._processes, self._sink, self._context, self.rows = processes, processes.sink, context, context.comm
        older, _ = COMMUNICATION_CORES
        self.title = (
            trace_events.OLD_COMMUNICATION if context.communication_core == older else trace_events.COMMUNICATION
        )
        self.start = self.rows.ints("start_ns")
        devices = context.comm_devices
        self.device = np.where(devices == NULL_INT, processes.device, devices)
        self.pid = processes.pids(self.title, self.device)
        self._tasks = tasks
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
        self._first = np.append(first[:-1], 0)  # last entry: operators without a group
        self.thread = self._first[self._groups.codes].astype(np.int64)

    def _count_planes(self) -> list[int]:
        """Return the number of planes of each group; 1 if its tasks were not recorded."""
        most = np.zeros(max(len(self._groups.values), 1) + 1, dtype=np.int64)  # last entry: tasks without a group
        np.maximum.at(most, self._step_group, self._plane)
        return [number + 1 for number in most[:-1].tolist()]

    def add(self) -> None:
        """Add the operators, their tasks on the planes, and the thread names, device by device."""
        sink, processes = self._sink, self._processes
        task = find_rows(self._context.tasks.ints("id"), self.steps.ints("id"))
        there = np.flatnonzero((task >= 0) & (self._step_group >= 0))
        sink.see(schema.COMMUNICATION_OP.table, len(self.rows))
        sink.see(_STEPS, len(self.steps))
        sink.leave_out("unknown_part", _STEPS, len(task) - len(there))
        is_unknown = self._context.strings.column(self.steps.ints("kind")[there], raw=True).equals(_NOT_REPORTED)
        sink.leave_out("unshown_task", _STEPS, int(np.count_nonzero(is_unknown)))
        there = there[~is_unknown]
        for device in np.union1d(self.device, self._tasks.device[task[there]]).tolist():
            rows = np.flatnonzero(self.device == device)
            steps = there[self._tasks.device[task[there]] == device]
            pid = processes.pid(self.title, device)
            self._operators(pid, rows)
            self._steps(pid, steps, task[steps])
            processes.name(self.title, pid, device)
            self._names(pid, np.union1d(self._groups.codes[rows], self._step_group[steps]))

    def _names(self, pid: int, codes: NDArray[Any]) -> None:
        """Add the thread names of these groups."""
        groups: Sequence[object] = self._groups.values or [""]
        if self.title == trace_events.OLD_COMMUNICATION:
            groups = range(len(groups))
        for code in np.unique(np.maximum(codes, 0)).tolist():
            first, count = int(self._first[code]), self._planes[code]
            rows = [(first, trace_events.GROUP.format(groups[code]).replace("  ", " "))]
            rows += [(first + 1 + plane, trace_events.PLANE.format(plane)) for plane in range(count)]
            for thread, title in rows:
                self._sink.meta(trace.THREAD_NAME, pid, thread, title)
                self._sink.meta(trace.THREAD_SORT_INDEX, pid, thread, thread)

    def _operators(self, pid: int, chosen: Index) -> None:
        context, rows = self._context, self.rows
        data = Strings(context.source, schema.DATA_TYPE_NAMES).column(rows.ints("data_type")[chosen], raw=True)
        algorithm = context.strings.column(rows.ints("algorithm")[chosen], raw=True)
        data_text, algorithm_text = json_texts(data), json_texts(algorithm)
        columns = (rows.ints("connection")[chosen], data.codes, algorithm.codes, rows.ints("count")[chosen])

        def args(first: int, last: int) -> Iterable[str]:
            for connection, a, b, count in zip(*(values[first:last].tolist() for values in columns)):
                yield trace_events.OPERATION_ARGS % (
                    json_int(connection),
                    data_text[a],
                    algorithm_text[b],
                    json_int(count),
                )

        names, start = context.strings.names(rows.ints("name")[chosen]), self.start[chosen]
        dur = rows.ints("end_ns")[chosen] - start
        self._sink.slices(pid, self.thread[chosen], names, start, dur, "", args, schema.COMMUNICATION_OP.table)

    def _steps(self, pid: int, chosen: Index, task: Index) -> None:
        """Add the operators' tasks in rows `chosen`. task: their rows in TASK."""
        context, steps, tasks = self._context, self.steps, self._tasks
        kinds = context.strings.column(steps.ints("kind")[chosen], raw=True)
        texts = [
            Strings(context.source, names).column(steps.ints(key)[chosen], raw=True)
            for names, key in (
                (schema.TRANSPORT_NAMES, "transport"),
                (schema.DATA_TYPE_NAMES, "data_type"),
                (schema.LINK_TYPE_NAMES, "link"),
            )
        ]
        written = [json_texts(text) for text in (kinds, *texts)]
        numbers = [steps.ints(key)[chosen] for key in ("notify", "src", "dst", "size")]
        of_task = [context.tasks.ints(key)[task] for key in ("stream_id", "task_id")]
        codes = [text.codes for text in (kinds, *texts)]
        speed, dur = steps.floats("bandwidth")[chosen], tasks.dur[task]
        columns: list[NDArray[Any]] = [*numbers, *of_task, *codes, speed, dur]

        def args(first: int, last: int) -> Iterable[str]:
            for notify, src, dst, size, stream, number, kind, transport, data, link, rate, ns in rows_of(
                columns, first, last
            ):
                yield trace_events.STEP_ARGS % (
                    f'"{json_int(notify)}"',
                    ns / 1000,
                    json_int(stream),
                    json_int(number),
                    written[0][kind],
                    json_int(src),
                    json_int(dst),
                    written[1][transport],
                    json_int(size),
                    written[2][data],
                    written[3][link],
                    "null" if rate != rate else rate,
                )

        thread = self._first[self._step_group[chosen]].astype(np.int64) + 1 + self._plane[chosen]
        self._sink.slices(pid, thread, kinds, tasks.start[task], dur, "", args, _STEPS)
