"""Memory tables: totals over time, and allocations with their release."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.kineto.lost_args import report_lost_args
from tb_npu_plugin.readers.kineto.operators import Operators
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.kineto.stacks import threads
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table, known


def read_memory(selected: SelectedEvents, operators: Operators, log: ProblemLog) -> dict[str, Table]:
    """Return memory_record and op_memory; {} without [memory] events."""
    rows = selected.memory
    if not len(rows):
        return {}
    found = selected.integers(rows, *kineto.MEMORY_ARGS)
    report_lost_args(dict(zip(kineto.MEMORY_ARGS, found)), np.zeros(len(rows), dtype=np.int32), rows, log)
    rows, found = _once_in_order(selected.events.ts[rows], rows, found, log)
    size, address, kind, number, allocated, reserved = found
    order = np.argsort(selected.events.ts[rows], kind="stable")
    rows, size, address, kind, number, allocated, reserved = (
        part[order] for part in (rows, size, address, kind, number, allocated, reserved)
    )
    time = selected.events.ts[rows]
    reserved = np.where(kind == kineto.CPU_DEVICE, NULL_INT, reserved)  # the host allocator does not reserve
    devices = _devices(kind, number)
    record: dict[str, Data] = {
        "component": StringColumn(np.zeros(len(rows), dtype=np.int32), [kineto.ALLOCATOR]),
        "time_ns": time,
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
        "device": devices,
    }
    taken, freed = _pair_releases(devices.codes.astype(np.int64), address, size)
    ended = freed >= 0
    release = np.where(ended, time[freed], NULL_INT)
    owner = operators.at(time[taken], threads(selected, rows[taken]))
    allocations: dict[str, Data] = {
        "name": _operator_names(selected, operators, owner),
        "size_bytes": size[taken],
        "alloc_ns": time[taken],
        "release_ns": release,
        "dur_ns": np.where(ended, release - time[taken], NULL_INT),
        "alloc_allocated_bytes": allocated[taken],
        "alloc_reserved_bytes": reserved[taken],
        "release_allocated_bytes": np.where(ended, allocated[freed], NULL_INT),
        "release_reserved_bytes": np.where(ended, reserved[freed], NULL_INT),
        "device": devices.take(taken),
    }
    return {
        "memory_record": Table.of(TABLES["memory_record"], record),
        "op_memory": Table.of(TABLES["op_memory"], allocations),
    }


def _once_in_order(time: IntArray, rows: Index, found: list[IntArray], log: ProblemLog) -> tuple[Index, list[IntArray]]:
    """Return the events without repeated ones, whose totals would differ; report these, and events that are not in the order
    of time: totals and releases follow from it."""
    report = FileReport(log, "")
    _, first = np.unique(np.stack([time, *found]), axis=1, return_index=True)
    if len(first) < len(rows):
        kept = np.zeros(len(rows), dtype=np.bool_)
        kept[first] = True
        report.add(
            "repeated_event", f"event {int(rows[~kept][0])}", found=kineto.MEMORY_EVENT, count=int((~kept).sum())
        )
        time, rows, found = time[kept], rows[kept], [values[kept] for values in found]
    wrong = int((np.diff(time) < 0).sum())
    if wrong > 1 + len(rows) // 1000:  # threads may swap two
        expected = Message("expected.rows_in_order", column="ts")
        report.add("not_in_order", kineto.MEMORY_EVENT, expected=expected, count=wrong)
    return rows, found


def _devices(kind: IntArray, number: IntArray) -> StringColumn:
    """Return device names: "GPU:0", "CPU"; unknown for a device type without a name."""
    pairs, place = np.unique(np.stack([kind, number]), axis=1, return_inverse=True)
    words = []
    for device, index in pairs.T.tolist():
        name = kineto.MEMORY_DEVICES.get(device)
        words.append(f"{name}:{index}" if name and device != kineto.CPU_DEVICE and index >= 0 else name)
    return StringColumn.of(words[code] for code in np.ravel(place).tolist())


def _pair_releases(device: Index, address: IntArray, size: IntArray) -> tuple[Index, Index]:
    """Return the allocations and the release of each, or -1: the next event of the address, if it releases it. Releases
    of memory allocated before the recording are left out. Events must be ordered by time."""
    usable = known(address) & known(size) & (size != 0)
    order = np.flatnonzero(usable)
    order = order[np.lexsort((order, address[order], device[order]))]
    follows = np.zeros(len(order), dtype=bool)
    same = (address[order[1:]] == address[order[:-1]]) & (device[order[1:]] == device[order[:-1]])
    follows[:-1] = same & (size[order[:-1]] > 0) & (size[order[1:]] < 0)
    after = np.append(order[1:], -1)[: len(order)]
    released = np.full(len(size), -1, dtype=np.int64)
    released[order[follows]] = after[follows]
    taken = np.flatnonzero(usable & (size > 0))
    return taken, released[taken]


def _operator_names(selected: SelectedEvents, operators: Operators, owner: Index) -> StringColumn:
    """Return the names of the allocating operators; unknown outside operators."""
    if not len(operators.rows):
        return StringColumn(np.full(len(owner), -1, dtype=np.int32), [])
    names = selected.names(operators.rows)
    return StringColumn(np.where(owner >= 0, names.codes[owner], -1).astype(np.int32), names.values)
