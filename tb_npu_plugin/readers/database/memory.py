"""Tables "op_memory", "memory_record" and "module_memory".
Source: docs/facts/ascend_pt.md, Memory files; docs/facts/databases.md, Joins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.source import Rows, spool_column
from tb_npu_plugin.readers.database.strings import Strings, take_text
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.torch_npu_db import TORCH_STRINGS
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD, MODULE_MEMORY, OP_MEMORY
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table

Index = NDArray[np.int64]


def read_op_memory(context: Context) -> dict[str, Table]:
    """Return the allocations of the framework, then those of the graph engine, each in the table's order."""
    rows = context.source.read(schema.OP_MEMORY)
    if not len(rows):
        return {}
    ids = rows.ints("name")
    engine = ids < TORCH_STRINGS
    order = np.argsort(engine, kind="stable")
    names = context.strings.names(ids)
    if engine.any():
        names = _add_engine_prefix(names, engine)
    data: dict[str, Data] = {"name": take_text(context.spool, names, order), "device": _devices(context, rows, order)}
    table = _table(context, OP_MEMORY, rows, order, data)
    context.source.count(schema.OP_MEMORY, shown=len(table))
    return {"op_memory": table}


def _add_engine_prefix(names: StringColumn, engine: NDArray[np.bool_]) -> StringColumn:
    """Add the prefix that text exports give to names of the graph engine."""
    count = len(names.values)
    values = [*names.values, *(schema.GRAPH_ENGINE_PREFIX + name for name in names.values)]
    known = names.codes >= 0
    return StringColumn(np.where(engine & known, names.codes + np.int32(count), names.codes), values)


def read_memory_record(context: Context) -> dict[str, Table]:
    """Return memory totals: of the process, then of the allocators in the table's order, then of the workspace. The
    process is sampled even if memory profiling was off: see formats._finish. The timeline shows these samples, too, and
    those of the device."""
    rows = context.source.read(schema.MEMORY_RECORD)
    app = context.source.read(schema.NPU_MEMORY)
    context.source.count(schema.NPU_MEMORY, shown=len(app))
    place = context.strings.column(app.ints("place"))
    chosen = np.flatnonzero(place.equals(schema.APP_MEMORY))
    if not len(rows) and not len(chosen):
        return {}
    components = context.strings.column(rows.ints("component"))
    last = components.equals(schema.WORKSPACE)
    order = np.argsort(last, kind="stable")
    values = [schema.APP_COMPONENT, *components.values]
    codes = np.concatenate([np.zeros(len(chosen), dtype=np.int32), components.codes[order] + np.int32(1)])

    def both(of_app: IntArray, key: str) -> IntArray:
        return spool_column(context.spool, np.concatenate([of_app, rows.ints(key)[order]]))

    none = np.full(len(chosen), NULL_INT, dtype=np.int64)
    devices = np.concatenate([context.devices(app)[chosen], context.devices(rows)[order]])
    data: dict[str, Data] = {
        "component": take_text(context.spool, StringColumn(codes, values), np.arange(len(codes))),
        "time_ns": both(app.ints("time_ns")[chosen], "time_ns"),
        "allocated_bytes": both(none, "allocated_bytes"),
        "reserved_bytes": both(app.ints("hbm")[chosen], "reserved_bytes"),
        "active_bytes": both(none, "active_bytes"),
        "stream": both(none, "stream"),
        "device": _device_names(devices),
    }
    table = Table(MEMORY_RECORD.columns, data)
    context.source.count(schema.MEMORY_RECORD, shown=len(table) - len(chosen))
    return {"memory_record": table}


def read_module_memory(context: Context) -> dict[str, Table]:
    """Return the memory of the modules, grouped by module."""
    rows = context.source.read(schema.MODULE_MEMORY)
    if not len(rows):
        return {}
    names = Strings(context.source, schema.MODULE_NAMES).column(rows.ints("module"))
    context.source.leave_out(schema.MODULE_MEMORY, "unknown_module", int(np.count_nonzero(names.codes < 0)))
    order = np.argsort(names.codes, kind="stable")
    order = order[names.codes[order] >= 0]
    data: dict[str, Data] = {
        "component": take_text(context.spool, names, order),
        "device_id": spool_column(context.spool, context.devices(rows)[order]),
        "device": _devices(context, rows, order),
    }
    table = _table(context, MODULE_MEMORY, rows, order, data)
    context.source.count(schema.MODULE_MEMORY, shown=len(table))
    return {"module_memory": table}


def _table(context: Context, file: ResultFile, rows: Rows, order: Index, data: dict[str, Data]) -> Table:
    """Return a table of the declared columns: those in `data`, the others from `rows` by key."""
    for column in file.columns:
        if column.key not in data and rows.has(column.key):
            data[column.key] = spool_column(context.spool, rows.ints(column.key)[order])
    return Table.of(file.columns, data)


def _devices(context: Context, rows: Rows, order: Sequence[int] | Index) -> StringColumn:
    return _device_names(context.devices(rows)[order])


def _device_names(devices: IntArray) -> StringColumn:
    """Return device names as in text exports: "NPU:0"."""
    found, code = np.unique(devices, return_inverse=True)
    return StringColumn(
        np.where(devices == NULL_INT, -1, code.reshape(-1)).astype(np.int32),
        [f"NPU:{number}" for number in found.tolist()],
    )
