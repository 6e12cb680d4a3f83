"""Corrects what is known to be wrong in columns of steps: numbers that are none, preparing times of idle steps.
Source: docs/facts/ascend_pt.md, kernel_details.csv, step_trace_time.csv."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema.torch_npu_csv import STEP_TRACE
from tb_npu_plugin.tables import NULL_INT, StringColumn, Table, known_cells

_NUMBER = re.compile(r"[0-9]+(\.0)?")
_EXPECTED = Message("expected.step_number")


def with_numbered_steps(table: Table, id: str, report: FileReport, part: str = "") -> Table:
    """Remove steps that are not numbers from the table `id`, and report them. step_trace loses the row, which would
    show as an additional step; rows of other tables keep an unknown step. part: the table of a database that has the rows."""
    if not table.has("step") or not isinstance(table.data["step"], StringColumn):
        return table
    steps = table.text("step")
    wrong = steps.isin(value for value in steps.values if not _NUMBER.fullmatch(value))
    count = int(wrong.sum())
    if not count:
        return table
    found = steps[int(np.flatnonzero(wrong)[0])] or ""
    is_lost = id == STEP_TRACE.id
    code = "bad_required_cell" if is_lost else "bad_cell"
    report.add(code, table.column("step").title, expected=_EXPECTED, found=found, count=count, kind="step")
    codes = np.where(wrong, -1, steps.codes).astype(np.int32)
    without = Table(table.columns, {**table.data, "step": StringColumn(codes, steps.values)})
    kept = table.take(~wrong) if is_lost else without
    report.drop("rows", len(table) - len(kept), part)
    if not part:  # cells of databases are not counted
        report.drop("cells", known_cells(table) - known_cells(kept))
    return kept


def with_known_preparing(steps: Table) -> Table:
    """Set preparing to unknown for steps without computing and communication. torch_npu computes it up to -1 us after
    1970 then, which gives minus 50 years."""
    if not all(map(steps.has, ("computing", "communication", "preparing"))):
        return steps
    idle = (steps.ints("computing") == 0) & (steps.ints("communication") == 0)
    if not idle.any():
        return steps
    return Table(steps.columns, {**steps.data, "preparing": np.where(idle, NULL_INT, steps.ints("preparing"))})
