"""The table of what ran on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels import gpu as gpu_kernels
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.picked import Index, Picked, looked_up
from tb_npu_plugin.readers.kineto.steps import Steps
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import NULL_INT, Column, Data, IntArray, Kind, StringColumn, Table

_KINDS = {
    **dict.fromkeys(kineto.MEMCPY, kineto.MEMCPY_KIND),
    **dict.fromkeys(kineto.MEMSET, kineto.MEMSET_KIND),
}
_FROM_ARGS = {column: key for key, column in kineto.KERNEL_ARGS.items()}
_ARGS_COLUMNS = tuple(column for column in kineto.KERNEL_COLUMNS if column.key in _FROM_ARGS)
_INT = 2**63


def read_kernels(picked: Picked, steps: Steps) -> tuple[Table, Index]:
    """(the table by start, the event of each row). Columns that no event has are left out."""
    events = picked.events
    order = np.argsort(events.ts[picked.device], kind="stable")
    rows = picked.device[order]
    names = picked.names(rows)
    kinds = _kinds(picked, rows, names)
    types = gpu_kernels.types(names)
    given = Table(_ARGS_COLUMNS, _args(picked, picked.device)).take(order)
    start, dur = events.ts[rows], events.dur[rows]
    devices = given.ints("device_id")
    devices = np.where(devices == NULL_INT, _process_numbers(picked, rows), devices)
    data: dict[str, Data] = {
        **given.data,
        "device_id": devices,
        "step": _steps(picked, steps, given.ints("correlation"), devices, start),
        "name": names,
        "type": StringColumn(
            np.where(kinds.equals(kineto.KERNEL_KIND), types.codes, -1).astype(np.int32), types.values
        ),
        "core": kinds,
        "start_ns": start,
        "dur_ns": dur,
        "wait_ns": _wait(start, start + dur, devices),
    }
    return Table(tuple(column for column in kineto.KERNEL_COLUMNS if _is_there(column, data)), data), rows


def _is_there(column: Column, data: dict[str, Data]) -> bool:
    """A value is known of it, or it tells what a row is."""
    return column.group in ("identity", "time") or _known(data[column.key])


def _known(data: Data) -> bool:
    if isinstance(data, StringColumn):
        return bool((data.codes >= 0).any())
    return bool((data != NULL_INT).any()) if data.dtype == np.int64 else bool((~np.isnan(data)).any())


def _args(picked: Picked, rows: Index) -> dict[str, Data]:
    """Columns that are values of args; what is of another type than the column is unknown."""
    values: dict[str, list[Any]] = {key: [] for key in (*_FROM_ARGS.values(), kineto.IN_DEVICE)}
    for found in picked.objects(rows):
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
        whole = [value if type(value) is int and -_INT < value < _INT else NULL_INT for value in values]
        return np.array(whole, dtype=np.int64)
    real = [
        value if type(value) is float or (type(value) is int and -_INT < value < _INT) else np.nan for value in values
    ]
    return np.array(real, dtype=np.float64)


def _process_numbers(picked: Picked, rows: Index) -> IntArray:
    """The process id of device events is the number of the device."""
    pids = [
        int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else NULL_INT for text in picked.events.pids
    ]
    return np.array([*pids, NULL_INT], dtype=np.int64)[picked.events.pid[rows]]


def _kinds(picked: Picked, rows: Index, names: StringColumn) -> StringColumn:
    """Kernel, copy, set, or communication."""
    values = [kineto.KERNEL_KIND, kineto.MEMCPY_KIND, kineto.MEMSET_KIND, kineto.COMMUNICATION_KIND]
    kind = [values.index(_KINDS.get(text, kineto.KERNEL_KIND)) for text in picked.events.categories]
    codes = np.array([*kind, 0], dtype=np.int32)[picked.events.category[rows]]
    communicates = [bool(kineto.COMMUNICATION_KERNEL.search(name)) for name in names.values]
    codes[(codes == 0) & np.array([*communicates, False])[names.codes]] = values.index(kineto.COMMUNICATION_KIND)
    return StringColumn(codes, values)


def _steps(picked: Picked, steps: Steps, correlation: IntArray, devices: IntArray, start: IntArray) -> StringColumn:
    """The step in which each was launched. Where no call is known: the step in which it ran, as those of known calls
    divide the time of its device; on a device without any, that of the host then."""
    place = looked_up(picked.correlations(picked.runtime), np.where(correlation == 0, NULL_INT, correlation))
    has_call = place >= 0
    calls = picked.runtime[place[has_call]]
    moments, thread = start.copy(), np.full(len(start), NULL_INT)
    moments[has_call], thread[has_call] = picked.events.ts[calls], threads(picked, calls)
    found = steps.at(moments, thread)
    codes = found.codes.copy()
    for device in np.unique(devices[~has_call]).tolist():
        lost = np.flatnonzero((devices == device) & ~has_call)
        launched = np.flatnonzero((devices == device) & has_call & (codes >= 0))
        if len(launched):
            codes[lost] = _ran_in(codes[launched], start[launched], start[lost])
    return StringColumn(codes, found.values)


def _ran_in(codes: NDArray[np.int32], start: IntArray, moments: IntArray) -> NDArray[np.int32]:
    """The step whose first work started last before each moment; -1 before all."""
    steps, first = np.unique(codes, return_index=True)  # of work by start
    order = np.argsort(start[first], kind="stable")
    place = np.searchsorted(start[first][order], moments, side="right")
    return np.concatenate([np.array([-1], dtype=np.int32), steps[order]])[place]


def _wait(start: IntArray, end: IntArray, devices: IntArray) -> IntArray:
    """ns since all earlier work of the device has ended; unknown for the first. Given by start."""
    out = np.full(len(start), NULL_INT)
    for device in np.unique(devices):
        rows = np.flatnonzero(devices == device)
        ended = np.maximum.accumulate(end[rows])
        out[rows[1:]] = np.maximum(start[rows[1:]] - ended[:-1], 0)
    return out
