"""The trace scanner in C: events of the usual form go straight to columns, the rest through the scanner in Python.

C reads only what it fully understands. At anything else it stops before that event, and Python reads this event, or,
where not even the event's end is certain, the rest of the chunk. So what a defect means stands in one place.
The file is read piece by piece into private memory, not mapped: a mapped file that another process shortens would end
this one with SIGBUS, and a piece of a few megabytes is still in the processor's cache when it is scanned.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import _native
from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS, TraceEvents
from tb_npu_plugin.scan.msgspec_events import json_text
from tb_npu_plugin.scan.msgspec_scanner import MAX_EVENT, Scanner
from tb_npu_plugin.scan.source import Source
from tb_npu_plugin.texts import TextList

# Stop and ArgsMode of native/walker.h.
_WAIT, _ENDED, _ODD, _BROKEN = range(4)
_IN_FILE, _GATHERED, _LEFT_OUT = range(3)
#: So many odd events of one chunk are read one by one; more go through Python together.
_MAX_ODD = 16
_NUMBERS = {column: number for number, column in enumerate(TEXT_COLUMNS)}


class NativeRows:
    """Rows in memory of C, which hands them to NumPy without a copy."""

    def __init__(self) -> None:
        self.walker = _native.Walker(secrets.randbits(64))

    def codes(self, column: str, values: Iterable[Any]) -> NDArray[np.int32]:
        """See msgspec_events.Rows."""
        number = _NUMBERS[column]
        codes = []
        for value in values:
            text = json_text(value) if isinstance(value, bytes) else value
            codes.append(-1 if text is None else self.walker.index(number, str(text).encode("utf-8", "replace")))
        return np.array(codes, dtype=np.int32)

    def add(self, batch: dict[str, NDArray[Any]]) -> None:
        """See msgspec_events.Rows."""
        columns = tuple(np.ascontiguousarray(batch[key], dtype=dtype).tobytes() for key, dtype in DTYPES.items())
        self.walker.append(len(batch["phase"]), columns)

    def take(self) -> dict[str, Any]:
        """See msgspec_events.Rows."""
        out: dict[str, Any] = {}
        for column, number in _NUMBERS.items():
            blob, ends = self.walker.take_texts(number)
            out[TEXT_COLUMNS[column]] = TextList(blob, np.frombuffer(ends, dtype=np.int64))
        arrays = zip(DTYPES.items(), self.walker.take_columns())
        out.update({key: np.frombuffer(data, dtype=dtype) for (key, dtype), data in arrays})
        return out


class NativeScanner(Scanner):
    """Scanner whose usual way is in C."""

    name = "c"

    def __init__(self, source: Source, blob: IO[bytes] | None) -> None:
        rows = NativeRows()
        super().__init__(source, blob, rows)
        self._walker = rows.walker

    def _take(self, buffer: bytes, final: bool) -> bytes:
        position = 0
        for _ in range(_MAX_ODD):
            stop, position, end = self._walk(buffer, position)
            if stop != _ODD:
                break
            position += self._odd(buffer, position, end)
        buffer = self._drop(buffer, position)
        if stop == _ENDED:
            self._ended = True
        elif stop == _WAIT:
            return self._slow(buffer, final) if len(buffer) > MAX_EVENT else buffer
        else:
            buffer = super()._take(buffer, final)
        return buffer

    def _walk(self, buffer: bytes, position: int) -> tuple[int, int, int]:
        """Let C read from `position` on: why it stopped, where, and the end of the odd event there."""
        if not self._source.compressed:
            mode, base = _IN_FILE, self._offset
        else:
            mode, base = (_LEFT_OUT if self._blob is None else _GATHERED), self._blob_size
        stop, position, end, args = self._walker.walk(buffer, position, base, mode)
        if args and self._blob is not None:
            self._blob.write(args)
            self._blob_size += len(args)
        return stop, position, end

    def _odd(self, buffer: bytes, start: int, end: int) -> int:
        """Read one event in Python; how many bytes are done with."""
        offset = self._offset
        self._offset += start
        rest = self._slow(buffer[start:end], False)
        self._offset = offset
        return end - start - len(rest)


def scan_native(
    path: Path, log: ProblemLog, progress: Callable[[int], None], blob: IO[bytes] | None = None
) -> TraceEvents:
    """See scan.scan_trace."""
    return NativeScanner(Source(path, log, progress), blob).scan()
