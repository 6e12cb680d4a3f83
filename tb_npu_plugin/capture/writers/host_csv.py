"""operator_details.csv and api_statistic.csv: what the host did.
Source: docs/facts/ascend_pt.md, operator_details.csv, Statistics files."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment, by_start
from tb_npu_plugin.capture.writers.files import Durations, Output, Writer
from tb_npu_plugin.capture.writers.text import cell, us_text
from tb_npu_plugin.schema import torch_npu_csv as schema
from tb_npu_plugin.schema.trace import STEP_MARK


class Operators(Writer):
    """operator_details.csv: one row per operator call; nesting is by time alone, whatever the thread."""

    def __init__(self, output: Output) -> None:
        self._options = output.options
        self._file = output.csv(schema.OPERATORS)
        self._text = cache(self._make_text)

    def add(self, segment: Segment) -> None:
        """Write the rows of one segment, by start."""
        seen = set()
        for task in segment.tasks:  # of two copies of one call the first counts
            if task.op is not None and task.connection not in seen:
                seen.add(task.connection)
                task.op.device += task.dur
                task.op.on_aicore += task.dur if task.kernel.hardware == "AI_CORE" else 0
        for launch in segment.comm:
            launch.op.device += launch.dur
        ops = sorted(segment.ops, key=by_start)
        self._file.add(self._lines(ops, _parents(ops)))

    def _lines(self, ops: list[HostOp], parents: list[int]) -> list[str]:
        selfs = [op.end - op.start for op in ops]
        totals = [op.device for op in ops]
        on_aicore = [op.on_aicore for op in ops]
        for number in range(len(ops) - 1, -1, -1):  # children follow their parents
            parent = parents[number]
            if parent >= 0:
                op = ops[number]
                selfs[parent] -= op.end - op.start
                totals[parent] += totals[number]
                on_aicore[parent] += on_aicore[number]
        lines = []
        for number, op in enumerate(ops):
            text = self._text(op.info)
            if text:
                total = totals[number]
                device = (
                    f"{us_text(op.device)},{us_text(total)},{us_text(op.on_aicore)},{us_text(on_aicore[number])}"
                    if total
                    else "0,0,0,0"
                )
                lines.append(f"{text},{us_text(selfs[number])},{us_text(op.end - op.start)},{device}")
        return lines

    def _make_text(self, info: OpInfo) -> str:
        """Name, shapes and stack; nothing for a step mark, which gets no row."""
        if info.name.startswith(STEP_MARK):
            return ""
        shapes = cell(info.shapes) if self._options.shapes else ""
        stack = cell(";\r\n".join(info.stack)) if self._options.stack else ""
        return f"{cell(info.name)},{shapes},{stack}"


def _parents(ops: list[HostOp]) -> list[int]:
    """Position of the parent of each operator, -1 without one."""
    out, open_ = [], [-1]
    for number, op in enumerate(ops):
        while len(open_) > 1 and op.start > ops[open_[-1]].end:
            open_.pop()
        out.append(open_[-1])
        open_.append(number)
    return out


class Apis(Writer):
    """api_statistic.csv."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._calls = defaultdict[tuple[str, str], Durations](Durations)

    def add(self, segment: Segment) -> None:
        """Count the calls of one segment."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        with_runtime = self._output.options.level >= 2
        for call in segment.cann:
            if call.level != "runtime" or with_runtime:
                found[call.level, call.name].append(call.end - call.start)
        for key, durs in found.items():
            self._calls[key].add(durs)

    def close(self) -> None:
        """Write the file."""
        file, lead = self._output.csv(schema.API_STATISTIC), self._output.lead(schema.API_STATISTIC, "host")
        for (level, name), durs in self._calls.items():
            level = self._output.dialect.cann_level if level == "hccl" else level
            variance = round((durs.count * durs.squares - durs.total**2) / durs.count**2 / 1e6, 3)
            figures = f"{us_text(durs.total)},{durs.count},{durs.mean_us},{us_text(durs.least)},{us_text(durs.most)}"
            file.add([f"{lead}{level},{cell(name)},{figures},{variance}"])
