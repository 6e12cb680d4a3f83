"""The CSV files of what ran on the device: kernel_details.csv, op_statistic.csv, and those that a switch, a level or a
new release adds. Source: docs/facts/ascend_pt.md, kernel_details.csv, Statistics files, Files copied from msprof."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Callable, Union

from tb_npu_plugin.capture.simulation.records import CommOp, Kernel, Segment, Task, by_start
from tb_npu_plugin.capture.simulation.work import Work
from tb_npu_plugin.capture.writers.files import END, ByTime, Durations, Output, Writer
from tb_npu_plugin.capture.writers.metrics import Figures
from tb_npu_plugin.capture.writers.overlap import StepFinder
from tb_npu_plugin.capture.writers.text import cell, shapes_cell, time_text, us_text
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.core import ResultFile

Launch = Union[Task, CommOp]
_LEVEL_0 = ("step", "device_id", "name", "type", "core", "start_ns", "dur_ns", "wait_ns", "block_dim")
_IDS = ("model_id", "task_id", "stream_id")
_MODEL = "4294967295"  # single-operator mode


class Kernels(Writer):
    """kernel_details.csv and op_statistic.csv."""

    def __init__(self, output: Output) -> None:
        self._output, self._step_at = output, StepFinder(output.windows)
        self._detailed = output.options.level >= 1
        self._figures = Figures(output.options.metrics if self._detailed else "", output.process)
        self._names = self._figures.names
        self._with_ids = self._detailed or output.dialect.ids_at_level_0
        self._with_state = output.dialect.writes(schema.KERNELS, "op_state")
        self._keys = self._columns()
        self._lead = output.lead(schema.KERNELS) + (f"{_MODEL}," if self._with_ids else "")
        self._file = output.csv(schema.KERNELS, self._keys, self._names)
        self._texts = cache(self._make_texts)
        self._launches = ByTime[Launch](by_start)
        self._previous: int | None = None
        self._durs = defaultdict[tuple[str, str], Durations](Durations)

    def _columns(self) -> list[str]:
        at_level_0 = (*_LEVEL_0, *_IDS) if self._with_ids else _LEVEL_0
        keys = self._output.columns(schema.KERNELS)[0 if self._output.process.marks else 1 :]  # the first is the step
        return [key for key in keys if self._detailed or key in at_level_0]

    def add(self, segment: Segment) -> None:
        """Write the rows that no later record can come before."""
        kernels = [task for task in segment.tasks if task.kernel.core]
        self._write(self._launches.take([*kernels, *segment.comm], segment.until))

    def close(self) -> None:
        """Write the rest, and the statistic."""
        self._write(self._launches.take((), END))
        if self._detailed and self._durs:
            self._statistic()

    def _write(self, ready: list[Launch]) -> None:
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
        self._count(tasks)

    def _count(self, tasks: list[Task]) -> None:
        durs = defaultdict[tuple[str, str], list[int]](list)
        for task in tasks:
            durs[task.kernel.type, task.kernel.core].append(task.dur)
        for key, found in durs.items():
            self._durs[key].add(found)

    def _shown(self, task: Task) -> Kernel:
        """The kernel under the name that the file gives it."""
        return task.kernel

    def _compute(self, task: Task, times: str, figures: str) -> str:
        front, back = self._texts(self._shown(task))
        ids = f"{task.task},{task.stream}," if self._with_ids else ""
        line = f"{self._lead}{ids}{front},{times},{back}"
        return f"{line},{figures}" if self._names else line

    def _make_texts(self, kernel: Kernel) -> tuple[str, str]:
        """The cells before the times and those after them, each joined by commas."""
        if not self._detailed:
            return f"{cell(kernel.name)},N/A,N/A", "0"
        state = (kernel.state,) if self._with_state else ()
        front = ",".join([cell(kernel.name), cell(kernel.type), *state, kernel.core])
        back = [str(kernel.block), str(kernel.mix), "YES" if kernel.hf32 else "NO"]
        back += [shapes_cell(kernel.inputs), kernel.input_types or "N/A", kernel.input_formats or "N/A"]
        back += [shapes_cell(kernel.outputs), kernel.output_types or "N/A", kernel.output_formats or "N/A"]
        return front, ",".join([*back, "0" if kernel.core.startswith("MIX") else "N/A"])

    def _communication(self, op: CommOp, times: str) -> str:
        ids = "N/A,N/A," if self._with_ids else ""
        state = ",N/A" if self._detailed and self._with_state else ""
        rest = len(self._keys) - self._keys.index("block_dim") - 1 + len(self._names)
        core = self._output.dialect.communication.upper()
        return f"{self._lead}{ids}{cell(op.name)},{op.type}{state},{core},{times},0" + ",N/A" * rest

    def _statistic(self) -> None:
        file, dur = self._output.csv(schema.OP_STATISTIC), self._output.dur
        whole, lead = sum(durs.total for durs in self._durs.values()), self._output.lead(schema.OP_STATISTIC)
        for (type_, core), durs in sorted(self._durs.items(), key=lambda item: -item[1].total):
            figures = f"{durs.count},{dur(durs.total)},{dur(durs.least)},{durs.mean_us},{dur(durs.most)}"
            file.add([f"{lead}{cell(type_)},{core},{figures},{round(durs.total * 100 / whole, 3)}"])


class TaskFile(Writer):
    """A CSV file of tasks, by start. line: cells of a task after Device_id, "" for no row; is_listed: which tasks; skip: of
    those, how many to leave out at the beginning of the run."""

    def __init__(
        self,
        output: Output,
        file: ResultFile,
        line: Callable[[Task], str],
        is_listed: Callable[[Task], bool] = lambda task: True,
        skip: int = 0,
    ) -> None:
        self._line, self._is_listed, self._skip = line, is_listed, skip
        self._lead, self._file = output.lead(file), output.csv(file)
        self._tasks = ByTime[Task](by_start)

    def add(self, segment: Segment) -> None:
        """Write the rows that no later record can come before."""
        ready = self._tasks.take(filter(self._is_listed, segment.tasks), segment.until)
        shown, self._skip = ready[self._skip :], max(0, self._skip - len(ready))
        self._file.add([f"{self._lead}{line}" for line in map(self._line, shown) if line])

    def close(self) -> None:
        """Write the rest."""
        self.add(Segment(until=END))


def data_preprocess(output: Output) -> TaskFile:
    """data_preprocess.csv: kernels of the AI CPU."""
    unit = 1_000_000 if output.dialect.spelling.get("compute_ns") else 1000  # the header says ms or us

    def line(task: Task) -> str:
        parts = (task.dur - 9_000, 1_250, task.dur - 4_000, 4_000, task.dur)
        figures = ",".join(str(ns / unit) for ns in parts)
        return f"{time_text(task.start)},{cell(task.kernel.type)},{figures},{task.stream},{task.task}"

    return TaskFile(output, schema.DATA_PREPROCESS, line, lambda task: task.kernel.core == "AI_CPU")


def l2_cache(output: Output) -> TaskFile:
    """l2_cache.csv: the kernels of AI cores, without the first kernel of the run."""
    return TaskFile(output, schema.L2_CACHE, _l2_line, lambda task: task.kernel.computes, skip=1)


def _l2_line(task: Task) -> str:
    kernel = task.kernel
    if not ("CORE" in kernel.core or kernel.core.startswith("MIX")):
        return ""
    return f"{task.stream},{task.task},N/A,{_victim_rate(kernel.work)},{cell(kernel.name)}"


def _victim_rate(work: Work) -> float:
    """Lines that the L2 cache evicted for each line requested: few if all fit into it (as in the public
    sample of a real 910B: 0.00004 to 0.2)."""
    moved = work.read + work.written
    return round(0.25 * (work.main_read + work.main_written) / moved + 0.00004, 6) if moved else 0.0


def task_time(output: Output) -> TaskFile:
    """task_time.csv: every device task."""

    def line(task: Task) -> str:
        kernel = task.kernel
        name, kind = "N/A", kernel.core or kernel.type or kernel.name
        if kernel.computes and kernel.core != "DSA_SQE":  # the generator of random numbers runs no kernel
            name = cell(kernel.name)
        times = f"{output.dur(task.dur)},{time_text(task.start)},{time_text(task.end)}"
        return f"{name},{kind},{task.stream},{task.task},{times}"

    return TaskFile(output, schema.TASK_TIME, line)
