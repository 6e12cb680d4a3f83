"""The CSV files of what ran on host and device: kernel_details.csv, operator_details.csv, their statistics, and those that a switch, a
level or a new release adds. Source: docs/facts/ascend_pt.md, kernel_details.csv, operator_details.csv, Statistics files, Files copied
from msprof."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar, Union

import numpy as np

from tb_npu_plugin.capture.simulation import records
from tb_npu_plugin.capture.writers.files import END, ByTime, Output, Writer, cell, shapes_cell, time_text, us_text
from tb_npu_plugin.capture.writers.metrics import Figures
from tb_npu_plugin.capture.writers.overlap import ALONE, COMMUNICATION, COMPUTING, FREE, StepFinder
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.trace import STEP_MARK

Launch = Union[records.Task, records.CommOp]
_LEVEL_0 = ("step", "device_id", "name", "type", "core", "start_ns", "dur_ns", "wait_ns", "block_dim")
_IDS = ("model_id", "task_id", "stream_id")


@dataclass
class _Durations:
    """Sums of durations in ns: memory must not grow with the length of a run."""

    count: int = 0
    total: int = 0
    least: int = END
    most: int = 0
    squares: int = 0

    def add(self, dur: int) -> None:
        self.count += 1
        self.total += dur
        self.squares += dur * dur
        if dur < self.least:
            self.least = dur
        if dur > self.most:
            self.most = dur

    @property
    def mean_us(self) -> float:
        return round(self.total / self.count / 1000, 3)


class Kernels(Writer):
    """kernel_details.csv and op_statistic.csv. separator: where the host was profiled, names begin with the launch and
    this; empty: they do not."""

    def __init__(self, output: Output, separator: str = "") -> None:
        self._output, self._step_at = output, StepFinder(output.windows)
        self._separator = separator if output.options.cpu else ""
        self._detailed = output.options.level >= 1
        self._figures = Figures(output.options.metrics if self._detailed else "", output.process)
        self._names = self._figures.names
        self._with_ids = self._detailed or output.dialect.ids_at_level_0
        self._with_state = output.dialect.writes(schema.KERNELS, "op_state")
        at_level_0 = (*_LEVEL_0, *_IDS) if self._with_ids else _LEVEL_0
        keys = output.columns(schema.KERNELS)[0 if output.process.marks else 1 :]  # the first is the step
        self._keys = [key for key in keys if self._detailed or key in at_level_0]
        self._lead = output.lead(schema.KERNELS) + ("4294967295," if self._with_ids else "")  # single-operator mode
        self._file = output.csv(schema.KERNELS, self._keys, self._names)
        self._texts = cache(self._make_texts)
        self._launches = ByTime[Launch](records.by_start)
        self._previous: int | None = None
        self._durs = defaultdict[tuple[str, str], _Durations](_Durations)

    def add(self, segment: records.Segment) -> None:
        kernels = [task for task in segment.tasks if task.kernel.core]
        self._write(self._launches.take([*kernels, *segment.comm], segment.until))

    def close(self) -> None:
        self._write(self._launches.take((), END))
        if not self._detailed or not self._durs:
            return
        file, dur = self._output.csv(schema.OP_STATISTIC), self._output.dur
        whole, device = sum(durs.total for durs in self._durs.values()), self._output.process.device
        for (type_, core), durs in sorted(self._durs.items(), key=lambda item: -item[1].total):
            figures = durs.count, dur(durs.total), dur(durs.least), durs.mean_us, dur(durs.most)
            row = device, "", cell(type_), core, *figures, round(durs.total * 100 / whole, 3)
            file.add(self._output.lines(schema.OP_STATISTIC, [list(map(str, row))]))

    def _write(self, ready: list[Launch]) -> None:
        tasks = [launch for launch in ready if isinstance(launch, records.Task)]
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
            if isinstance(launch, records.Task):
                line = self._compute(launch, times, next(figures))
            else:
                line = self._communication(launch, times)
            if with_step:
                window = step_at(start)
                line = f"{window[2].id if window else ''},{line}"
            lines.append(line)
        self._previous = previous
        self._file.add(lines)
        for task in tasks:
            self._durs[task.kernel.type, task.kernel.core].add(task.dur)

    def _compute(self, task: records.Task, times: str, figures: str) -> str:
        launch = task.op.info.name if self._separator and task.op is not None else ""
        front, back = self._texts(task.kernel, launch)
        ids = f"{task.task},{task.stream}," if self._with_ids else ""
        line = f"{self._lead}{ids}{front},{times},{back}"
        return f"{line},{figures}" if self._names else line

    def _make_texts(self, kernel: records.Kernel, launch: str) -> tuple[str, str]:
        """The cells before the times and those after them, each joined by commas."""
        name = cell(f"{launch}{self._separator}{kernel.name}" if launch else kernel.name)
        if not self._detailed:
            return f"{name},N/A,N/A", "0"
        front = ",".join([name, cell(kernel.type), *((kernel.state,) if self._with_state else ()), kernel.core])
        back = [str(kernel.block), str(kernel.mix), "YES" if kernel.hf32 else "NO"]
        back += [shapes_cell(kernel.inputs), kernel.input_types or "N/A", kernel.input_formats or "N/A"]
        back += [shapes_cell(kernel.outputs), kernel.output_types or "N/A", kernel.output_formats or "N/A"]
        return front, ",".join([*back, "0" if kernel.core.startswith("MIX") else "N/A"])

    def _communication(self, op: records.CommOp, times: str) -> str:
        ids = "N/A,N/A," if self._with_ids else ""
        state = ",N/A" if self._detailed and self._with_state else ""
        rest = len(self._keys) - self._keys.index("block_dim") - 1 + len(self._names)
        core = self._output.dialect.communication.upper()
        return f"{self._lead}{ids}{cell(op.name)},{op.type}{state},{core},{times},0" + ",N/A" * rest


class TaskFile(Writer):
    """A CSV file of tasks, by start."""

    FILE: ResultFile

    def __init__(self, output: Output) -> None:
        self._output, self._lead, self._file = output, output.lead(self.FILE), output.csv(self.FILE)
        self._tasks = ByTime[records.Task](records.by_start)

    def add(self, segment: records.Segment) -> None:
        lines = map(self._line, self._tasks.take(segment.tasks, segment.until))
        self._file.add([f"{self._lead}{line}" for line in lines if line])

    def _line(self, task: records.Task) -> str:
        """Cells of a task after Device_id, "" for no row."""
        raise NotImplementedError


class DataPreprocess(TaskFile):
    """data_preprocess.csv: kernels of the AI CPU."""

    FILE = schema.DATA_PREPROCESS

    def _line(self, task: records.Task) -> str:
        if task.kernel.core != "AI_CPU":
            return ""
        unit = 1_000_000 if self._output.dialect.spelling.get("compute_ns") else 1000  # the header says ms or us
        parts = (task.dur - 9_000, 1_250, task.dur - 4_000, 4_000, task.dur)
        figures = ",".join(str(ns / unit) for ns in parts)
        return f"{time_text(task.start)},{cell(task.kernel.type)},{figures},{task.stream},{task.task}"


class L2Cache(TaskFile):
    """l2_cache.csv: the kernels of AI cores, without the first kernel of the run."""

    FILE = schema.L2_CACHE
    _had_kernel = False

    def _line(self, task: records.Task) -> str:
        kernel, work = task.kernel, task.kernel.work
        is_first, self._had_kernel = not self._had_kernel, self._had_kernel or kernel.computes
        if is_first or not ("CORE" in kernel.core or kernel.core.startswith("MIX")):
            return ""
        # lines that the cache evicted for each line requested: few if all fit into it (public sample of a real 910B: to 0.2)
        moved = work.read + work.written
        rate = round(0.25 * (work.main_read + work.main_written) / moved + 0.00004, 6) if moved else 0.0
        return f"{task.stream},{task.task},N/A,{rate},{cell(kernel.name)}"


class TaskTime(TaskFile):
    """task_time.csv: every device task."""

    FILE = schema.TASK_TIME

    def _line(self, task: records.Task) -> str:
        kernel = task.kernel
        # the generator of random numbers runs no kernel
        name = cell(kernel.name) if kernel.computes and kernel.core != "DSA_SQE" else "N/A"
        times = f"{self._output.dur(task.dur)},{time_text(task.start)},{time_text(task.end)}"
        return f"{name},{kernel.core or kernel.type or kernel.name},{task.stream},{task.task},{times}"


class Operators(Writer):
    """operator_details.csv: one row per operator call; nesting is by time alone, whatever the thread."""

    def __init__(self, output: Output) -> None:
        self._options = output.options
        self._file = output.csv(schema.OPERATORS)
        self._text = cache(self._make_text)

    def add(self, segment: records.Segment) -> None:
        seen = set()
        for task in segment.tasks:  # of two copies of one call the first counts
            if task.op is not None and task.connection not in seen:
                seen.add(task.connection)
                task.op.device += task.dur
                task.op.on_aicore += task.dur if task.kernel.hardware == "AI_CORE" else 0
        for launch in segment.comm:
            launch.op.device += launch.dur
        self._file.add(self._lines(sorted(segment.ops, key=records.by_start)))

    def _lines(self, ops: list[records.HostOp]) -> list[str]:
        parents, open_ = list[int](), [-1]  # positions of operators, -1: none
        for number, op in enumerate(ops):
            while len(open_) > 1 and op.start > ops[open_[-1]].end:
                open_.pop()
            parents.append(open_[-1])
            open_.append(number)
        selfs, totals = [op.end - op.start for op in ops], [op.device for op in ops]
        on_aicore = [op.on_aicore for op in ops]
        for number in range(len(ops) - 1, -1, -1):  # children follow their parents
            parent = parents[number]
            if parent >= 0:
                op = ops[number]
                selfs[parent] -= op.end - op.start
                totals[parent] += totals[number]
                on_aicore[parent] += on_aicore[number]
        lines = []
        for op, own, total, aicore in zip(ops, selfs, totals, on_aicore):
            if text := self._text(op.info):
                device = "0,0,0,0"
                if total:
                    device = f"{us_text(op.device)},{us_text(total)},{us_text(op.on_aicore)},{us_text(aicore)}"
                lines.append(f"{text},{us_text(own)},{us_text(op.end - op.start)},{device}")
        return lines

    def _make_text(self, info: records.OpInfo) -> str:
        """Name, shapes and stack; nothing for a step mark, which gets no row."""
        if info.name.startswith(STEP_MARK):
            return ""
        shapes = cell(info.shapes) if self._options.shapes else ""
        stack = cell(";\r\n".join(info.stack)) if self._options.stack else ""
        return f"{cell(info.name)},{shapes},{stack}"


class Apis(Writer):
    """api_statistic.csv."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._calls = defaultdict[tuple[str, str], _Durations](_Durations)

    def add(self, segment: records.Segment) -> None:
        for call in segment.cann:
            if call.level != "runtime" or self._output.options.level >= 2:
                self._calls[call.level, call.name].add(call.end - call.start)

    def close(self) -> None:
        file = self._output.csv(schema.API_STATISTIC)
        for (level, name), durs in self._calls.items():
            level = self._output.dialect.cann_level if level == "hccl" else level
            variance = round((durs.count * durs.squares - durs.total**2) / durs.count**2 / 1e6, 3)
            figures = us_text(durs.total), durs.count, durs.mean_us, us_text(durs.least), us_text(durs.most)
            row = "host", level, cell(name), *map(str, figures), str(variance)
            file.add(self._output.lines(schema.API_STATISTIC, [row]))


Number = TypeVar("Number", int, float)


@dataclass
class _Sums:
    """One step, in ns."""

    host_start: int
    first: int  # on the device
    last: int
    busy: int = END  # when it first computed or communicated; END: only gaps begin in it (it copies)
    ns: list[int] = field(default_factory=lambda: [0, 0, 0, 0])  # overlap rows by kind
    us: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])  # as the vendor's Python adds them up


class StepSums(Writer):
    """What step_trace_time.csv and StepTraceTime add up, by step."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._row_step, self._receive_step = StepFinder(output.windows), StepFinder(output.windows)
        self._steps: dict[int | None, _Sums] = {}
        self._bubbles: dict[int | None, tuple[int, float]] = defaultdict(lambda: (0, 0))  # ns, us
        self._first_op: int | None = None

    def add(self, segment: records.Segment) -> None:
        if self._first_op is None and segment.ops:
            self._first_op = segment.ops[0].start
        for op in segment.comm:
            found = self._step(op.start, self._receive_step) if op.type == records.RECEIVE else None
            if found is not None:
                ns, us = self._bubbles[found[0]]
                self._bubbles[found[0]] = ns + op.dur, us + op.dur / 1000
        self.take_overlap()

    def take_overlap(self) -> None:
        """Add the overlap rows that are complete."""
        starts, ends, kinds = self._output.overlap.rows.T
        at = 0
        while at < len(starts):
            found = self._step(int(starts[at]), self._row_step)
            if found is None:
                at += 1
                continue
            until = at + int(np.searchsorted(starts[at:], found[2]))
            self._add_up(found, starts[at:until], ends[at:until], kinds[at:until])
            at = until

    def _add_up(
        self, found: tuple[int | None, int, int], starts: records.Ints, ends: records.Ints, kinds: records.Ints
    ) -> None:
        """Rows of one step, at least one."""
        key, host_start, _ = found
        step = self._steps.setdefault(key, _Sums(host_start, int(starts[0]), int(ends[0])))
        durs = ends - starts
        for kind in range(len(step.ns)):
            mine = durs[kinds == kind]
            # in file order, as the vendor's Python adds them: cumsum does so, sum does not
            step.us[kind] = float(np.cumsum(np.concatenate([[step.us[kind]], mine / 1000]))[-1])
            step.ns[kind] += int(mine.sum())
        step.last = max(step.last, int(ends.max()))
        busy = starts[(kinds == COMPUTING) | (kinds == COMMUNICATION)]
        if len(busy):
            step.busy = min(step.busy, int(busy[0]))

    def _step(self, at: int, finder: StepFinder) -> tuple[int | None, int, int] | None:
        """(step id, its start on the host, end of its window on the device); None outside every step."""
        if not self._output.process.marks:
            return None, self._first_op or self._output.process.start, (1 << 63) - 1
        found = finder(at)
        return None if found is None else (found[2].id, found[2].start, found[1])

    def figures(self, is_exact: bool) -> Iterator[tuple[int | None, dict[str, float]]]:
        """Figures in us by step: exact ones from ns for StepTraceTime, else through float64 us, as the vendor does."""
        for key, step in self._steps.items():
            facts: list[float] = [step.host_start, step.first, step.last, step.busy]
            start, first, last, busy = facts if is_exact else [ns / 1000 for ns in facts]
            preparing, bubble = 0.0 if step.busy == END else busy - start, self._bubbles[key][0 if is_exact else 1]
            found = figures_of(step.ns if is_exact else step.us, last - first, bubble, preparing)
            yield key, {name: ns / 1000 for name, ns in found.items()} if is_exact else found


def figures_of(sums: Sequence[Number], whole: Number, bubble: Number, preparing: Number) -> dict[str, Number]:
    """Figures of a step. sums: by kind of overlap row; whole: from the first to the last of them; bubble: of receiving."""
    alone, communication = sums[ALONE], sums[COMMUNICATION]
    return {
        "computing": sums[COMPUTING],
        "communication_not_overlapped": alone,
        "overlapped": communication - alone,
        "communication": communication,
        "free": sums[FREE],
        "stage": whole - bubble,
        "bubble": bubble,
        "communication_not_overlapped_and_exclude_receive": max(alone - bubble, 0),
        "preparing": preparing,
    }


class StepTrace(StepSums):
    """step_trace_time.csv."""

    def close(self) -> None:
        self.take_overlap()
        file, keys = self._output.csv(schema.STEP_TRACE), self._output.columns(schema.STEP_TRACE)
        for step, figures in self.figures(is_exact=False):
            cells = {**figures, "step": "" if step is None else step, "device_id": self._output.process.device}
            file.add([",".join(str(cells[name]) for name in keys)])
