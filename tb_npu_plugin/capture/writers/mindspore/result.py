"""What a result of mindspore.profiler consists of: its CSV files, trace and side files.
Source: docs/facts/ascend_ms.md, Files of the output folder, Arguments and side files, Memory files of MindSpore,
step_trace_time.csv of MindSpore, trace_view.json of MindSpore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.simulation.records import Allocation, Process, Segment, Task
from tb_npu_plugin.capture.writers import memory
from tb_npu_plugin.capture.writers.communication import CommunicationDatabase
from tb_npu_plugin.capture.writers.details_csv import Kernels, figures_of
from tb_npu_plugin.capture.writers.files import END, Output, Parts, Writer, cell, decimals, mb_text, time_text
from tb_npu_plugin.capture.writers.framework import Framework
from tb_npu_plugin.capture.writers.memory import APP, Cells
from tb_npu_plugin.capture.writers.mindspore.minddata import MindData
from tb_npu_plugin.capture.writers.mindspore.record import LAUNCH, Recorder, scope_of
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.overlap import ALONE, COMMUNICATION, COMPUTING, FREE, Windows
from tb_npu_plugin.capture.writers.result_db import ProfilerDatabase
from tb_npu_plugin.capture.writers.trace import CALLS, LINKS, OPS, HostEvents, Trace
from tb_npu_plugin.capture.writers.trace_device import DeviceEvents, Timed, process_rows, quote
from tb_npu_plugin.schema import dialects
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.mindspore import SUFFIX
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.schema.torch_npu_db import TABLES

_PID, _SCOPE_PID = names.PIDS[names.PROCESS_MINDSPORE], names.PIDS[names.PROCESS_SCOPE]


class LaunchedEvents(DeviceEvents):
    """The device's events: what was launched names its launch."""

    def linked(self, task: Task) -> str:
        if task.op is None or not self._options.cpu:
            return ""
        return f', "{names.LAUNCHED_BY}": {quote(task.op.info.name)}'

    def torch_to_npu(self, segment: Segment) -> Iterator[Timed]:
        """Flows from launches to their tasks: both ends in one text."""
        pid, (category, name) = self._pids["Ascend Hardware"], names.NPU_FLOW
        for task in segment.tasks:
            if (op := task.op) is not None and op.info.name.startswith(LAUNCH):
                at, start = self._ts(task.start), self._ts(op.start)
                common = f'"bp": "e", "cat": "{category}", "name": "{name}", "id": {at}'
                text = f'{{"ph": "s", {common}, "pid": {_PID}, "tid": {op.tid}, "ts": {start}}}, '
                text += f'{{"ph": "f", {common}, "pid": {pid}, "tid": {task.stream}, "ts": {at}}}'
                yield task.start, text


class FrameworkEvents(HostEvents):
    """Events of the framework's processes: times and durations are texts."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._threads: set[int] = set()
        self._depth = -1

    def _text(self, name: str, pid: int, tid: int, start: int, end: int, category: str = "") -> str:
        rest = f', "cat": "{category}"' if category else ""
        return (
            f'{{"name": {self._name(name)}, "ph": "X", "pid": {pid}, "tid": {tid}, "ts": {self._ts(start)}, '
            f'"dur": "{decimals(end - start)}"{rest}, "args": {{}}}}'
        )

    def add(self, parts: Parts, segment: Segment) -> None:
        if not self._options.cpu:
            return
        self._threads.update(op.tid for op in segment.ops)
        parts.add(OPS, [self._text(op.info.name, _PID, op.tid, op.start, op.end) for op in segment.ops])
        (category, name), launcher = names.SELF_FLOW, self._process.dequeue_tid
        out = []
        for item in segment.queue:  # from the event on the main thread to the launch
            common = f'"bp": "e", "cat": "{category}", "name": "{name}", "id": "{item.correlation}", "pid": {_PID}'
            out.append(f'{{"ph": "s", {common}, "tid": {item.op.tid}, "ts": {self._ts(item.op.start)}}}')
            out.append(f'{{"ph": "f", {common}, "tid": {launcher}, "ts": {self._ts(item.dequeue_start)}}}')
        parts.add(LINKS, out)
        calls = segment.python if self._options.stack else ()
        parts.add(CALLS, [self._text(one.name, _PID, one.tid, one.start, one.end, names.PYTHON) for one in calls])
        parts.add(CALLS, self._scopes(segment))

    def _scopes(self, segment: Segment) -> list[str]:
        """Scope Layer: one lane a depth, neighbours of one scope merged; of parallel tasks the first."""
        out: list[str] = []
        open_: list[tuple[str, int, int]] = []  # name, start, end by depth
        reached = 0
        for task in segment.tasks:
            if task.op is None or not task.kernel.core or task.start < reached:
                continue
            parts = scope_of(task.op.info.name)
            same = 0
            while same < min(len(open_), len(parts)) and open_[same][0] == parts[same]:
                open_[same] = (parts[same], open_[same][1], task.end)
                same += 1
            out += self._close(open_, same)
            open_ += [(part, task.start, task.end) for part in parts[same:]]
            reached = task.end
        return out + self._close(open_, 0)

    def _close(self, open_: list[tuple[str, int, int]], keep: int) -> list[str]:
        self._depth = max(self._depth, len(open_) - 1)
        out = [self._text(name, _SCOPE_PID, depth, start, end) for depth, (name, start, end) in enumerate(open_)]
        del open_[keep:]
        return out[keep:]

    def rows(self) -> list[str]:
        threads = {names.PROCESS_MINDSPORE: [(tid, f"Thread {tid}") for tid in sorted(self._threads)]}
        if self._depth >= 0:
            threads[names.PROCESS_SCOPE] = [(depth, f"Layer{depth}") for depth in range(self._depth + 1)]
        processes = ((name, names.PIDS[name], "CPU", names.SORTS[name], rows) for name, rows in threads.items())
        return [row for process in processes for row in process_rows(*process)]


class OperatorShapes(Writer):
    """operator_details.csv: name and shapes of each launch; not made without shapes."""

    def __init__(self, output: Output) -> None:
        self._file, self._shapes = output.csv(schema.OPERATORS, names.OPERATOR_KEYS), output.options.shapes

    def add(self, segment: Segment) -> None:
        infos = [op.info for op in segment.ops if op.info.name.startswith(LAUNCH)] if self._shapes else []
        self._file.add([f"{cell(info.name[len(LAUNCH) :])},{cell(info.shapes)}" for info in infos])


_STREAM = "281459468288"
_NONE = "N/A"


class Allocations(memory.Allocations):
    """operator_memory.csv, by allocation; a block that is still held has N/A in every column of its release. Not
    made without the host."""

    def add(self, segment: Segment) -> None:
        if self._output.options.cpu:
            self._add(list(segment.memory))

    def _cells(self, block: Allocation) -> Cells:
        _, at, release, _, dur, _, *sizes = memory.values_of(block)
        times = [_NONE if ns is None else decimals(ns) for ns in (at, release, None, dur, None)]
        sizes[2::3] = sizes[::3]  # active memory is not recorded separately
        totals = [_NONE if size is None else mb_text(size) for size in sizes]
        return (cell(block.name), str(block.size / 1024), *times, *totals, _STREAM, self._device)


class MemoryRecord(memory.MemoryRecord):
    """memory_record.csv: MindSpore and GE by time, each followed by their sum; then the process."""

    SUM, PARTS = names.BOTH, ("", APP)

    def _cells(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> Cells:
        time = time_text(at) if component == APP else decimals(at)
        sizes = [str((size or 0) / 1024 / (names.MEMORY_RECORD_MB // 1024)) for size in (allocated, reserved, active)]
        return component, time, *sizes, "", self._device  # it writes no stream


class HostWindows(Windows):
    """Steps are the marks on the host, ends included."""

    def add(self, segment: Segment) -> None:
        if segment.step is not None:
            self.known.append((segment.step.start, segment.step.end + 1, segment.step))


@dataclass
class _Sums:
    """One step."""

    id: int
    start: int
    end: int
    sums: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    bubble: int = 0
    first: int = END  # start of communication
    last: tuple[int, int] = (-1, 0)  # start and duration of the last communication event
    busy: int | None = None  # start of the first device task


class StepTrace(Writer):
    """step_trace_time.csv: events count whole in the step in which they begin; only Free is clipped."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._steps: list[_Sums] = [] if output.process.marks else [_Sums(0, 0, END)]
        self._first_event: int | None = None

    def add(self, segment: Segment) -> None:
        if segment.step is not None:
            self._steps.append(_Sums(segment.step.id, segment.step.start, segment.step.end))
        if self._first_event is None and segment.ops:
            self._first_event = segment.ops[0].start
        for op in segment.comm:
            self._add_communication(op.start, op.dur, op.name)
            for task, start, dur in op.planes.timed() if self._output.options.level >= 1 else ():
                self._add_communication(start, dur, task.name)
        self._take_overlap()

    def _add_communication(self, start: int, dur: int, name: str) -> None:
        step = self._step_at(start)
        if step is not None:
            step.bubble += dur if names.BUBBLE.match(name) else 0
            step.first = min(step.first, start)
            step.last = max(step.last, (start, dur))

    def _step_at(self, start: int) -> _Sums | None:
        return next((step for step in reversed(self._steps) if step.start <= start <= step.end), None)

    def _take_overlap(self) -> None:
        for start, end, kind in self._output.overlap.rows.tolist():
            step = None if kind == FREE else self._step_at(start)
            if step is not None:
                step.sums[kind] += end - start
            for other in reversed(self._steps):
                if kind == FREE:
                    if other.end < start:
                        break
                    other.sums[FREE] += max(0, min(end, other.end) - max(start, other.start))
                elif kind in (COMPUTING, COMMUNICATION):
                    if other.busy is not None:
                        break
                    other.busy = start if other.start <= start else None

    def close(self) -> None:
        self._take_overlap()
        file, keys = self._output.csv(schema.STEP_TRACE), self._output.columns(schema.STEP_TRACE)
        for step in self._steps:
            whole = step.last[0] + step.last[1] - step.first if step.last[0] >= 0 else step.bubble
            host = step.start or self._first_event or 0
            preparing = step.busy - host if step.busy is not None and self._output.options.cpu else 0
            figures = figures_of(step.sums, whole, step.bubble, preparing)
            figures["communication_not_overlapped_and_exclude_receive"] = step.sums[ALONE] - step.bubble
            texts = {"step": str(step.id), **{key: decimals(ns) for key, ns in figures.items()}}
            file.add([",".join(texts[key] for key in keys)])


#: Content of profiler_info_{rank}.json: what every capture has, and defaults.
_INFO = Path(__file__).with_name("profiler_info.json")


def info(process: Process, options: Options, dialect: dialects.Dialect) -> dict[str, Any]:
    """Content of profiler_info_{rank}.json."""
    metrics, content = AIC_METRICS[options.metrics], json.loads(_INFO.read_bytes())
    parameters = content[names.PARAMETERS]
    same = ("data_process", "l2_cache", "sys_io", "sys_interconnection")
    parameters |= {name: getattr(options, name) for name in same}
    parameters |= {"with_stack": options.stack, "profile_memory": options.memory, "record_shapes": options.shapes}
    parameters |= {
        "activities": [name for name, on in (("CPU", options.cpu), ("NPU", options.npu)) if on],
        "profiler_level": f"Level{options.level}" if options.kernels else "LevelNone",
        "aic_metrics": "None" if metrics == "AiCoreNone" else metrics,
        "export_type": list(options.export),
        names.IS_SET_SCHEDULE: options.schedule is not None,
    }
    schedule = parameters[names.SCHEDULE]
    schedule |= {key: value for key, value in (options.schedule or {}).items() if key in schedule}
    content[names.MS_INFO] = {names.RANK_ID: str(process.rank), names.DEVICE_ID: str(process.device)}
    return {**content, **dialect.versions}


def metadata(process: Process, options: Options) -> dict[str, Any]:
    """Content of profiler_metadata.json."""
    return side_files.metadata(options.metadata, None, process.group_infos)


def _others(output: Output) -> list[Writer]:
    options, process = output.options, output.process
    out: list[Writer] = [MindData(output)]
    if "db" in options.export:
        tables = {table: columns for table, columns in TABLES.items() if table in names.DB_TABLES}
        out.append(ProfilerDatabase(output, f"{names.PROFILER_DB}_{process.rank}.db", tables, with_framework=False))
        out += [CommunicationDatabase(output)] if options.device and options.level >= 1 else []
    return out


MINDSPORE = Framework(
    suffix=SUFFIX,
    dialect=dialects.MINDSPORE,
    windows=HostWindows,
    kernels=partial(Kernels, separator=names.LAUNCH_SEPARATOR),
    steps=StepTrace,
    trace=partial(Trace, host=FrameworkEvents, device=LaunchedEvents),
    operators=OperatorShapes,
    allocations=Allocations,
    memory_record=MemoryRecord,
    others=_others,
    info=info,
    metadata=metadata,
    record=Recorder,
)
