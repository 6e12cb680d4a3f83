"""The CSV files that a switch, a level or a new release adds.
Source: docs/facts/ascend_pt.md, Files copied from msprof."""

from __future__ import annotations

from typing import Callable

from tb_npu_plugin.capture.simulation.records import Segment, Task, by_start
from tb_npu_plugin.capture.simulation.work import Work
from tb_npu_plugin.capture.writers.files import END, ByTime, Output
from tb_npu_plugin.capture.writers.text import cell, time_text
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.core import ResultFile


class TaskFile:
    """A CSV file of tasks, by start. line: the cells of a task after Device_id, "" without a row; is_listed: the tasks that
    it is asked for, without the first `skip` of the run."""

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
        self._file.close()


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
    """Lines that the L2 cache gave up, by lines that were asked for: few where all of them are there (as in the public
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
