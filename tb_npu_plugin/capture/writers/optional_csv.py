"""The CSV files that a switch, a level or a new release adds.
Source: docs/facts/ascend_pt.md, Files copied from msprof."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment, Task, by_start
from tb_npu_plugin.capture.simulation.work import Work
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.text import cell, time_text
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.core import ResultFile


class _TaskFile:
    """A CSV file with one row for some of the tasks, in order of start; keys without Device_id."""

    def __init__(self, output: Output, file: ResultFile, keys: tuple[str, ...]) -> None:
        device_id = output.dialect.device_id
        self._output, self._lead = output, f"{output.process.device}," if device_id else ""
        self._file = output.csv(file, ("device_id", *keys) if device_id else keys)
        self._pending: list[Task] = []

    def add(self, segment: Segment) -> None:
        """Write the rows that no later record can come before."""
        self._pending += [task for task in segment.tasks if self._is_listed(task)]
        self._write(segment.until)

    def _write(self, before: int) -> None:
        self._pending.sort(key=by_start)
        ready = [task for task in self._pending if task.start < before]
        del self._pending[: len(ready)]
        self._file.add([f"{self._lead}{line}" for line in map(self._line, ready) if line])

    def close(self) -> None:
        """Finish the file."""
        self._write(1 << 63)
        self._file.close()

    def _is_listed(self, task: Task) -> bool:
        return bool(task.kernel.core)

    def _line(self, task: Task) -> str:
        """Cells after Device_id; empty for a task without a row."""
        raise NotImplementedError


class AiCpu(_TaskFile):
    """data_preprocess.csv."""

    def __init__(self, output: Output) -> None:
        keys = [column.key for column in schema.DATA_PREPROCESS.columns if column.key != "device_id"]
        super().__init__(output, schema.DATA_PREPROCESS, tuple(keys))
        self._unit = 1_000_000 if output.dialect.spelling.get("compute_ns") else 1000  # the header says ms or us

    def _is_listed(self, task: Task) -> bool:
        return task.kernel.core == "AI_CPU"

    def _line(self, task: Task) -> str:
        parts = (task.dur - 9_000, 1_250, task.dur - 4_000, 4_000, task.dur)
        figures = ",".join(str(ns / self._unit) for ns in parts)
        return f"{time_text(task.start)},{cell(task.kernel.type)},{figures},{task.stream},{task.task}"


class L2Cache(_TaskFile):
    """l2_cache.csv: the kernels of AI cores, without the first kernel of the run."""

    def __init__(self, output: Output) -> None:
        super().__init__(output, schema.L2_CACHE, ("stream_id", "task_id", "hit_rate", "victim_rate", "name"))
        self._is_first = True

    def _line(self, task: Task) -> str:
        core, is_first, self._is_first = task.kernel.core, self._is_first, False
        if is_first or not ("CORE" in core or core.startswith("MIX")):
            return ""
        return f"{task.stream},{task.task},N/A,{_victim_rate(task.kernel.work)},{cell(task.kernel.name)}"


def _victim_rate(work: Work) -> float:
    """Lines that the L2 cache gave up, by lines that were asked for: few where all of them are there (as in the public
    sample of a real 910B: 0.00004 to 0.2)."""
    moved = work.read + work.written
    return round(0.25 * (work.main_read + work.main_written) / moved + 0.00004, 6) if moved else 0.0


class TaskTime(_TaskFile):
    """task_time.csv: every device task."""

    def __init__(self, output: Output) -> None:
        keys = [column.key for column in schema.TASK_TIME.columns if column.key != "device_id"]
        super().__init__(output, schema.TASK_TIME, tuple(keys))

    def _is_listed(self, task: Task) -> bool:
        return True

    def _line(self, task: Task) -> str:
        kernel = task.kernel
        has_name = kernel.computes and kernel.core != "DSA_SQE"  # the generator of random numbers runs no kernel
        name, kind = (
            (cell(kernel.name), kernel.core) if has_name else ("N/A", kernel.core or kernel.type or kernel.name)
        )
        return f"{name},{kind},{task.stream},{task.task},{self._output.dur(task.dur)},{time_text(task.start)},{time_text(task.end)}"
