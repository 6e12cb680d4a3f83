"""The CSV files of MindSpore.
Source: docs/facts/ascend_ms.md, Files of the output folder, Memory files of MindSpore, step_trace_time.csv of MindSpore."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo, Segment, Task
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals
from tb_npu_plugin.capture.writers import memory_csv
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.kernels_csv import Kernels
from tb_npu_plugin.capture.writers.memory_csv import APP
from tb_npu_plugin.capture.writers.mindspore.record import LAUNCH
from tb_npu_plugin.capture.writers.overlap import ALONE, COMMUNICATION, COMPUTING, FREE, Windows
from tb_npu_plugin.capture.writers.steps_csv import figures_of
from tb_npu_plugin.capture.writers.text import cell, decimals, mb_text, time_text
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema import torch_npu_memory_csv
from tb_npu_plugin.schema.trace_events import OLD_COMMUNICATION


class LaunchedKernels(Kernels):
    """kernel_details.csv, whose names begin with the launch where the host was profiled; and op_statistic.csv."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._named = cache(_named)

    def _shown(self, task: Task) -> Kernel:
        if task.op is None or not self._output.options.cpu:
            return task.kernel
        return self._named(task.op.info, task.kernel)


def _named(info: OpInfo, kernel: Kernel) -> Kernel:
    return replace(kernel, name=f"{info.name}{names.LAUNCH_SEPARATOR}{kernel.name}")


class OperatorShapes(Writer):
    """operator_details.csv: name and shapes of each launch; not made without shapes."""

    def __init__(self, output: Output) -> None:
        self._file, self._shapes = output.csv(schema.OPERATORS, names.OPERATOR_KEYS), output.options.shapes

    def add(self, segment: Segment) -> None:
        """Write the launches of one segment, by start."""
        if self._shapes:
            self._file.add([self._line(op) for op in segment.ops if op.info.name.startswith(LAUNCH)])

    def _line(self, op: HostOp) -> str:
        return f"{cell(op.info.name[len(LAUNCH) :])},{cell(op.info.shapes)}"


_STREAM = "281459468288"
_NONE = "N/A"


class Allocations(Writer):
    """operator_memory.csv, by allocation; a block that is still held has N/A in every column of its release. Not
    made without the host."""

    def __init__(self, output: Output) -> None:
        self._device, self._host = output.device, output.options.cpu
        self._file = output.csv(torch_npu_memory_csv.OP_MEMORY)

    def add(self, segment: Segment) -> None:
        """Write the allocations of one segment."""
        if self._host:
            self._file.add([self._line(block) for block in segment.memory])

    def _line(self, block: Allocation) -> str:
        at, release = block.at, block.release
        released, lasted = (_NONE, _NONE) if release is None else (decimals(release), decimals(release - at))
        front = f"{cell(block.name)},{block.size / 1024},{decimals(at)},{released},{_NONE},{lasted},{_NONE}"
        return f"{front},{self._totals(block.before)},{self._totals(block.after)},{_STREAM},{self._device}"

    def _totals(self, totals: Totals | None) -> str:
        if totals is None:
            return f"{_NONE},{_NONE},{_NONE}"
        allocated = mb_text(totals.allocated)  # active memory is not recorded separately
        return f"{allocated},{mb_text(totals.reserved)},{allocated}"


class MemoryRecord(memory_csv.MemoryRecord):
    """memory_record.csv: MindSpore and GE by time, each followed by their sum; then the process."""

    SUM, PARTS = names.BOTH, ("", APP)

    def _line(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> str:
        time = time_text(at) if component == APP else decimals(at)
        sizes = [str((size or 0) / 1024 / (names.MEMORY_RECORD_MB // 1024)) for size in (allocated, reserved, active)]
        return ",".join([component, time, *sizes, self._device])


_EVER = 1 << 63


class HostWindows(Windows):
    """Steps are the marks on the host, ends included."""

    def add(self, segment: Segment) -> None:
        """The window of the segment's step."""
        if segment.step is not None:
            self.known.append((segment.step.start, segment.step.end + 1, segment.step))


@dataclass
class _Sums:
    """One step. first, last: (start, duration) of communication events; busy: first device task."""

    id: int
    start: int
    end: int
    sums: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    bubble: int = 0
    first: int = _EVER
    last: tuple[int, int] = (-1, 0)
    busy: int | None = None


class StepTrace(Writer):
    """step_trace_time.csv: events count whole in the step in which they begin; only Free is clipped."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._steps: list[_Sums] = [] if output.process.marks else [_Sums(0, 0, _EVER)]
        self._first_event: int | None = None

    def add(self, segment: Segment) -> None:
        """Take the step and the communication of one segment."""
        if segment.step is not None:
            self._steps.append(_Sums(segment.step.id, segment.step.start, segment.step.end))
        if self._first_event is None and segment.ops:
            self._first_event = segment.ops[0].start
        if self._output.dialect.communication == OLD_COMMUNICATION:  # the parser finds no other name
            for op in segment.comm:
                self._add_communication(op.start, op.dur, op.name)
                for plane in op.planes if self._output.options.level >= 1 else ():
                    self._add_communication(plane.start, plane.dur, plane.name)
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
            if kind == FREE:
                for step in reversed(self._steps):
                    if step.end < start:
                        break
                    step.sums[FREE] += max(0, min(end, step.end) - max(start, step.start))
                continue
            step_ = self._step_at(start)
            if step_ is not None:
                step_.sums[kind] += end - start
            if kind in (COMPUTING, COMMUNICATION):
                for step in reversed(self._steps):
                    if step.busy is not None:
                        break
                    if step.start <= start:
                        step.busy = start

    def close(self) -> None:
        """Write the file."""
        self._take_overlap()
        file, keys = self._output.csv(schema.STEP_TRACE), self._output.columns(schema.STEP_TRACE)
        for step in self._steps:
            texts = self._figures(step)
            file.add([",".join(texts[key] for key in keys)])

    def _figures(self, step: _Sums) -> dict[str, str]:
        whole = step.last[0] + step.last[1] - step.first if step.last[0] >= 0 else step.bubble
        host = step.start or self._first_event or 0
        known = step.busy is not None and self._output.options.cpu
        preparing = (step.busy or 0) - host if known else 0
        figures = {
            **figures_of(step.sums, whole, step.bubble, preparing),
            "communication_not_overlapped_and_exclude_receive": step.sums[ALONE] - step.bubble,
        }
        return {"step": str(step.id), **{key: decimals(ns) for key, ns in figures.items()}}
