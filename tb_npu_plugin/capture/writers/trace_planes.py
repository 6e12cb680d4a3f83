"""The tasks of communication operators in trace_view.json. Operators of one pattern differ in times and rates: the texts
between these are put together once."""

from __future__ import annotations

from functools import lru_cache

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.capture.writers.plane_tasks import (
    PATTERNS,
    data_type_of,
    estimated_us,
    notify_id,
    rate_of,
    target_of,
    transport_of,
)
from tb_npu_plugin.capture.writers.trace_text import Clock
from tb_npu_plugin.schema.trace_events import STEP_KEYS, args_of

_NO_ID, _UNSIGNED = "4294967295", (1 << 64) - 1
#: Stream of the tasks of communication, as their arguments name it: they have separate rows.
_STREAM = 4
_ARGS = args_of(STEP_KEYS)
#: Stands where the texts are cut: a character that JSON does not have.
_CUT = "\0"
#: Texts before the time of a task, its duration, the number of its operator and its rate, and after that; bytes.
_Texts = tuple[str, str, str, str, str, int]


class PlaneEvents:
    """(start, text) of the tasks of each operator. pid: of the trace's process; `ts` writes their times."""

    def __init__(self, pid: int, ts: Clock) -> None:
        self._pid, self._ts = pid, ts
        self._operations = 800  # so many tasks had the stream before
        self._texts = lru_cache(PATTERNS)(self._make_texts)

    def of(self, op: CommOp, row: int) -> list[tuple[int, str]]:
        """Of one operator. row: of its group."""
        self._operations += 1
        ts, planes, number = self._ts, op.planes, self._operations
        texts = self._texts(planes.pattern, row, op.data_type)
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{what}{rate_of(size, dur)}{end}")
            for (name, at, args, what, end, size), start, dur in zip(texts, planes.starts, planes.durs)
        ]

    def _make_texts(self, pattern: Pattern, row: int, data_type: str) -> list[_Texts]:
        return [self._text(task, place, row, data_type) for place, task in enumerate(pattern.tasks)]

    def _text(self, task: PlaneTask, place: int, row: int, data_type: str) -> _Texts:
        args = _ARGS % (
            f'"{notify_id(task) & _UNSIGNED}"',
            estimated_us(task),
            _STREAM,
            _CUT,
            place,
            f'"{task.name}"',
            task.src,
            target_of(task),
            f'"{transport_of(task)}"',
            task.size,
            f'"{data_type_of(task, data_type)}"',
            f'"{task.link}"',
            _CUT,
            _NO_ID,
        )
        text = (
            f'{{"name": "{task.name}", "pid": {self._pid}, "tid": {row + 1 + task.plane}, "ts": {_CUT}, "dur": {_CUT}, '
            f'"args": {args}, "ph": "X"}}'
        )
        name, at, before, what, end = text.split(_CUT)
        return name, at, before, what, end, task.size
