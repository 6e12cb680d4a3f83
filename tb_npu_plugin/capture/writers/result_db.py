"""The profiler's database of one capture. Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import count

from tb_npu_plugin.capture.simulation import records
from tb_npu_plugin.capture.simulation.launch import CORES
from tb_npu_plugin.capture.simulation.planes import PATTERNS, Pattern
from tb_npu_plugin.capture.writers.files import NO_ENVIRONMENT, NULL, Database, Output, Row, Strings, Writer
from tb_npu_plugin.capture.writers.links import LinkTables
from tb_npu_plugin.capture.writers.memory import MemoryTables
from tb_npu_plugin.capture.writers.metrics import Figures
from tb_npu_plugin.capture.writers.trace import forward_and_backward
from tb_npu_plugin.schema import metric_sets
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS

_OP, _QUEUE, _TRACE, _MARK = (schema.API_TYPES[name] for name in ("op", "queue", "trace", "mstx"))
#: Cells of PYTORCH_API that calls other than operators lack: sequence, thread of the forward, sizes, types, call chain.
_NO_OPERATOR = (NULL,) * 5


class Tables(Writer):
    """Some tables of the database. text: ids of their texts."""

    def __init__(self, output: Output, database: Database, text: Strings) -> None:
        self._output, self._options, self._database, self._text = output, output.options, database, text
        self._pid, self._device = output.process.pid << 32, output.process.device


class HostTables(Tables):
    """PYTORCH_API and what it refers to, steps, garbage collections."""

    def __init__(self, output: Output, database: Database) -> None:
        super().__init__(output, database, Strings(database, schema.TORCH_STRINGS))
        self._connections = 0
        self._shared, self._chain = cache(self._make_shared), cache(self._make_chain)
        self._chains = count()

    def add(self, segment: records.Segment) -> None:
        database = self._database
        if segment.step is not None:
            database.add("STEP_TIME", [(segment.step.id, segment.step.start, segment.step.end)])
        self._calls(segment)
        database.add("GC_RECORD", [(pause.start, pause.end, self._pid | pause.tid) for pause in segment.gc])

    def _calls(self, segment: records.Segment) -> None:
        """Operators, elements of the task queue, Python functions; and what connects them."""
        pid, text, connections = self._pid, self._text, _connections(segment)
        linked = [op for op in segment.ops if op in connections]
        links = dict(zip(linked, range(self._connections, self._connections + len(linked))))
        queued = range(self._connections + len(linked), self._connections + len(linked) + len(segment.queue))
        self._connections = queued.stop
        rows = [(id_, connection) for op, id_ in links.items() for connection in connections[op]]
        rows += [(id_, schema.CONNECTION_OFFSET + item.correlation) for id_, item in zip(queued, segment.queue)]
        self._database.add("CONNECTION_IDS", rows)
        calls: list[Row] = []
        for op in segment.ops:
            name, others = self._shared(op.info)
            link = links.get(op, NULL)
            calls.append((op.start, op.end, pid | op.tid, link, name, op.sequence, op.forward_tid, *others))
        self._database.add("PYTORCH_API", calls)
        calls, launching = [], pid | self._output.process.dequeue_tid
        for item, id_ in zip(segment.queue, queued):  # of each element the enqueue, then the dequeue
            enqueue, dequeue = text[f"Enqueue@{item.name}"], text[f"Dequeue@{item.name}"]
            calls.append((item.start, item.end, pid | item.op.tid, id_, enqueue, *_NO_OPERATOR, _QUEUE))
            calls.append((item.dequeue_start, item.dequeue_end, launching, id_, dequeue, *_NO_OPERATOR, _QUEUE))
        self._database.add("PYTORCH_API", calls)
        python = segment.python if self._options.stack else ()
        calls = [
            (call.start, call.end, pid | call.tid, NULL, text[call.name], *_NO_OPERATOR, _TRACE) for call in python
        ]
        self._database.add("PYTORCH_API", calls)

    def _make_shared(self, info: records.OpInfo) -> tuple[int, Row]:
        """What an operator shares with all calls from one place: id of its name; ids of its sizes, types (torch_npu
        writes the sizes of inputs into inputDtypes, and their types into inputShapes) and call chain, and its kind."""
        tensors = (info.shapes, info.types) if self._options.shapes else ("", "")
        sizes, types = (self._text[text] if text else NULL for text in tensors)
        chain = self._chain(info.stack) if self._options.stack and info.stack else NULL
        kind = _MARK if info.name.startswith(schema.MARK_OPERATOR) else _OP
        return self._text[info.name], (sizes, types, chain, kind)

    def _make_chain(self, stack: tuple[str, ...]) -> int:
        """Id of a call chain, which is added."""
        id_ = next(self._chains)
        self._database.add("PYTORCH_CALLCHAINS", [(id_, self._text[frame], depth) for depth, frame in enumerate(stack)])
        return id_


def _connections(segment: records.Segment) -> dict[records.HostOp, list[int]]:
    """Connections of operators: to kernels and communication that they launched, and between forward and backward."""
    out: dict[records.HostOp, list[int]] = defaultdict(list)
    for task in segment.tasks:
        if task.op is not None and task.kernel.core:
            out[task.op].append(task.connection)
    for launch in segment.comm:
        out[launch.op].append(launch.connection)
    for number, ops in forward_and_backward(segment.ops):
        for op in ops:  # beside the correlation ids of the task queue, which count by one from 8000 on
            out[op].append(schema.CONNECTION_OFFSET + (1 << 27) + number)
    return out


_NO_ID = schema.NO_ID
_DATA, _MODULES = schema.ENUMS["ENUM_HCCL_DATA_TYPE"], schema.ENUMS["ENUM_MODULE"]
_MB = 1 << 20  # of the counters
#: Level of a call -> its type.
_LEVELS = {**schema.API_TYPES, "hccl": schema.API_TYPES["communication"]}
_LINKS = schema.ENUMS["ENUM_HCCL_LINK_TYPE"]
_TRANSPORTS, _RDMA = schema.ENUMS["ENUM_HCCL_TRANSPORT_TYPE"], schema.ENUMS["ENUM_HCCL_RDMA_TYPE"]
#: Where a task has no notification: the largest number that SQLite holds.
_NO_NOTIFY = (1 << 63) - 1
#: Counters that have another name in the database.
_TOTALS = {"aicore_time": "aic_total_time", "aiv_time": "aiv_total_time"}
#: Plane and bytes of a task at level 0.
_UNKNOWN = -1


class MarkTables(Tables):
    """MSTX_EVENTS: all that Level_none has of the device's side."""

    def __init__(self, output: Output, database: Database, text: Strings) -> None:
        super().__init__(output, database, text)
        self._numbers = count(1)

    def add(self, segment: records.Segment) -> None:
        rows: list[Row] = []
        for mark in segment.marks:
            tid, kind = self._pid | mark.tid, schema.ENUMS["ENUM_MSTX_EVENT_TYPE"][mark.kind]
            connection = _NO_ID if mark.task is None else mark.task.connection
            texts = self._text[mark.message], tid, tid, self._text[mark.domain]
            rows.append((mark.start, mark.end, kind, next(self._numbers), _NO_ID, *texts, connection))
        self._database.add("MSTX_EVENTS", rows)


class DeviceTables(MarkTables):
    """Tasks, communication, CANN calls, counters."""

    def __init__(self, output: Output, database: Database, text: Strings) -> None:
        super().__init__(output, database, text)
        self._detailed = output.options.level >= 1
        self._figures = Figures(output.options.metrics if self._detailed else "", output.process)
        names = self._figures.names
        counted = [name.partition("(")[0] for name in names if name != metric_sets.CUBE_UTILIZATION]
        self._pmu = [text[_TOTALS.get(name, name)] for name in counted]
        assert metric_sets.CUBE_UTILIZATION not in names[:-1]  # the last figure, which the database does not hold
        #: Its kind and its context, and its row of COMPUTE_TASK_INFO.
        self._kernels: dict[records.Kernel, tuple[tuple[int, int], Row | None]] = {}
        self._tasks = self._ops = 0
        self._plane_cells = lru_cache(PATTERNS)(self._make_plane_cells)

    def add(self, segment: records.Segment) -> None:
        self._cann(segment.cann)
        self._compute(segment.tasks)
        self._communicate(segment.comm)
        super().add(segment)
        self._samples(segment)

    def _cann(self, calls: Sequence[records.CannCall]) -> None:
        text, pid, with_runtime = self._text, self._pid, self._options.level >= 2
        shown = [call for call in calls if with_runtime or call.level != "runtime"]
        rows = [(c.start, c.end, _LEVELS[c.level], pid | c.tid, c.connection, text[c.name]) for c in shown]
        self._database.add("CANN_API", rows)

    def _compute(self, tasks: Sequence[records.Task]) -> None:
        kernels, pid, device = [task.kernel for task in tasks], self._output.process.pid, self._device
        for kernel in dict.fromkeys(kernels):
            if kernel not in self._kernels:
                kind = CORES[kernel.core]["task_type"] if kernel.core else kernel.type or kernel.name
                context = 0 if kernel.core.startswith("MIX") else _NO_ID
                self._kernels[kernel] = (self._text[kind], context), self._info(kernel) if kernel.core else None
        found = [self._kernels[kernel] for kernel in kernels]
        ids = range(self._tasks, self._tasks + len(tasks))
        self._tasks = ids.stop
        rows = [
            (task.start, task.end, device, task.connection, id_, pid, *kind, task.stream, task.task, _NO_ID)
            for task, id_, (kind, _) in zip(tasks, ids, found)
        ]
        self._database.add("TASK", rows)
        infos = [(info[0], id_, *info[1:]) for id_, (_, info) in zip(ids, found) if info is not None]
        self._database.add("COMPUTE_TASK_INFO", infos)
        if self._pmu:  # figures of the kernels whose core has counters; times are ns here
            places, figures = self._figures.of(kernels, [task.dur for task in tasks])
            by_kernel = zip(places, zip(*(column.tolist() for column in figures)))
            counted = [(ids[place], name, one) for place, mine in by_kernel for name, one in zip(self._pmu, mine)]
            self._database.add("TASK_PMU_INFO", counted)

    def _info(self, kernel: records.Kernel) -> Row:
        """Row of COMPUTE_TASK_INFO without its second column."""
        text = self._text
        if not self._detailed:
            none = text["N/A"]
            return text[kernel.name], 0, 0, *(none,) * 11
        sizes = [text[f'"{shapes}"' if shapes else "N/A"] for shapes in (kernel.inputs, kernel.outputs)]
        given, made = (kernel.input_formats, kernel.input_types), (kernel.output_formats, kernel.output_types)
        ids = [text[value or "N/A"] for value in (*given, *made)]
        front = text[kernel.name], kernel.block, kernel.mix, text[kernel.core], text[kernel.type]
        back = text["N/A"], text[kernel.state], text["YES" if kernel.hf32 else "NO"]
        return *front, *ids[:2], sizes[0], *ids[2:], sizes[1], *back

    def _communicate(self, ops: Sequence[records.CommOp]) -> None:
        rows, text, pid, device = list[Row](), self._text, self._output.process.pid, self._device
        for op in ops:
            self._ops = number = self._ops + 1
            name, group = text[op.name], text[op.group.name or op.group.id]
            what = _DATA[op.data_type], text[op.algorithm], op.count, text[op.type]
            rows.append((name, op.start, op.end, op.connection, group, number, 0, 0, *what, device))
            tasks, infos = list[Row](), list[Row]()
            connection, stream, first, planes = op.connection, op.group.stream, self._tasks, op.planes
            constants = self._plane_cells(planes.pattern, op.data_type, op.main, group)
            for place, start, dur, (kind, info, main, size) in zip(count(), planes.starts, planes.durs, constants):
                id_ = first + place
                tasks.append((start, start + dur, device, connection, id_, pid, kind, place, stream, number, _NO_ID))
                infos.append((name, id_, *info, number, main, size / dur if dur else 0.0))
            self._database.add("TASK", tasks)
            self._database.add("COMMUNICATION_TASK_INFO", infos)
            self._tasks += len(tasks)
        self._database.add("COMMUNICATION_OP", rows)

    def _make_plane_cells(
        self, pattern: Pattern, data_type: str, main: int, group: int
    ) -> list[tuple[int, Row, int, int]]:
        """What the tasks of all operators of a pattern share: kind, cells of COMMUNICATION_TASK_INFO, whether it is on
        the main plane, bytes."""
        text, out = self._text, list[tuple[int, Row, int, int]]()
        for task in pattern.tasks:
            kind, is_main, size, notify = text[task.kind], int(task.plane == main), task.size, task.notify_id
            if self._detailed:
                notify = _NO_NOTIFY if notify < 0 else notify
                rdma = _RDMA["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"]
                moved = _TRANSPORTS[task.transport], size, _DATA[task.data_type(data_type)]
                link = _LINKS["ROCE" if task.link == "RDMA" else task.link]
                info = text[task.name], task.plane, group, notify, rdma, task.src, task.target, *moved, link
            else:  # HCCL reports its tasks from level 1 on: here only their times are known
                kinds = _TRANSPORTS["N/A"], _UNKNOWN, _DATA["N/A"], _LINKS["N/A"]
                info = text["N/A"], _UNKNOWN, group, _NO_NOTIFY, _RDMA["N/A"], _NO_ID, _NO_ID, *kinds
                size = _UNKNOWN
            out.append((kind, info, is_main, size))
        return out

    def _samples(self, segment: records.Segment) -> None:
        device, text, samples, add = self._device, self._text, segment.samples, self._database.add
        add("AICORE_FREQ", [(device, one.at, one.clock) for one in samples])
        banks = [(one.at, bank, both) for one in samples for bank, both in enumerate(one.banks)]
        ways = [(at, rate, bank, text[way]) for at, bank, both in banks for way, rate in zip(("read", "write"), both)]
        add("HBM", [(device, at, round(rate * _MB), bank, way) for at, rate, bank, way in ways])
        add("LLC", [(device, 0, s.at, s.hit_rate, round(s.throughput * _MB), text["read"]) for s in samples])
        if self._options.memory:
            places = [(s, place) for s in samples for place in (("app", s.sizes["PROCESS"]), ("device", s.device))]
            add("NPU_MEM", [(text[name], 0, size, one.at, device) for one, (name, size) in places])
            sizes = [(name, one.at, size) for one in samples for name, size in one.sizes.items() if name in _MODULES]
            add("NPU_MODULE_MEM", [(_MODULES[name], at, size, device) for name, at, size in sizes])


class ProfilerDatabase(Writer):
    """ascend_pytorch_profiler_N.db, or with fewer tables what msprof exports of another framework. with_framework: it has
    the tables of PyTorch, and the metadata."""

    def __init__(self, output: Output, name: str, tables: Mapping[str, str], with_framework: bool) -> None:
        self._output, self._with_framework = output, with_framework
        tables = {**tables, **dict.fromkeys(schema.ENUMS, "id INTEGER PRIMARY KEY, name TEXT")}
        self._database = database = output.database(name, tables)
        for table in schema.ALWAYS:
            database.make(table)
        strings, options = Strings(database, schema.CANN_STRINGS), output.options
        memory = [MemoryTables(output, database)] if with_framework and options.memory else []
        self._tables: list[Writer] = []
        if options.npu:
            of_device = DeviceTables if options.kernels else MarkTables
            self._tables += [of_device(output, database, strings), LinkTables(output, database)]
        if with_framework:
            self._tables += [HostTables(output, database), *memory]

    def add(self, segment: records.Segment) -> None:
        for table in self._tables:
            table.add(segment)

    def close(self) -> None:
        for table in self._tables:
            table.close()
        database, process = self._database, self._output.process
        for name, numbers in schema.ENUMS.items():
            database.add(name, [(number, text) for text, number in numbers.items()])
        database.add("RANK_DEVICE_MAP", [(process.rank if self._output.has_rank else -1, process.device)])
        database.add("HOST_INFO", [(group_hash(process.host), process.host)])
        database.add("SESSION_TIME_INFO", [(process.start, process.end)])
        database.add("NPU_INFO", [(process.device, process.chip.soc)])
        database.add("META_DATA", [*schema.VERSIONS.items(), *(self._metadata() if self._with_framework else [])])
        for name, definition in schema.INDEXES.items():
            database.index(name, definition)

    def _metadata(self) -> list[tuple[str, str]]:
        """What profiler_metadata.json holds, as JSON."""
        content = {ENVIRONMENT: NO_ENVIRONMENT, **self._output.options.metadata}
        if groups := self._output.process.group_infos:
            content[GROUPS] = groups
        return [(key, json.dumps(value)) for key, value in content.items()]
