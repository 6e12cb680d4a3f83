"""Table "kernels": everything that ran on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.marks import Steps
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.kineto.lost_args import report_lost_args
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.kineto.stacks import threads
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import NULL_INT, Column, Data, IntArray, Kind, StringColumn, Table, are_known, find_rows

_KINDS = {**dict.fromkeys(kineto.MEMCPY, kineto.MEMCPY_KIND), **dict.fromkeys(kineto.MEMSET, kineto.MEMSET_KIND)}
_FROM_ARGS = {column: key for key, column in kineto.KERNEL_ARGS.items()}
_ARGS_COLUMNS = tuple(column for column in kineto.KERNEL_COLUMNS if column.key in _FROM_ARGS)
_INT = 2**63


def read_kernels(selected: SelectedEvents, steps: Steps, log: ProblemLog) -> tuple[Table, Index]:
    """Return the table by start and the event of each row. Columns without a value are left out; args that only some events
    lack are reported."""
    events = selected.events
    order = np.argsort(events.ts[selected.device], kind="stable")
    rows = selected.device[order]
    names = selected.names(rows)
    kinds = _kinds(selected, rows, names)
    given = Table(_ARGS_COLUMNS, _args(selected, selected.device)).take(order)
    report_lost_args({_FROM_ARGS[key]: data for key, data in given.data.items()}, kinds.codes, rows, log)
    start, dur = events.ts[rows], events.dur[rows]
    devices = given.ints("device_id")
    devices = np.where(devices == NULL_INT, _process_ids(selected, rows), devices)
    data: dict[str, Data] = {
        **given.data,
        "device_id": devices,
        "step": _steps(selected, steps, given.ints("correlation"), devices, start),
        "name": names,
        "core": kinds,
        "start_ns": start,
        "dur_ns": dur,
        "wait_ns": _wait(start, start + dur, devices),
    }
    return Table(tuple(column for column in kineto.KERNEL_COLUMNS if _is_shown(column, data)), data), rows


def _is_shown(column: Column, data: dict[str, Data]) -> bool:
    """Whether the column has a known value or identifies the rows."""
    return column.group in ("identity", "time") or bool(are_known(data[column.key]).any())


def _args(selected: SelectedEvents, rows: Index) -> dict[str, Data]:
    """Return the columns from args; values of another type are unknown."""
    values: dict[str, list[Any]] = {key: [] for key in (*_FROM_ARGS.values(), kineto.IN_DEVICE)}
    for found in selected.objects(rows):
        for key, column in values.items():
            column.append(found.get(key))
    device = _FROM_ARGS["device_id"]
    values[device] = [
        second if first is None else first for first, second in zip(values[device], values[kineto.IN_DEVICE])
    ]
    return {column.key: _column(values[_FROM_ARGS[column.key]], column.kind) for column in _ARGS_COLUMNS}


def _column(values: list[Any], kind: Kind) -> Data:
    if kind is Kind.TEXT:
        return StringColumn.of(" × ".join(map(str, value)) if type(value) is list else None for value in values)
    if kind.is_int:
        ints = [value if type(value) is int and -_INT < value < _INT else NULL_INT for value in values]
        return np.array(ints, dtype=np.int64)
    real = [
        value if type(value) is float or (type(value) is int and -_INT < value < _INT) else np.nan for value in values
    ]
    return np.array(real, dtype=np.float64)


def _process_ids(selected: SelectedEvents, rows: Index) -> IntArray:
    """Return the process ids of device events, which are device ids."""
    pids = [
        int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else NULL_INT
        for text in selected.events.pids
    ]
    return np.array([*pids, NULL_INT], dtype=np.int64)[selected.events.pid[rows]]


def _kinds(selected: SelectedEvents, rows: Index, names: StringColumn) -> StringColumn:
    """Return the kind of each event: kernel, copy, set or communication."""
    values = [kineto.KERNEL_KIND, kineto.MEMCPY_KIND, kineto.MEMSET_KIND, kineto.COMMUNICATION_KIND]
    kind = [values.index(_KINDS.get(text, kineto.KERNEL_KIND)) for text in selected.events.categories]
    codes = np.array([*kind, 0], dtype=np.int32)[selected.events.category[rows]]
    communicates = [bool(kineto.COMMUNICATION_KERNEL.search(name)) for name in names.values]
    codes[(codes == 0) & np.array([*communicates, False])[names.codes]] = values.index(kineto.COMMUNICATION_KIND)
    return StringColumn(codes, values)


def _steps(
    selected: SelectedEvents, steps: Steps, correlation: IntArray, devices: IntArray, start: IntArray
) -> StringColumn:
    """Return the step in which each event was launched. Without a known call: none if steps are iterations, which run
    long after their launch; else the step in which it ran, by the first event of each step on its device; on a device
    without any known call, the host's step at that time."""
    place = find_rows(selected.correlations(selected.runtime), np.where(correlation == 0, NULL_INT, correlation))
    has_call = place >= 0
    calls = selected.runtime[place[has_call]]
    times, thread = start.copy(), np.full(len(start), NULL_INT)
    times[has_call], thread[has_call] = selected.events.ts[calls], threads(selected, calls)
    found = steps.at(times, thread)
    codes = found.codes.copy()
    if steps.engine:
        codes[~has_call] = -1
        return StringColumn(codes, found.values)
    for device in np.unique(devices[~has_call]).tolist():
        lost = np.flatnonzero((devices == device) & ~has_call)
        launched = np.flatnonzero((devices == device) & has_call & (codes >= 0))
        if len(launched):
            codes[lost] = _ran_in(codes[launched], start[launched], start[lost])
    return StringColumn(codes, found.values)


def _ran_in(codes: NDArray[np.int32], start: IntArray, times: IntArray) -> NDArray[np.int32]:
    """Return the last step whose first event started before each time; -1 before all."""
    steps, first = np.unique(codes, return_index=True)  # events are ordered by start
    order = np.argsort(start[first], kind="stable")
    place = np.searchsorted(start[first][order], times, side="right")
    return np.concatenate([np.array([-1], dtype=np.int32), steps[order]])[place]


def _wait(start: IntArray, end: IntArray, devices: IntArray) -> IntArray:
    """Return ns since all earlier events of the device ended; unknown for the first. Events must be ordered by start."""
    out = np.full(len(start), NULL_INT)
    for device in np.unique(devices):
        rows = np.flatnonzero(devices == device)
        ended = np.maximum.accumulate(end[rows])
        out[rows[1:]] = np.maximum(start[rows[1:]] - ended[:-1], 0)
    return out
