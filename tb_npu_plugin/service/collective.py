"""The tasks of one collective in the timelines of several ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.communication.first_waits import SAME_START_NS, communicators
from tb_npu_plugin.analysis.grouping import concat
from tb_npu_plugin.store.timeline.descent import COLLECTIVE_COLUMNS, Index, collective_table
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import Column, Kind, Table, column_texts

TASKS_COLUMNS = (Column("part", Kind.INT, *column_texts("part"), "identity"), *COLLECTIVE_COLUMNS)


def find_collective(timeline: Timeline, name: str, start: int) -> int | None:
    """The slice of a collective in the row of its group: of this name, the nearest to `start` (ns since the epoch). None if none
    starts within SAME_START_NS of it."""
    rows, is_name = timeline.rows, timeline.names.equal(name)
    ids: Index = np.zeros(0, dtype=np.int64)
    for track, *_ in communicators(timeline):
        first, end = (int(rows.first[row]) for row in (rows.track_row[track], rows.track_row[track + 1]))
        ids = np.append(ids, first + np.flatnonzero(is_name[timeline.name[first:end]]))
    away = np.abs(rows.start[ids] + timeline.base_ns - start)
    return int(ids[away.argmin()]) if len(ids) and away.min() <= SAME_START_NS else None


def collective_tasks(ranks: Sequence[tuple[int, Placed, Index]], limit: int) -> Table:
    """The first `limit` tasks of all ranks by start on the common axis, ns. ranks: number of each in the request, its timeline
    and its tasks. Columns: TASKS_COLUMNS."""
    start = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(one.timeline.rows.start[ids] + one.offset for _, one, ids in ranks)]
    )
    of_rank = np.repeat(np.arange(len(ranks)), [len(ids) for *_, ids in ranks])
    is_shown = np.zeros(len(start), dtype=bool)
    is_shown[np.lexsort((of_rank, start))[:limit]] = True
    tables = []
    for place, (number, one, ids) in enumerate(ranks):
        table = collective_table(one.timeline, ids[is_shown[of_rank == place]])
        on_axis = table.ints("start") - one.zero
        tables.append(Table(TASKS_COLUMNS, {**table.data, "start": on_axis, "part": np.full(len(table), number)}))
    found = concat(TASKS_COLUMNS, tables)
    return found.take(np.lexsort((found.ints("part"), found.ints("start"))))
