"""Table "operators". Source: docs/facts/ascend_pt.md, operator_details.csv; docs/facts/databases.md, Joins."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.operators.nesting import codes, nesting
from tb_npu_plugin.analysis.operators.tree import nested_times
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.copies import find_copies
from tb_npu_plugin.readers.database.source import Rows, spool_column
from tb_npu_plugin.readers.database.strings import take_text
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import Data, IntArray, StringColumn, Table, find_rows

#: Cores that the text export counts as AI Core.
_AI_CORES = ("AI_CORE", "AI_VECTOR_CORE")
_FRAME_END = ";\r\n"


def read_operators(context: Context) -> dict[str, Table]:
    """Return operator calls by start, without step marks. Device time is that of the kernels and communication
    operators that the database links to a call, and of its copies. AI Core time is unknown if cores were not recorded
    (level 0). The timeline shows the other calls."""
    ops = context.torch_of_kind("op")
    context.source.count(schema.PYTORCH_API, shown=len(context.torch) - len(ops))
    if not len(ops):
        return {}
    strings, spool = context.strings, context.spool
    names = strings.names(ops.ints("name"))
    start = ops.ints("start_ns")
    device, aicore = _device_times(context, ops)
    cores_known = aicore is not None
    copies = find_copies(context, ops)
    tasks = context.tasks
    np.add.at(device, copies.op, (tasks.ints("end_ns") - tasks.ints("start_ns"))[copies.task])
    times = nested_times(copies.parent, ops.ints("end_ns") - start, device, device if aicore is None else aicore)
    marks = np.array([STEP_MARK in value for value in names.values] + [False])
    rows = np.flatnonzero(~marks[names.codes])
    data: dict[str, Data] = {
        "name": take_text(spool, names, rows),
        "input_shapes": take_text(spool, strings.column(ops.ints("input_shapes"), unquote=True), rows),
        "call_stack": take_text(spool, call_stacks(context, ops.ints("chain")), rows),
        "host_self_ns": spool_column(spool, times.host_self[rows]),
        "host_total_ns": spool_column(spool, times.host_total[rows]),
        "device_self_ns": spool_column(spool, times.device_self[rows]),
        "device_total_ns": spool_column(spool, times.device_total[rows]),
        "nested": spool_column(spool, nesting(copies.parent, codes(names), ops.ints("input_shapes"))[rows]),
    }
    if cores_known:
        data["device_self_aicore_ns"] = spool_column(spool, times.device_self_aicore[rows])
        data["device_total_aicore_ns"] = spool_column(spool, times.device_total_aicore[rows])
    table = Table.of(TABLES["operators"], data)
    context.source.count(schema.PYTORCH_API, shown=len(table) + int(np.count_nonzero(marks[names.codes])))
    return {"operators": table}


def _device_times(context: Context, ops: Rows) -> tuple[IntArray, IntArray | None]:
    """Return the self device time of each call and its part on AI Cores (None: unknown), in ns."""
    tasks, compute, comm = context.tasks, context.compute, context.comm
    task = find_rows(tasks.ints("id"), compute.ints("id"))
    there = task >= 0
    connection = np.concatenate([tasks.ints("connection")[task[there]], comm.ints("connection")])
    dur = np.concatenate(
        [(tasks.ints("end_ns") - tasks.ints("start_ns"))[task[there]], comm.ints("end_ns") - comm.ints("start_ns")]
    )
    cores = context.strings.column(compute.ints("core"))
    on_core = np.concatenate([cores.isin(_AI_CORES)[there], np.zeros(len(comm), dtype=np.bool_)])
    row, wanted = context.links(ops)
    device = _sums(row, wanted, connection, dur, len(ops))
    if len(compute) and not (cores.codes >= 0).any():
        return device, None
    return device, _sums(row, wanted, connection[on_core], dur[on_core], len(ops))


def _sums(row: IntArray, wanted: IntArray, connection: IntArray, dur: IntArray, count: int) -> IntArray:
    """Return the sum of durations per row: `row` and `wanted` pair rows with connections."""
    keys, code = np.unique(connection, return_inverse=True)
    by_key = np.zeros(len(keys), dtype=np.int64)
    np.add.at(by_key, code.reshape(-1), dur)
    place = find_rows(keys, wanted)
    out = np.zeros(count, dtype=np.int64)
    found = place >= 0
    np.add.at(out, row[found], by_key[place[found]])
    return out


def call_stacks(context: Context, chains: IntArray) -> StringColumn:
    """Return the call stack of each chain id, innermost frame first; unknown without one."""
    frames = context.source.read(schema.CALL_CHAINS)
    order = np.lexsort((frames.ints("depth"), frames.ints("id")))
    ids = frames.ints("id")[order]
    texts = context.strings.column(frames.ints("frame")[order])
    values: list[str | None] = [*texts.values, None]
    keys, first = np.unique(ids, return_index=True)
    bounds = [*first.tolist(), len(ids)]
    codes = texts.codes
    joined = [
        _FRAME_END.join(value for code in codes[start:end].tolist() for value in [values[code]] if value is not None)
        for start, end in zip(bounds, bounds[1:])
    ]
    by_chain = StringColumn.of(text.strip() or None for text in joined)
    return take_text(context.spool, by_chain, find_rows(keys, chains))
