"""The device's tables of the profiler's database. Source: specs/ascend_pt.md 6.1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import add

from tb_npu_plugin.capture.simulation.columns import columns
from tb_npu_plugin.capture.simulation.records import CannCall, CommOp, Group, Kernel, PlaneTask, Segment, Task
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.marks_db import MarkTables
from tb_npu_plugin.capture.writers.metrics import Figures, has_counters
from tb_npu_plugin.capture.writers.plane_tasks import data_type_of, notify_id, rate, target_of, transport_of
from tb_npu_plugin.schema import metric_sets
from tb_npu_plugin.schema import torch_npu_db as schema

_NO_ID = schema.NO_ID
_DATA, _LINKS = schema.ENUMS["ENUM_HCCL_DATA_TYPE"], schema.ENUMS["ENUM_HCCL_LINK_TYPE"]
_TRANSPORTS, _RDMA = schema.ENUMS["ENUM_HCCL_TRANSPORT_TYPE"], schema.ENUMS["ENUM_HCCL_RDMA_TYPE"]
_MODULES = schema.ENUMS["ENUM_MODULE"]
#: Core -> kind of task, as the host side names it. Task of a plane -> the same.
_KINDS = {"AI_VECTOR_CORE": "KERNEL_AIVEC", "AI_CORE": "KERNEL_AICORE", "MIX_AIC": "KERNEL_AICORE",
          "MIX_AIV": "KERNEL_AICORE", "DSA_SQE": "STARS_COMMON", "AI_CPU": "KERNEL_AICPU"}  # fmt: skip
_PLANE_KINDS = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: Tasks of communication run on streams of their own, one for a plane of a group: the first of them.
_COMM_STREAM = 4
#: Where a task has no notification: the largest number that SQLite holds.
_NO_NOTIFY = (1 << 63) - 1
_MB = 1 << 20  # of the counters
#: Level of a call -> its type.
_LEVELS = {**schema.API_TYPES, "hccl": schema.API_TYPES["communication"]}
#: Columns of COMPUTE_TASK_INFO but the id.
_INFO = schema.TABLES["COMPUTE_TASK_INFO"].count(",")


class DeviceTables:
    """Tasks, communication, CANN calls, counters."""

    def __init__(self, output: Output, database: Database, strings: Strings) -> None:
        self._output, self._database, self._text = output, database, strings
        self._pid, self._device = output.process.pid, output.process.device
        self._detailed = output.options.level >= 1
        self._figures = Figures(output.options.metrics if self._detailed else "", output.process)
        names = self._figures.names
        self._pmu = [strings[_pmu_name(name)] for name in names if name != metric_sets.CUBE_UTILIZATION]
        assert metric_sets.CUBE_UTILIZATION not in names[:-1]  # the last figure, which the database does not hold
        #: Ids of its kind and its context, and its row of COMPUTE_TASK_INFO.
        self._kernels: dict[Kernel, tuple[int, int, Row | None]] = {}
        self._streams: dict[int, int] = {}  # by group
        self._tasks = self._ops = 0
        self._marks = MarkTables(output, database, strings)

    def add(self, segment: Segment) -> None:
        """Write one segment."""
        self._cann(segment.cann)
        self._compute(segment.tasks)
        self._communicate(segment.comm)
        self._marks.add(segment)
        self._samples(segment)
        self._text.flush()

    def close(self) -> None:
        """Write what is left."""
        self._text.flush()

    def _cann(self, calls: Sequence[CannCall]) -> None:
        starts, ends, levels, tids, connections, names = columns(
            calls, "start", "end", "level", "tid", "connection", "name"
        )
        ids = map(self._text.__getitem__, names)
        rows = (starts, ends, map(_LEVELS.__getitem__, levels), [self._pid << 32 | tid for tid in tids], connections)
        with_runtime = self._output.options.level >= 2 or "runtime" not in levels
        recorded = [with_runtime or level != "runtime" for level in levels]
        self._database.add_columns("CANN_API", *(list(compress(column, recorded)) for column in (*rows, ids)))

    def _task(
        self, start: int, end: int, connection: int, kind: str, stream: int, task: int, context: int = _NO_ID
    ) -> Row:
        self._tasks += 1
        return (start, end, self._device, connection, self._tasks - 1, self._pid, self._text[kind], context, stream,
                task, _NO_ID)  # fmt: skip

    def _compute(self, tasks: Sequence[Task]) -> None:
        kernels, starts, durs, connections, streams, numbers = columns(
            tasks, "kernel", "start", "dur", "connection", "stream", "task"
        )
        for kernel in dict.fromkeys(kernels):
            if kernel not in self._kernels:
                kind = self._text[_KINDS.get(kernel.core) or kernel.type or kernel.name]
                context = 0 if kernel.core.startswith("MIX") else _NO_ID
                self._kernels[kernel] = kind, context, self._info(kernel) if kernel.core else None
        if not kernels:
            return
        kinds, contexts, infos = zip(*map(self._kernels.__getitem__, kernels))
        ids = range(self._tasks, self._tasks + len(kernels))
        self._tasks += len(kernels)
        self._database.add_columns(
            "TASK", starts, list(map(add, starts, durs)), self._device, connections, ids, self._pid, kinds, contexts,
            streams, numbers, _NO_ID,
        )  # fmt: skip
        computing = [info is not None for info in infos]
        names, *others = zip(*compress(infos, computing)) if any(computing) else ((),) * _INFO
        self._database.add_columns("COMPUTE_TASK_INFO", names, list(compress(ids, computing)), *others)
        if self._pmu:
            self._count(kernels, durs, ids)

    def _count(self, kernels: list[Kernel], durs: list[int], ids: Sequence[int]) -> None:
        """Figures of the kernels whose core has counters."""
        counted = [has_counters(kernel) for kernel in kernels]
        figures = self._figures.columns(list(compress(kernels, counted)), list(compress(durs, counted)))
        figures = figures[: len(self._pmu)]
        self._database.add_figures("TASK_PMU_INFO", self._pmu, [list(compress(ids, counted)), *figures])

    def _info(self, kernel: Kernel) -> Row:
        """Row of COMPUTE_TASK_INFO without its second column."""
        text = self._text
        if not self._detailed:
            none = text["N/A"]
            return text[kernel.name], 0, 0, *(none,) * 11
        shapes = [text[f'"{shapes}"'] if shapes else text["N/A"] for shapes in (kernel.inputs, kernel.outputs)]
        others = [text[value or "N/A"] for value in (kernel.input_formats, kernel.input_types, kernel.output_formats,
                                                     kernel.output_types)]  # fmt: skip
        return (text[kernel.name], kernel.block, kernel.mix, text[kernel.core], text[kernel.type], others[0], others[1],
                shapes[0], others[2], others[3], shapes[1], text["N/A"], text[kernel.state],
                text["YES" if kernel.hf32 else "NO"])  # fmt: skip

    def _communicate(self, ops: Sequence[CommOp]) -> None:
        tasks, infos, rows, text = [], [], [], self._text
        for op in ops:
            self._ops += 1
            name, group = text[op.name], text[op.group.name or op.group.id]
            rows.append((name, op.start, op.end, op.connection, group, self._ops, 0, 0, _DATA[op.data_type],
                         text[op.algorithm], op.count, text[op.type], self._device))  # fmt: skip
            first = self._first_stream(op.group)
            for plane in op.planes if self._detailed else ():
                id_ = self._tasks
                kind = _PLANE_KINDS.get(plane.name, "SDMA")
                tasks.append(self._task(plane.start, plane.start + plane.dur, op.connection, kind, first + plane.plane,
                                        self._ops))  # fmt: skip
                infos.append((name, id_, text[plane.name], plane.plane, group, *self._plane(op, plane)))
        self._database.add("COMMUNICATION_OP", rows)
        self._database.add("TASK", tasks)
        self._database.add("COMMUNICATION_TASK_INFO", infos)

    def _first_stream(self, group: Group) -> int:
        """Stream of the first plane of a group."""
        found = self._streams.get(group.index)
        if found is None:
            before = (other.planes for other in self._output.process.groups if other.index < group.index)
            found = self._streams[group.index] = _COMM_STREAM + sum(before)
        return found

    def _plane(self, op: CommOp, task: PlaneTask) -> Row:
        """Row of COMMUNICATION_TASK_INFO from notifyId on."""
        link = _LINKS["ROCE" if task.link == "RDMA" else task.link]
        rdma = _RDMA["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"]
        notify = notify_id(task)
        return (_NO_NOTIFY if notify < 0 else notify, rdma, task.src, target_of(task), _TRANSPORTS[transport_of(task)],
                task.size, _DATA[data_type_of(task, op.data_type)], link, self._ops, int(task.plane == op.main),
                rate(task))  # fmt: skip

    def _samples(self, segment: Segment) -> None:
        device, text, memory = self._device, self._text, self._output.options.memory
        rows: dict[str, list[Row]] = {"AICORE_FREQ": [], "HBM": [], "LLC": [], "NPU_MEM": [], "NPU_MODULE_MEM": []}
        throughput: dict[int, float] = {}
        for sample in segment.samples:
            if sample.process == "AI Core Freq":
                rows["AICORE_FREQ"].append((device, sample.at, int(sample.value)))
            elif sample.process == "HBM":
                bank, _, way = sample.name.partition(" ")[2].partition("/")
                rows["HBM"].append((device, sample.at, round(sample.value * _MB), int(bank), text[way.lower()]))
            elif sample.name.endswith("Throughput"):
                throughput[sample.at] = sample.value
            elif sample.name.endswith("Hit Rate"):
                speed = round(throughput.get(sample.at, 0.0) * _MB)
                rows["LLC"].append((device, 0, sample.at, sample.value, speed, text["read"]))
            elif memory and sample.name.endswith("/HBM"):
                place = text[sample.name.partition("/")[0].lower()]
                rows["NPU_MEM"].append((place, 0, int(sample.value * 1024), sample.at, device))
        if memory:
            rows["NPU_MODULE_MEM"] = [
                (_MODULES[module.component], module.at, module.size, device)
                for module in segment.modules
                if module.component in _MODULES
            ]
        for table, found in rows.items():
            self._database.add(table, found)


def _pmu_name(header: str) -> str:
    """Name of a counter in the database: "aicore_time(us)" is aic_total_time there."""
    name = header.partition("(")[0]
    return {"aicore_time": "aic_total_time", "aiv_time": "aiv_total_time"}.get(name, name)
