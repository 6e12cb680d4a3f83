"""What a slice led to: the slices nested in it, the device tasks that it launched, and the tasks of a collective."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.launches import launches_of, queue_at_launch
from tb_npu_plugin.schema import trace as words
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.trace_events import GROUP, NO_RANK, PEER, PLANE, SIZE, SOURCE, TRANSPORT
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import check_client
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn, Table

Index = NDArray[np.int64]
#: Processes whose slices launch others; slices of all other processes are device tasks.
_HOST = (*words.PROGRAM, *words.CANN)

TASK_COLUMNS = columns_of("slice_tasks")
NESTED_COLUMNS = columns_of("nested_slices")
COLLECTIVE_COLUMNS = columns_of("collective_tasks")


@dataclass(frozen=True)
class Descent:
    """Device tasks that a slice led to.

    Attributes:
        origin, task: Distinct pairs of a slice on its thread, the slice itself or a nested one, and a task that flows lead
            to from there. For a collective, both are its task.
        tasks: The tasks, each once, by start.
        is_collective: Whether they are the tasks of a collective.
    """

    origin: Index
    task: Index
    tasks: Index
    is_collective: bool


def descent(timeline: Timeline, slice_id: int, is_gone: Callable[[], bool] = lambda: False) -> Descent:
    """The device tasks that a slice launched: flows of words.CAUSES lead to them from the slice, or from one nested in
    it. For a collective, its tasks on all planes. Memory grows with the number of these tasks.

    Args:
        is_gone: Whether the client closed the connection; called for each row of the timeline that is searched.

    Raises:
        ClientGone: The client closed the connection.
    """
    track, _ = timeline.place(slice_id)
    planes = _planes(timeline, track)
    if planes is not None:
        found = (_inside(timeline, row, slice_id) for row in planes)
        origin = task = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    else:
        origin, task = _launched(timeline, slice_id, is_gone)
    tasks = np.unique(task)
    return Descent(origin, task, tasks[np.argsort(timeline.rows.start[tasks], kind="stable")], planes is not None)


def task_table(timeline: Timeline, found: Descent, limit: int | None = None) -> Table:
    """The first `limit` tasks, by start. Columns: COLLECTIVE_COLUMNS for a collective, else TASK_COLUMNS."""
    tasks = found.tasks[:limit]
    return collective_table(timeline, tasks) if found.is_collective else _task_table(timeline, tasks)


def nested_table(timeline: Timeline, slice_id: int, found: Descent, limit: int) -> tuple[Table, int]:
    """(slices nested in a slice on its thread, by start; number of all). Of more than `limit`, those of the nearest levels.
    found: descent of the slice. Columns: NESTED_COLUMNS."""
    track, depth = timeline.place(slice_id)
    row = timeline.row_number(track, depth)
    levels = [_inside(timeline, one, slice_id) for one in range(row + 1, int(timeline.rows.track_row[track + 1]))]
    nested = np.concatenate([np.zeros(0, dtype=np.int64), *levels])
    shown = nested[:limit]
    shown = shown[np.argsort(timeline.rows.start[shown], kind="stable")]  # of equal starts, the outer one comes first
    return _nested_table(timeline, row, shown, found), len(nested)


def is_host(timeline: Timeline, slice_id: int) -> bool:
    """Whether a slice is one of the program, or a CANN call."""
    return timeline.tracks[timeline.place(slice_id)[0]]["process"] in _HOST


def queue_position(timeline: Timeline, task: int) -> int | None:
    """Number of tasks of the stream that were launched before a task and had not begun at its launch; None if its
    launch is not recorded."""
    _, queue = _launch_facts(timeline, np.array([task]))
    return None if queue[0] == NULL_INT else int(queue[0])


def neighbours(timeline: Timeline, slice_id: int) -> tuple[int | None, int | None]:
    """(previous, next) slice of the track by start, on any of its rows; equal starts are in the order of their ids."""
    track, _ = timeline.place(slice_id)
    rows, start = timeline.rows, int(timeline.rows.start[slice_id])
    before, after = [], []
    for row in range(int(rows.track_row[track]), int(rows.track_row[track + 1])):
        first, end = rows.bounds(row)
        low, high = (first + int(rows.start[first:end].searchsorted(start, side)) for side in ("left", "right"))
        nearby = range(max(low - 1, first), min(high + 1, end))
        before += [(int(rows.start[one]), one) for one in nearby if (rows.start[one], one) < (start, slice_id)]
        after += [(int(rows.start[one]), one) for one in nearby if (rows.start[one], one) > (start, slice_id)]
    return (max(before)[1] if before else None), (min(after)[1] if after else None)


def _launched(timeline: Timeline, slice_id: int, is_gone: Callable[[], bool]) -> tuple[Index, Index]:
    """(slice on the thread of `slice_id` that the flows start from, device task that they lead to): distinct pairs."""
    count = timeline.slice_count
    none = np.zeros(0, dtype=np.int64)
    if not is_host(timeline, slice_id):
        return none, none
    is_launcher = np.array([track["process"] in _HOST for track in timeline.tracks])
    _, origin, target = _flows_inside(timeline, np.array([slice_id]), is_gone)
    seen = tasks = none
    while True:
        pairs = np.setdiff1d(origin * count + target, seen)  # distinct
        if not len(pairs):
            break
        seen = np.concatenate([seen, pairs])
        origin, target = np.divmod(pairs, count)
        on_host = is_launcher[timeline.rows.track_of_row(timeline.rows.row_of(target))]
        tasks = np.concatenate([tasks, pairs[~on_host]])
        origin, target = origin[on_host], target[on_host]
        windows = np.unique(target)
        window, _, reached = _flows_inside(timeline, windows, is_gone)
        origin, target = _join(origin, np.searchsorted(windows, target), window, reached)
    origin, target = np.divmod(np.sort(tasks), count)
    return origin, target


def _join(origin: Index, place: Index, window: Index, reached: Index) -> tuple[Index, Index]:
    """(origin, reached) of each origin at a place with everything that is reached from the window of that number."""
    order = np.argsort(window, kind="stable")
    first, end = (np.searchsorted(window[order], place, side) for side in ("left", "right"))
    found = end - first
    offset = np.arange(found.sum()) - np.repeat(np.cumsum(found) - found, found)
    return np.repeat(origin, found), reached[order[np.repeat(first, found) + offset]]


def _flows_inside(timeline: Timeline, windows: Index, is_gone: Callable[[], bool]) -> tuple[Index, Index, Index]:
    """(index in `windows`, source, target) of the flows to effects that start in host slices (ascending ids), or in what
    is nested in them: on their thread, and in CANN calls of the same thread."""
    rows, found = timeline.rows, [(np.zeros(0, dtype=np.int64),) * 3]
    of_row = rows.row_of(windows)
    for row in np.unique(of_row).tolist():
        chosen = np.flatnonzero(of_row == row)
        start = rows.start[windows[chosen]]
        end = start + np.maximum(rows.dur[windows[chosen]], 1)  # as analysis.packing: a slice lasts 1 ns at least
        for lower in _rows_below(timeline, row):
            check_client(is_gone)
            first, last = rows.bounds(lower)
            bounds = first + np.searchsorted(rows.start[first:last], [start[0], end[-1]])
            source, target = timeline.flows_from(int(bounds[0]), int(bounds[1]), words.CAUSES)
            place = np.searchsorted(start, rows.start[source], side="right") - 1
            inside = rows.start[source] + np.maximum(rows.dur[source], 1) <= end[place]
            found.append((chosen[place[inside]], source[inside], target[inside]))
    window, source, target = (np.concatenate(column) for column in zip(*found))
    return window, source, target


def _rows_below(timeline: Timeline, row: int) -> Iterator[int]:
    """The row itself, the deeper rows of its track, and the rows of CANN calls of the same thread."""
    rows = timeline.rows
    track = int(rows.track_of_row(np.array([row]))[0])
    own = timeline.tracks[track]
    yield from range(row, int(rows.track_row[track + 1]))
    if own["process"] in words.PROGRAM:
        for number, other in enumerate(timeline.tracks):
            if other["kind"] == "slices" and other["process"] in words.CANN and other["tid"] == own["tid"]:
                yield from range(int(rows.track_row[number]), int(rows.track_row[number + 1]))


def _inside(timeline: Timeline, row: int, slice_id: int) -> Index:
    """Slices of a row inside the time of a slice."""
    rows = timeline.rows
    start = int(rows.start[slice_id])
    end = start + max(int(rows.dur[slice_id]), 1)
    first, last = rows.bounds(row)
    low, high = (first + int(rows.start[first:last].searchsorted(time)) for time in (start, end))
    if low < high and rows.start[high - 1] + int(rows.dur[high - 1]) > end:
        high -= 1
    return np.arange(low, high)


def _planes(timeline: Timeline, track: int) -> range | None:
    """Rows of the planes of a group of communication, which follow its track; None for other tracks."""
    group, plane = (text.split("{0}") for text in (GROUP, PLANE))
    name = timeline.tracks[track]["name"]
    if not (name.startswith(group[0]) and name.endswith(group[1])):
        return None
    last = track + 1
    while last < len(timeline.tracks) and timeline.tracks[last]["name"].startswith(plane[0]):
        last += 1
    return range(int(timeline.rows.track_row[track + 1]), int(timeline.rows.track_row[last]))


def _launch_facts(timeline: Timeline, tasks: Index) -> tuple[IntArray, IntArray]:
    """(launch delay in ns, queue position) of tasks; NULL_INT where no launch is recorded."""
    delay, queue = np.full(len(tasks), NULL_INT), np.full(len(tasks), NULL_INT)
    track = timeline.rows.track_of_row(timeline.rows.row_of(tasks))
    for one in np.unique(track).tolist():
        launches = launches_of(timeline, [one])
        order = np.lexsort((launches.launched, launches.task))
        known = launches.task[order]
        own = np.flatnonzero(track == one)
        place = np.searchsorted(known, tasks[own])
        has = place < len(known)
        has[has] = known[place[has]] == tasks[own][has]
        row = order[place[has]]
        delay[own[has]] = np.maximum(launches.start[row] - launches.launched[row], 0)
        queue[own[has]] = queue_at_launch(launches.launched, launches.start)[row]
    return delay, queue


def _common(timeline: Timeline, ids: Index) -> dict[str, IntArray | StringColumn]:
    """Columns of _SLICE and _TIMES."""
    used, code = np.unique(timeline.name[ids], return_inverse=True)
    return {
        "id": ids,
        "name": StringColumn(code.astype(np.int32), [timeline.names[one] for one in used.tolist()]),
        "track": timeline.rows.track_of_row(timeline.rows.row_of(ids)),
        "start": timeline.base_ns + timeline.rows.start[ids],
        "dur": np.asarray(timeline.rows.dur[ids]),
    }


def _task_table(timeline: Timeline, tasks: Index) -> Table:
    delay, queue = _launch_facts(timeline, tasks)
    return Table(TASK_COLUMNS, {**_common(timeline, tasks), "delay": delay, "queue": queue})


def collective_table(timeline: Timeline, tasks: Index) -> Table:
    """Tasks of a collective. Columns: COLLECTIVE_COLUMNS; `start` is ns since the epoch."""
    common = _common(timeline, tasks)
    args = [timeline.args(task)[0] or {} for task in tasks.tolist()]
    planes = [timeline.tracks[track]["name"] for track in np.asarray(common["track"]).tolist()]
    numbers = {column: np.array([_number(one.get(key)) for one in args], dtype=np.int64) for column, key in _NUMBERS}
    for column in ("source", "target"):
        numbers[column] = np.where(numbers[column] == NO_RANK, NULL_INT, numbers[column])
    transport = StringColumn.of(str(one[TRANSPORT]) if TRANSPORT in one else None for one in args)
    return Table(COLLECTIVE_COLUMNS, {**common, "plane": StringColumn.of(planes), **numbers, "transport": transport})


_NUMBERS: Sequence[tuple[str, str]] = (("source", SOURCE), ("target", PEER), ("size_bytes", SIZE))


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else NULL_INT


def _nested_table(timeline: Timeline, selected_row: int, nested: Index, found: Descent) -> Table:
    """nested: slices of the track of the selected slice."""
    rows = timeline.rows
    order = np.argsort(rows.start[found.origin], kind="stable")
    origin, task = found.origin[order], found.task[order]
    first, last = rows.start[origin], rows.start[origin] + np.maximum(rows.dur[origin], 1)
    origin_row = rows.row_of(origin)
    row, own_end = rows.row_of(nested), int(rows.track_row[rows.track_of_row(np.array([selected_row]))[0] + 1])
    is_call = (origin_row < selected_row) | (origin_row >= own_end)  # a CANN call, on another track
    start, end = rows.start[nested], rows.start[nested] + np.maximum(rows.dur[nested], 1)
    tasks, device = np.zeros(len(nested), dtype=np.int64), np.zeros(len(nested), dtype=np.int64)
    bounds = zip(np.searchsorted(first, start).tolist(), np.searchsorted(first, end).tolist())
    for number, (low, high) in enumerate(bounds):
        part = slice(low, high)
        inside = (last[part] <= end[number]) & (is_call[part] | (origin_row[part] >= row[number]))
        launched = np.unique(task[part][inside])
        tasks[number], device[number] = len(launched), rows.dur[launched].sum()
    return Table(
        NESTED_COLUMNS,
        {
            **_common(timeline, nested),
            "level": row - selected_row,
            "self": np.asarray(timeline.self_time[nested]),
            "tasks": tasks,
            "device": device,
        },
    )
