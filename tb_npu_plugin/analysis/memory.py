"""Memory over time: curves, peaks, live allocations, fragmentation. Times int ns, sizes int bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn, Table, known

SERIES = ("allocated_bytes", "reserved_bytes", "active_bytes")
#: Maximum rows kept in one bin: first and last, and the smallest and largest of each series.
_ROWS_PER_BIN = 2 + 2 * len(SERIES)
#: Components used for the allocators' peak, in order of preference: all allocators, the framework's, the graph
#: engine's.
_ALLOCATORS = ("PTA+GE", "MindSpore+GE", "PTA", "MindSpore", "GE")

MODULE_COLUMNS = columns_of("module_peaks")


@dataclass(frozen=True)
class Curve:
    """Memory of one component on one device over time. `points`: number of records in the file; the arrays hold some or
    all of them. A value holds until the next time; NULL_INT if the record has none."""

    component: str
    device: Optional[str]
    points: int
    time: IntArray
    allocated: IntArray
    reserved: IntArray
    active: IntArray


@dataclass(frozen=True)
class Peak:
    """Largest value and the first time it was reached; None if no record has a value."""

    value: Optional[int]
    at: Optional[int]


@dataclass(frozen=True)
class ComponentPeaks:
    """Peaks of one component on one device."""

    component: str
    device: Optional[str]
    allocated: Peak
    reserved: Peak
    active: Peak


def of_device(table: Table, device: str) -> Table:
    """Rows of one device; all rows for ""."""
    return table.take(table.text("device").equals(device)) if device else table


def devices(tables: Sequence[Table]) -> list[str]:
    """Names of the devices in the tables, sorted."""
    found = {item for table in tables for item in set(table.text("device").tolist())}
    return sorted(item for item in found if item is not None)


def curves(records: Table, points: int, start: int | None = None, end: int | None = None) -> list[Curve]:
    """Curve of each component and device.

    With `start`, `end` (ns since the epoch): the records in this range, the last one before it and the first one after
    it. More than `points` records are thinned: each of points/8 equal time bins keeps its first and last record and the
    extremes of every series.
    """
    out = []
    for rows in _by_component(records):
        component, device, count = rows.text("component")[0] or "", rows.text("device")[0], len(rows)
        rows = _range(rows, start, end)
        if len(rows) > points:
            rows = rows.take(_thin_out(rows, max(points // _ROWS_PER_BIN, 1)))
        series = [rows.ints(key) for key in SERIES]
        out.append(Curve(component, device, count, rows.ints("time_ns"), *series))
    return out


def peaks(records: Table) -> list[ComponentPeaks]:
    """Peaks of each component and device over all records."""
    return [
        ComponentPeaks(
            rows.text("component")[0] or "",
            rows.text("device")[0],
            *(peak(rows.ints("time_ns"), rows.ints(key)) for key in SERIES),
        )
        for rows in _by_component(records)
    ]


def peak(time: IntArray, values: IntArray) -> Peak:
    """Largest known value and its first time; `time` ascends."""
    if not known(values).any():
        return Peak(None, None)
    row = int(values.argmax())  # unknown is the smallest integer; argmax returns the first of equal values
    return Peak(int(values[row]), int(time[row]))


@dataclass(frozen=True)
class AllocatorPeak:
    """Memory of the allocators when the most is allocated. at: ns since the epoch; sizes in bytes, reserved above 0."""

    at: int
    allocated: int
    reserved: int

    @property
    def fragmentation(self) -> float:
        """Share of reserved memory that is not allocated."""
        return (self.reserved - self.allocated) / self.reserved


def allocator_records(records: Table) -> Table | None:
    """Records of the first component of _ALLOCATORS that has any with both sizes, by time; None without one."""
    component = records.text("component")
    for name in _ALLOCATORS:
        rows = _by_time(records.take(component.equals(name)))
        reserved, allocated = rows.ints("reserved_bytes"), rows.ints("allocated_bytes")
        rows = rows.take(known(reserved) & known(allocated) & (reserved > 0))
        if len(rows):
            return rows
    return None


def allocator_peak(rows: Table) -> AllocatorPeak:
    """The peak of allocated memory. rows: see `allocator_records`."""
    time, allocated, reserved = (rows.ints(key) for key in ("time_ns", "allocated_bytes", "reserved_bytes"))
    row = int(allocated.argmax())
    return AllocatorPeak(int(time[row]), int(allocated[row]), int(reserved[row]))


def fragmentation(records: Table) -> float | None:
    """(reserved - allocated) / reserved at the peak of allocated memory; None without records of an allocator."""
    rows = allocator_records(records)
    return None if rows is None else allocator_peak(rows).fragmentation


def live_at(allocations: Table, moment: int) -> Table:
    """Allocations that are live at a time, in ns since the epoch: allocated at or before it (or before the capture), and
    ended after it or never. Rows of a negative size are releases."""
    return live_within(allocations, moment, moment + 1)


def live_within(allocations: Table, start: int, end: int) -> Table:
    """Allocations that are live at some time in [start, end), see `live_at`."""
    ended = _end_of_blocks(allocations)
    held = (allocations.ints("alloc_ns") < end) & (~known(ended) | (ended > start))
    return allocations.take(held & (allocations.ints("size_bytes") >= 0))


def _end_of_blocks(allocations: Table) -> IntArray:
    """When each block ends: the earlier of its release and its active release, where the allocator's total falls; the other
    one changes no total. NULL_INT if both are unknown. Source: docs/facts/ascend_pt.md, Memory files."""
    release, active = (allocations.ints(key) for key in ("release_ns", "active_release_ns"))
    both = known(release) & known(active)
    return np.where(both, np.minimum(release, active), np.maximum(release, active))  # unknown is the smallest integer


def modules(samples: Table) -> Table:
    """One row per CANN module and device (MODULE_COLUMNS)."""
    rows = list(_by_component(samples))
    found = [peak(part.ints("time_ns"), part.ints("reserved_bytes")) for part in rows]
    return Table(
        MODULE_COLUMNS,
        {
            "component": StringColumn.of(part.text("component")[0] for part in rows),
            "device": StringColumn.of(part.text("device")[0] for part in rows),
            "peak_bytes": _column(entry.value for entry in found),
            "peak_at": _column(entry.at for entry in found),
            "last_bytes": _column(int(part.ints("reserved_bytes")[-1]) for part in rows),
        },
    )


def bounds(columns: Sequence[IntArray]) -> list[int] | None:
    """Smallest and largest known value in all columns; None without one."""
    values = [column[known(column)] for column in columns]
    values = [column for column in values if len(column)]
    return (
        [min(int(column.min()) for column in values), max(int(column.max()) for column in values)] if values else None
    )


def _by_component(records: Table) -> Iterator[Table]:
    """Rows of each component and device, sorted by time."""
    groups = Groups([records.text("component"), records.text("device")], len(records))
    for rows in groups.rows():
        yield _by_time(records.take(rows))


def _by_time(records: Table) -> Table:
    return records.take(np.argsort(records.ints("time_ns"), kind="stable"))


def _range(rows: Table, start: int | None, end: int | None) -> Table:
    time = rows.ints("time_ns")
    first = 0 if start is None else max(int(np.searchsorted(time, start, side="right")) - 1, 0)
    last = len(time) if end is None else int(np.searchsorted(time, end, side="right")) + 1
    return rows.take(np.arange(first, min(last, len(time))))


def _thin_out(rows: Table, bins: int) -> NDArray[np.int64]:
    """Row numbers that keep the shape of every series; `rows` are sorted by time."""
    time = rows.ints("time_ns")
    width = max(-(-int(time[-1] - time[0] + 1) // bins), 1)
    of_row = (time - time[0]) // width
    starts = np.flatnonzero(np.concatenate([[True], of_row[1:] != of_row[:-1]]))
    keep = [starts, np.append(starts[1:], len(time)) - 1]
    for key in SERIES:
        values = rows.ints(key)
        certain = np.flatnonzero(known(values))
        if len(certain):
            order = certain[np.lexsort((values[certain], of_row[certain]))]
            edge = np.flatnonzero(np.diff(of_row[order])) + 1
            keep += [order[np.append(0, edge)], order[np.append(edge, len(order)) - 1]]
    return np.unique(np.concatenate(keep))


def _column(values: Iterator[int | None]) -> IntArray:
    return np.asarray([NULL_INT if value is None else value for value in values], dtype=np.int64)
