"""Table "step_trace", from analysis.db or the kernels.
Source: docs/facts/ascend_pt.md, step_trace_time.csv; docs/facts/databases.md, analysis.db."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from tb_npu_plugin.analysis.steps import partition as steps
from tb_npu_plugin.readers.database.communication import step_of
from tb_npu_plugin.readers.database.source import Rows, Source
from tb_npu_plugin.readers.shared.numbered_steps import with_numbered_steps
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.torch_npu_csv import STEP_START, STEP_TRACE, STEP_TRACE_UNIT
from tb_npu_plugin.tables import NULL_INT, Data, Kind, StringColumn, Table, from_lists
from tb_npu_plugin.units import TIME_UNITS, scale_decimal


def read_step_trace(source: Source) -> dict[str, Table]:
    """Return the recorded steps."""
    rows = source.read(schema.STEP_TRACE)
    if not len(rows):
        return {}
    table = step_table(rows)
    source.count(schema.STEP_TRACE, shown=len(table))
    return {STEP_TRACE.id: with_numbered_steps(table, STEP_TRACE.id, source.report, schema.STEP_TRACE.table)}


def step_table(rows: Rows) -> Table:
    """Convert rows of STEP_TRACE, with figures in microseconds, to a table."""
    data: dict[str, Data] = {}
    for column in STEP_TRACE.columns:
        if not rows.has(column.key):
            continue
        if column.kind is Kind.TEXT:
            data[column.key] = StringColumn.of(map(step_of, rows.texts(column.key)))
        elif column.kind is Kind.DURATION:
            values = [
                scale_decimal(repr(value), TIME_UNITS[STEP_TRACE_UNIT]) for value in rows.floats(column.key).tolist()
            ]
            data[column.key] = np.array([NULL_INT if value is None else value for value in values], dtype=np.int64)
        else:
            data[column.key] = rows.ints(column.key)
    return Table.of(STEP_TRACE.columns, data)


def steps_of_kernels(kernels: Table) -> Table:
    """Compute the steps from the kernels; see analysis.steps."""
    found = [asdict(step) for step in steps.from_kernels(kernels)]
    columns = tuple(column for column in (*STEP_TRACE.columns, STEP_START) if found and column.key in found[0])
    return from_lists(columns, {column.key: [step[column.key] for step in found] for column in columns})
