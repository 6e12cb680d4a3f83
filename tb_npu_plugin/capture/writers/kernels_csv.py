"""kernel_details.csv and op_statistic.csv. Source: docs/facts/ascend_pt.md, kernel_details.csv, Statistics files."""

from __future__ import annotations

from functools import cache
from typing import Union

from tb_npu_plugin.capture.simulation.records import CommOp, Kernel, Segment, Task, by_start
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.metrics import Figures
from tb_npu_plugin.capture.writers.overlap import StepFinder, Windows
from tb_npu_plugin.capture.writers.text import cell, shapes_cell, us_text
from tb_npu_plugin.schema import torch_npu_csv as schema

Launch = Union[Task, CommOp]
_LEVEL_0 = ("step", "device_id", "name", "type", "core", "start_ns", "dur_ns", "wait_ns", "block_dim")
_IDS = ("model_id", "task_id", "stream_id")
_MODEL = "4294967295"  # single-operator mode


class Kernels:
    """kernel_details.csv and op_statistic.csv."""

    def __init__(self, output: Output, windows: Windows) -> None:
        self._output, self._step_at = output, StepFinder(windows)
        self._detailed = output.options.level >= 1
        self._figures = Figures(output.options.metrics if self._detailed else "", output.process)
        self._names = self._figures.names
        self._keys = _columns(output)
        device = f"{output.process.device}," if output.has_device_id(schema.KERNELS) else ""
        self._with_ids = self._detailed or output.dialect.ids_at_level_0
        self._lead = f"{device}{_MODEL}," if self._with_ids else device
        self._file = output.csv(schema.KERNELS, self._keys, self._names)
        self._texts = cache(self._make_texts)
        self._pending: list[Launch] = []
        self._previous: int | None = None
        self._groups: dict[tuple[str, str], tuple[int, int, int, int]] = {}

    def add(self, segment: Segment) -> None:
        """Write the rows that no later record can come before."""
        self._pending += [task for task in segment.tasks if task.kernel.core]
        self._pending += segment.comm
        self._pending.sort(key=by_start)
        self._write(segment.until)

    def close(self) -> None:
        """Write the rest, and the statistic."""
        self._write(1 << 63)
        self._file.close()
        if self._detailed and self._groups:
            self._statistic()

    def _write(self, before: int) -> None:
        ready = [launch for launch in self._pending if launch.start < before]
        del self._pending[: len(ready)]
        tasks = [launch for launch in ready if isinstance(launch, Task)]
        figures = iter(self._figures.texts([task.kernel for task in tasks], [task.dur for task in tasks]))
        lines, previous, fixed = [], self._previous, self._output.dialect.fixed_decimals
        with_step, step_at, dur_text = self._keys[0] == "step", self._step_at, self._output.dur
        for launch in ready:
            start, dur = launch.start, launch.dur
            wait = 0 if previous is None or previous > start else start - previous
            # the first one has nothing before it: a plain 0 in every release
            wait_text = f"{wait / 1000:.6f}" if fixed and previous is not None else us_text(wait)
            previous = start + dur
            times = f"{start // 1000}.{start % 1000:03d}\t,{dur_text(dur)},{wait_text}"
            if isinstance(launch, Task):
                line = self._compute(launch, times, next(figures))
            else:
                line = self._communication(launch, times)
            if with_step:
                step = step_at(start)
                line = f"{step.id if step else ''},{line}"
            lines.append(line)
        self._previous = previous
        self._file.add(lines)

    def _shown(self, task: Task) -> Kernel:
        """The kernel under the name that the file gives it."""
        return task.kernel

    def _compute(self, task: Task, times: str, figures: str) -> str:
        kernel, dur = task.kernel, task.dur
        front, back = self._texts(self._shown(task))
        ids = f"{task.task},{task.stream}," if self._with_ids else ""
        line = f"{self._lead}{ids}{front},{times},{back}"
        if not self._detailed:
            return line
        key = kernel.type, kernel.core
        count, total, least, most = self._groups.get(key, (0, 0, dur, dur))
        self._groups[key] = count + 1, total + dur, min(least, dur), max(most, dur)
        return f"{line},{figures}" if self._names else line

    def _make_texts(self, kernel: Kernel) -> tuple[str, str]:
        """The cells before the times and those after them, each joined by commas."""
        if not self._detailed:
            return f"{cell(kernel.name)},N/A,N/A", "0"
        state = (kernel.state,) if self._output.dialect.op_state else ()
        front = ",".join([cell(kernel.name), cell(kernel.type), *state, kernel.core])
        back = [str(kernel.block), str(kernel.mix), "YES" if kernel.hf32 else "NO"]
        back += [shapes_cell(kernel.inputs), kernel.input_types or "N/A", kernel.input_formats or "N/A"]
        back += [shapes_cell(kernel.outputs), kernel.output_types or "N/A", kernel.output_formats or "N/A"]
        return front, ",".join([*back, "0" if kernel.core.startswith("MIX") else "N/A"])

    def _communication(self, op: CommOp, times: str) -> str:
        core, start_cells = self._output.dialect.core, times
        ids = "N/A,N/A," if self._with_ids else ""
        if not self._detailed:
            return f"{self._lead}{ids}{cell(op.name)},{op.type},{core},{start_cells},0"
        front = f"{self._lead}{ids}{cell(op.name)},{op.type}"
        front += ",N/A" if self._output.dialect.op_state else ""
        rest = len(self._keys) - self._keys.index("block_dim") - 1 + len(self._names)
        return f"{front},{core},{start_cells},0" + ",N/A" * rest

    def _statistic(self) -> None:
        output = self._output
        keys = ("type", "core", "calls", "total_ns", "min_ns", "avg_ns", "max_ns", "ratio")
        with_device = output.has_device_id(schema.OP_STATISTIC)
        file = output.csv(schema.OP_STATISTIC, ("device_id", *keys) if with_device else keys)
        whole = sum(group[1] for group in self._groups.values())
        lead = f"{output.process.device}," if with_device else ""
        dur = output.dur
        for (type_, core), (count, total, low, high) in sorted(self._groups.items(), key=lambda item: -item[1][1]):
            mean, ratio = round(total / count / 1000, 3), round(total * 100 / whole, 3)
            file.add([f"{lead}{cell(type_)},{core},{count},{dur(total)},{dur(low)},{mean},{dur(high)},{ratio}"])
        file.close()


def _columns(output: Output) -> tuple[str, ...]:
    """Keys of the columns of kernel_details.csv."""
    hidden = {"infer_id"}
    if not output.process.marks:
        hidden.add("step")
    if not output.has_device_id(schema.KERNELS):
        hidden.add("device_id")
    if not output.dialect.op_state:
        hidden.add("op_state")
    keys = [column.key for column in schema.KERNELS.columns if column.key not in hidden]
    at_level_0 = (*_LEVEL_0, *_IDS) if output.dialect.ids_at_level_0 else _LEVEL_0
    return tuple(key for key in keys if output.options.level >= 1 or key in at_level_0)
