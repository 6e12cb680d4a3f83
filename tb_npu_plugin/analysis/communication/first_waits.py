"""Initial waits of a rank's collectives, from the waiting tasks of its trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.hardware_waits import in_order, stream_waits
from tb_npu_plugin.analysis.communication.lateness import FirstWait, Tasks, first_starts, last_first_waits
from tb_npu_plugin.analysis.ranks.world import number_in_group, size_of_group
from tb_npu_plugin.model import Capture, Timeline
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.schema.trace_events import GROUP, NOTIFY, NOTIFY_WAIT, PEER, PLANE
from tb_npu_plugin.tables import NULL_INT, Table

_BETWEEN_TWO = COMM_KINDS[0]
#: Number of longest waits per rank whose peer is looked up: each reads a part of the trace.
_MAX_WAITS = 4096
#: Largest distance of an operator's start in the trace and in the table, ns: files round it to 0.25 us.
SAME_START_NS = 1_000_000


@dataclass(frozen=True)
class CollectiveWait:
    """The initial wait of a collective for the last peer.

    Attributes:
        row: Row of comm_ops.
        operator: Name of the operator.
        start: Start of the operator, ns since the epoch by the clock of the rank.
        wait: From there until the last peer arrives, ns; 0 if it waits for none.
        second: The same for the last peer but one; 0 if it waits for one peer.
        peer: Number of the awaited rank inside the group; None beyond the longest waits of the rank.
        until_transfer: Time from the start of the operator to its first transfer, the wait included, ns.
        tasks: Ids of the first wait for each peer.
        own: Number of this rank inside the group, from which the order of the tasks infers the peers. None if the tasks name
            them, or if it is unknown.
        is_part: It waits again, perhaps for the peers of other servers: `wait` is the least possible.
    """

    row: int
    operator: str
    start: int
    wait: int
    second: int
    peer: Optional[int]
    until_transfer: int
    tasks: tuple[int, ...]
    own: Optional[int] = None
    is_part: bool = False


def first_waits(timeline: Timeline, ops: Table, capture: Capture) -> list[CollectiveWait]:
    """The initial wait of each collective in the trace, the longest first.

    timeline: Timeline of the rank, completely read. ops: its comm_ops, or the result of operators_of.
    """
    rows, groups = _Rows(ops), ops.text("group")
    found: list[tuple[FirstWait, int, int, int, bool, bool]] = []
    for operators, waiting, moves, later in _planes(timeline):
        transfer = first_starts(operators, moves)
        for wait in last_first_waits(operators, waiting):
            place = wait.operator
            name = str(timeline.names[int(timeline.name[operators.id[place]])])
            start = int(operators.start[place])
            row = rows.find(name, start + timeline.base_ns)
            if row is not None:
                until = max(int(transfer[place]) - start, wait.wait) if moves else wait.wait
                members = size_of_group(capture, groups[row]) if later is not None and later[place] else 0
                found.append((wait, row, start, until, later is None, len(wait.tasks) + 1 < members))
    found.sort(key=lambda one: (-one[0].wait, one[0].task))
    largest = max((len(wait.tasks) + 1 for wait, *_ in found), default=0)
    out = []
    for number, (wait, row, start, until, is_named, is_part) in enumerate(found):
        members = len(wait.tasks) + 1
        own = None if is_named else number_in_group(capture, groups[row], members, members == largest)
        tasks = in_order(timeline, wait.tasks) if own is not None and number < _MAX_WAITS else wait.tasks
        out.append(
            CollectiveWait(
                row=row,
                operator=rows.names[row],
                start=start + timeline.base_ns,
                wait=wait.wait,
                second=wait.second,
                peer=_peer(timeline, wait.task, tasks, own) if number < _MAX_WAITS else None,
                until_transfer=until,
                tasks=tuple(tasks),
                own=own,
                is_part=is_part,
            )
        )
    return out


def _planes(timeline: Timeline) -> Iterator[tuple[Tasks, list[Tasks], list[Tasks], Optional[NDArray[np.bool_]]]]:
    """For each communicator: its operators; the waits, of each plane or by place; the transfers of each plane; and which operators
    wait again, None if the waits name their peers."""
    unnamed: dict[int, Tasks] = {}
    for tracks in communicators(timeline):
        operators = _tasks(timeline, tracks[0])
        waiting = [_tasks(timeline, track, NOTIFY_WAIT) for track in tracks[1:]]
        if not any(len(waits.id) for waits in waiting):
            unnamed[tracks[0]] = operators
            continue
        # A plane without waits copies within the device.
        moves = [_transfers(timeline, track) for track, waits in zip(tracks[1:], waiting) if len(waits.id)]
        yield operators, waiting, moves, None
    for track, found in (stream_waits(timeline, unnamed) if unnamed else {}).items():
        yield unnamed[track], found.first, [], found.later


def peer_waits(timeline: Timeline, wait: CollectiveWait) -> list[tuple[int, int]]:
    """(number inside the group, first wait in ns) of each peer of a collective."""
    found = [(_peer(timeline, task, wait.tasks, wait.own), int(timeline.rows.dur[task])) for task in wait.tasks]
    return [(peer, time) for peer, time in found if peer is not None]


def _peer(timeline: Timeline, task: int, tasks: Sequence[int], own: Optional[int]) -> Optional[int]:
    """Number inside the group of the rank that a task waits for. own: None if the task names it."""
    if own is None:
        return peer_of(timeline, task)
    return (own + 1 + tasks.index(task)) % (len(tasks) + 1)


def peer_of(timeline: Timeline, task: int) -> Optional[int]:
    """Number of the awaited rank inside the group, from the args of a waiting task; None if they cannot be read."""
    args, _ = timeline.args(task)
    peer = (args or {}).get(PEER)
    return peer if isinstance(peer, int) and not isinstance(peer, bool) else None


class _Rows:
    """Rows of the collectives in comm_ops, by name and start."""

    def __init__(self, ops: Table) -> None:
        self.names = [name or "" for name in ops.text("name").tolist()]
        self._rows: dict[str, list[tuple[int, int]]] = {}
        columns = zip(self.names, ops.text("kind").tolist(), ops.ints("start_ns").tolist())
        for row, (name, kind, start) in enumerate(columns):
            if kind != _BETWEEN_TWO:
                self._rows.setdefault(name, []).append((start, row))

    def find(self, name: str, start: int) -> Optional[int]:
        """The row of an operator. Names may recur in each step: the row that starts closest then."""
        found = self._rows.get(name, [])
        if len(found) == 1:
            return found[0][1]
        near = min(found, key=lambda one: abs(one[0] - start), default=None)
        return None if near is None or near[0] == NULL_INT or abs(near[0] - start) > SAME_START_NS else near[1]


def communicators(timeline: Timeline) -> Iterator[list[int]]:
    """Tracks of each communicator: its operators, then its planes, which follow it."""
    group, plane = (words.split("{0}") for words in (GROUP, PLANE))
    tracks: list[int] = []
    for number, track in enumerate(timeline.tracks):
        name = track["name"]
        if tracks and name.startswith(plane[0]):
            tracks.append(number)
            continue
        if tracks:
            yield tracks
        tracks = [number] if name.startswith(group[0]) and name.endswith(group[1]) else []
    if tracks:
        yield tracks


def _tasks(timeline: Timeline, track: int, name: str = "") -> Tasks:
    """Slices of a track; only those of one name if given."""
    return _slices(timeline, track, lambda found: not name or found == name)


def _transfers(timeline: Timeline, track: int) -> Tasks:
    """Slices of a plane that move data."""
    return _slices(timeline, track, lambda found: not found.startswith(NOTIFY))


def _slices(timeline: Timeline, track: int, wanted: Any) -> Tasks:
    rows = timeline.rows
    first, end = (int(rows.first[row]) for row in (rows.track_row[track], rows.track_row[track + 1]))
    ids = np.arange(first, end, dtype=np.int64)
    numbers = [number for number in np.unique(timeline.name[first:end]).tolist() if wanted(timeline.names[number])]
    ids = ids[np.isin(timeline.name[first:end], numbers)]
    ids = ids[np.argsort(rows.start[ids], kind="stable")]
    return Tasks(np.asarray(rows.start[ids]), np.asarray(rows.dur[ids]), ids)
