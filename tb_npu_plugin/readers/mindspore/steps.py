"""Corrects the steps that rows belong to.
Source: docs/facts/ascend_ms.md, Kernel names and steps, step_trace_time.csv of MindSpore.

A kernel belongs to the step in which it was launched; the profiler counts launches outside all steps to the last one.
Without marks there are no steps, but files call the entire capture step 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.readers.mindspore.kernels import replace_texts
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import StringColumn, Table

#: Step name in files without marked steps.
_WHOLE = "0"


def remove_impossible_steps(kernels: Table, marks: Table, report: FileReport) -> Table:
    """Remove the step of kernels counted to the last step that ran before it began: they cannot have been launched in
    it. Kernels after the end of the last step may have been launched in it, and stay."""
    if not len(marks) or not kernels.has("step"):
        return kernels
    last = int(marks.ints("start_ns").argmax())
    name, begins = marks.text("step")[last], int(marks.ints("start_ns")[last])
    steps = kernels.text("step")
    wrong = steps.equals(name or "") & (kernels.ints("start_ns") < begins)
    if not wrong.any():
        return kernels
    report.add("outside_steps", found=Message("found.step", step=name or ""), count=int(wrong.sum()))
    codes = np.where(wrong, np.int32(-1), steps.codes).astype(np.int32)
    return replace(kernels, data={**kernels.data, "step": StringColumn(codes, steps.values)})


def are_marked(kernels: Table | None, capture: Capture) -> bool:
    """Whether the host marked steps: then kernels have steps."""
    if kernels is None:
        return capture.schedule is not None
    return bool((kernels.text("step").codes >= 0).any())


def without_whole(table: Table) -> Table:
    """Remove step 0 from rows of the entire capture; a table with other steps stays unchanged."""
    steps = table.text("step")
    if set(steps.values) != {_WHOLE}:
        return table
    return replace(table, data={**table.data, "step": replace_texts(steps, [None])})
