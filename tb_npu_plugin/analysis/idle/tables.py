"""Tables of idle time: by place in the program, and every interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.idle.model import CAUSES, LAUNCHES, CauseTime, DeviceIdle
from tb_npu_plugin.analysis.idle.places import Places, places_of
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import IntArray, StringColumn, Table, from_lists

#: Columns that identify a place in the program.
_PLACE = ("cause", "operator", "frame")


def by_cause(sums: Sequence[CauseTime]) -> Table:
    """Idle time by cause and launch."""
    whole = max(sum(one.time_ns for one in sums), 1)
    columns = columns_of("idle_causes")
    rows = [(one.cause, one.launch, one.time_ns, one.time_ns / whole, one.gaps) for one in sums]
    return from_lists(columns, {column.key: [row[at] for row in rows] for at, column in enumerate(columns)})


def intervals(idle: DeviceIdle, timeline: Timeline, rows: IntArray) -> Table:
    """The intervals in `rows` of `idle.parts`."""
    parts, gaps = idle.parts, idle.gaps
    gap, places = parts.gap[rows], places_of(idle, timeline, rows)
    return Table(
        columns_of("idle_intervals"),
        {
            "start_ns": timeline.base_ns + parts.start[rows],
            "dur_ns": parts.end[rows] - parts.start[rows],
            "cause": StringColumn(parts.cause[rows].astype(np.int32), CAUSES),
            "launch": StringColumn(gaps.launch[gap].astype(np.int32), LAUNCHES),
            **_names(timeline, places),
            "task": _name_of(timeline, gaps.task[gap]),
        },
    )


def by_place(found: Table) -> Table:
    """Idle time by cause, operator and Python function, of the table of `intervals`."""
    keys = [found.text(key) for key in _PLACE]
    groups, times = Groups(keys, len(found)), found.ints("dur_ns")
    sums = groups.sum(times)
    return Table(
        columns_of("idle_places"),
        {
            **{key: texts.take(groups.first) for key, texts in zip(_PLACE, keys)},
            "time_ns": sums,
            "share": sums / max(int(times.sum()), 1),
            "intervals": groups.count(),
            "longest_ns": groups.max(times),
        },
    )


def _names(timeline: Timeline, places: Places) -> dict[str, StringColumn]:
    return {"operator": _name_of(timeline, places.operator), "frame": _name_of(timeline, places.frame)}


def _name_of(timeline: Timeline, slices: IntArray) -> StringColumn:
    """Names of slices; unknown for -1."""
    out = np.full(len(slices), -1, dtype=np.int32)
    chosen = np.flatnonzero(slices >= 0)
    used, place = np.unique(timeline.name[slices[chosen]], return_inverse=True)
    out[chosen] = place.reshape(-1)
    return StringColumn(out, timeline.names.take(used))
