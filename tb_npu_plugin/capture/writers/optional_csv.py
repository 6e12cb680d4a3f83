"""The CSV files that a switch, a level or a new release adds.
Source: docs/facts/ascend_pt.md, Files copied from msprof."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment, Task, by_start
from tb_npu_plugin.capture.simulation.work import Work
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.text import cell, time_text
from tb_npu_plugin.schema import torch_npu_csv as schema


class _Sorted:
    """Takes tasks out in order of start."""

    def __init__(self) -> None:
        self._pending: list[Task] = []

    def take(self, tasks: list[Task], before: int) -> list[Task]:
        self._pending += tasks
        self._pending.sort(key=by_start)
        ready = [task for task in self._pending if task.start < before]
        del self._pending[: len(ready)]
        return ready


class AiCpu:
    """data_preprocess.csv."""

    def __init__(self, output: Output) -> None:
        device_id, spelling = output.dialect.device_id, output.dialect.spelling
        self._lead = f"{output.process.device}," if device_id else ""
        self._unit = 1_000_000 if spelling.get("compute_ns") else 1000  # the header says ms or us
        keys = (
            "time_ns",
            "node",
            "compute_ns",
            "memcpy_ns",
            "task_ns",
            "dispatch_ns",
            "total_ns",
            "stream_id",
            "task_id",
        )
        self._file = output.csv(schema.DATA_PREPROCESS, ("device_id", *keys) if device_id else keys)
        self._sorted = _Sorted()

    def add(self, segment: Segment) -> None:
        """Write the AI CPU tasks of one segment."""
        self._write([task for task in segment.tasks if task.kernel.core == "AI_CPU"], segment.until)

    def _write(self, tasks: list[Task], before: int) -> None:
        for task in self._sorted.take(tasks, before):
            parts = (task.dur - 9_000, 1_250, task.dur - 4_000, 4_000, task.dur)
            figures = ",".join(str(ns / self._unit) for ns in parts)
            front = f"{self._lead}{time_text(task.start)},{cell(task.kernel.type)}"
            self._file.write([f"{front},{figures},{task.stream},{task.task}"])

    def close(self) -> None:
        """Finish the file."""
        self._write([], 1 << 63)
        self._file.close()


class L2Cache:
    """l2_cache.csv: the kernels of AI cores, without the first kernel of the run."""

    def __init__(self, output: Output) -> None:
        device_id = output.dialect.device_id
        self._lead = f"{output.process.device}," if device_id else ""
        keys = ("stream_id", "task_id", "hit_rate", "victim_rate", "name")
        self._file = output.csv(schema.L2_CACHE, ("device_id", *keys) if device_id else keys)
        self._sorted = _Sorted()
        self._number = -1

    def add(self, segment: Segment) -> None:
        """Write the kernels of one segment."""
        self._write([task for task in segment.tasks if task.kernel.core], segment.until)

    def _write(self, tasks: list[Task], before: int) -> None:
        lines = []
        for task in self._sorted.take(tasks, before):
            number, core = self._number, task.kernel.core
            self._number += 1
            if number >= 0 and ("CORE" in core or core.startswith("MIX")):
                victims = _victim_rate(task.kernel.work)
                lines.append(f"{self._lead}{task.stream},{task.task},N/A,{victims},{cell(task.kernel.name)}")
        self._file.add(lines)

    def close(self) -> None:
        """Finish the file."""
        self._write([], 1 << 63)
        self._file.close()


def _victim_rate(work: Work) -> float:
    """Lines that the L2 cache gave up, by lines that were asked for: few where all of them are there (as in the public
    sample of a real 910B: 0.00004 to 0.2)."""
    moved = work.read + work.written
    return round(0.25 * (work.main_read + work.main_written) / moved + 0.00004, 6) if moved else 0.0


class TaskTime:
    """task_time.csv: every device task."""

    def __init__(self, output: Output) -> None:
        self._lead = f"{output.process.device},"
        self._dur = output.dur
        self._file = output.csv(schema.TASK_TIME, tuple(column.key for column in schema.TASK_TIME.columns))
        self._sorted = _Sorted()

    def add(self, segment: Segment) -> None:
        """Write the tasks of one segment."""
        self._write(list(segment.tasks), segment.until)

    def _write(self, tasks: list[Task], before: int) -> None:
        lines = []
        for task in self._sorted.take(tasks, before):
            kernel = task.kernel
            front = f"{self._lead}{cell(kernel.name)},{kernel.core or kernel.hardware},{task.stream},{task.task}"
            lines.append(f"{front},{self._dur(task.dur)},{time_text(task.start)},{time_text(task.end)}")
        self._file.add(lines)

    def close(self) -> None:
        """Finish the file."""
        self._write([], 1 << 63)
        self._file.close()
