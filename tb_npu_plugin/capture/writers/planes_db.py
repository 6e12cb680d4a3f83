"""The tasks of communication operators in the profiler's database: TASK and COMMUNICATION_TASK_INFO.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db.

An operator has dozens of tasks, and operators of one pattern differ in little but times. So a statement writes many tasks
of an operator at once, and what they share stands in it: SQLite takes a seventh of the time for such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.capture.writers.database import Database, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.plane_tasks import data_type_of, notify_id, rate_of, target_of, transport_of
from tb_npu_plugin.schema import torch_npu_db as schema

_NO_ID = schema.NO_ID
_DATA, _LINKS = schema.ENUMS["ENUM_HCCL_DATA_TYPE"], schema.ENUMS["ENUM_HCCL_LINK_TYPE"]
_TRANSPORTS, _RDMA = schema.ENUMS["ENUM_HCCL_TRANSPORT_TYPE"], schema.ENUMS["ENUM_HCCL_RDMA_TYPE"]
#: Task -> kind of task, as the host side names it.
_KINDS = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: Where a task has no notification: the largest number that SQLite holds.
_NO_NOTIFY = (1 << 63) - 1
#: Tasks of a statement, at most: older versions of SQLite take 999 values. The first two tasks of an operator come on top;
#: then rounds of 3 or 5 tasks follow (collectives.py), so that most parts of a long ring have the same statement.
_FRONT, _ROWS = 2, 120


class _Part(NamedTuple):
    """Some tasks of a pattern, as many as a statement takes. moves: places, among all, of those that move something, and
    how much; tasks, infos: the statements."""

    first: int
    last: int
    moves: list[int]
    sizes: list[int]
    tasks: str
    infos: str


class PlaneTables:
    """Writes the tasks of operators."""

    def __init__(self, output: Output, database: Database, strings: Strings) -> None:
        self._database, self._text = database, strings
        self._pid, self._device = output.process.pid, output.process.device
        #: By the first stream of the operator's group and its main plane.
        self._known: WeakKeyDictionary[Pattern, dict[tuple[int, int], list[_Part]]] = WeakKeyDictionary()

    def add(self, op: CommOp, number: int, name: int, group: int, stream: int, id_: int) -> None:
        """Write the tasks of an operator. number: of the operator; name, group: ids of its texts; stream: of the first
        plane; id_: of the first task."""
        planes, run, data_type = op.planes, self._database.run, _DATA[op.data_type]
        for first, last, moves, sizes, tasks, infos in self._parts(op, stream):
            times = [(start, start + dur) for start, dur in zip(planes.starts[first:last], planes.durs[first:last])]
            run(tasks, (op.connection, number, id_ + first, *chain.from_iterable(times)))
            durs = [planes.durs[place] for place in moves]
            moved = [(size, rate_of(size, dur)) for size, dur in zip(sizes, durs)]
            run(infos, (name, group, number, data_type, id_ + first, *chain.from_iterable(moved)))

    def _parts(self, op: CommOp, stream: int) -> list[_Part]:
        pattern = op.planes.pattern
        known = self._known.get(pattern)
        if known is None:
            known = self._known[pattern] = {}
        found = known.get((stream, op.main))
        if found is None:
            found = known[stream, op.main] = self._make_parts(pattern.tasks, stream, op.main)
        return found

    def _make_parts(self, tasks: Sequence[PlaneTask], stream: int, main: int) -> list[_Part]:
        # ids are given in the order of rows
        texts = [(self._text[_KINDS.get(task.name, "SDMA")], self._text[task.name]) for task in tasks]
        ends = [0, *range(_FRONT + _ROWS, len(tasks), _ROWS), len(tasks)]
        out = []
        for first, last in zip(ends, ends[1:]):
            part = tasks[first:last]
            moves = [place for place, task in enumerate(part, first) if task.size]
            out.append(
                _Part(
                    first,
                    last,
                    moves,
                    [tasks[place].size for place in moves],
                    self._tasks(part, [kind for kind, _ in texts[first:last]], stream),
                    self._infos(part, [name for _, name in texts[first:last]], main),
                )
            )
        return out

    def _tasks(self, tasks: Sequence[PlaneTask], kinds: list[int], stream: int) -> str:
        """Of TASK. Values: connection, number of the operator, id of the first task; start and end of each task."""
        rows = [
            (
                *_two_placeholders(4, not row),
                self._device,
                "?1",
                f"?3+{row}",
                self._pid,
                kind,
                _NO_ID,
                stream + task.plane,
                "?2",
                _NO_ID,
            )
            for row, (task, kind) in enumerate(zip(tasks, kinds))
        ]
        return self._database.statement("TASK", rows)

    def _infos(self, tasks: Sequence[PlaneTask], names: list[int], main: int) -> str:
        """Of COMMUNICATION_TASK_INFO. Values: name, group, number and data type of the operator, id of the first task; bytes
        and GB/s of each task that moves something."""
        rows, is_first = [], True
        for row, (task, name) in enumerate(zip(tasks, names)):
            notify, type_ = notify_id(task), data_type_of(task, "")
            size, rate = _two_placeholders(6, is_first) if task.size else (0, 0)
            is_first = is_first and not task.size
            rows.append(
                (
                    "?1",
                    f"?5+{row}",
                    name,
                    task.plane,
                    "?2",
                    _NO_NOTIFY if notify < 0 else notify,
                    _RDMA["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"],
                    task.src,
                    target_of(task),
                    _TRANSPORTS[transport_of(task)],
                    size,
                    _DATA[type_] if type_ else "?4",
                    _LINKS["ROCE" if task.link == "RDMA" else task.link],
                    "?3",
                    int(task.plane == main),
                    rate,
                )
            )
        return self._database.statement("COMMUNICATION_TASK_INFO", rows)


def _two_placeholders(first: int, is_first: bool) -> tuple[str, str]:
    """Two values behind those so far, addressed by their number."""
    return (f"?{first}", f"?{first + 1}") if is_first else ("?", "?")
