"""The tasks of communication operators in trace_view.json: on the hardware stream of the group, and from level 1 on on its
planes. Operators of one pattern differ in times, numbers and rates: the texts between these are put together once."""

from __future__ import annotations

from functools import lru_cache

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp, Group
from tb_npu_plugin.capture.writers.plane_tasks import (
    PATTERNS,
    data_type_of,
    estimated_us,
    kind_of,
    notify_id,
    rate_of,
    stream_of,
    target_of,
    transport_of,
)
from tb_npu_plugin.capture.writers.trace_text import Clock
from tb_npu_plugin.schema.trace_events import STEP_KEYS, TASK_KEYS, args_of

_NO_ID, _UNSIGNED = "4294967295", (1 << 64) - 1
_ARGS, _TASK_ARGS = args_of(STEP_KEYS), args_of(TASK_KEYS)
#: Stands where the texts are cut: a character that JSON does not have.
_CUT = "\0"
#: Texts before the time of a task, its duration, the number and the connection of its operator, and after that.
_StreamTexts = list[str]
#: Texts before the time of a task, its duration, the number of its operator and its rate, and after that; bytes.
_Texts = tuple[str, str, str, str, str, int]


class PlaneEvents:
    """(start, text) of the tasks of each operator. pid, hardware: of the trace's processes; `ts` writes their times."""

    def __init__(self, pid: int, hardware: int, ts: Clock) -> None:
        self._pid, self._hardware, self._ts = pid, hardware, ts
        self._operations = 800  # so many tasks had the stream before
        self._texts = lru_cache(PATTERNS)(self._make_texts)
        self._stream_texts = lru_cache(PATTERNS)(self._make_stream_texts)

    def on_stream(self, op: CommOp) -> list[tuple[int, str]]:
        """Tasks of the next operator on its stream, which every level has."""
        self._operations += 1
        ts, planes, number = self._ts, op.planes, self._operations
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{place}{op.connection}{end}")
            for (name, at, args, place, end), start, dur in zip(
                self._stream_texts(planes.pattern, op.group), planes.starts, planes.durs
            )
        ]

    def _make_stream_texts(self, pattern: Pattern, group: Group) -> list[_StreamTexts]:
        stream, texts = stream_of(group), []
        for place, task in enumerate(pattern.tasks):
            kind = f'"{kind_of(task)}"'
            args = _TASK_ARGS % (_NO_ID, kind, stream, _CUT, 0, place, _CUT)
            front = f'{{"name": {kind}, "pid": {self._hardware}, "tid": {stream}, "ts": {_CUT}, "dur": {_CUT}'
            texts.append(f'{front}, "args": {args}, "ph": "X"}}'.split(_CUT))
        return texts

    def on_planes(self, op: CommOp, row: int) -> list[tuple[int, str]]:
        """The same tasks on the planes. row: of its group."""
        ts, planes, number = self._ts, op.planes, self._operations
        texts = self._texts(planes.pattern, row, op.group, op.data_type)
        return [
            (start, f"{name}{ts(start)}{at}{dur / 1000}{args}{number}{what}{rate_of(size, dur)}{end}")
            for (name, at, args, what, end, size), start, dur in zip(texts, planes.starts, planes.durs)
        ]

    def _make_texts(self, pattern: Pattern, row: int, group: Group, data_type: str) -> list[_Texts]:
        return [self._text(task, place, row, stream_of(group), data_type) for place, task in enumerate(pattern.tasks)]

    def _text(self, task: PlaneTask, place: int, row: int, stream: int, data_type: str) -> _Texts:
        args = _ARGS % (
            f'"{notify_id(task) & _UNSIGNED}"',
            estimated_us(task),
            stream,
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
