"""Output of all trace scanners: one row per event as columns, with interned texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT, IntArray
from tb_npu_plugin.texts import TextList

Int32 = NDArray[np.int32]
UInt8 = NDArray[np.uint8]

#: Columns of TraceEvents and their types, in the order of a batch.
DTYPES: dict[str, Any] = {
    "phase": np.uint8,
    "name": np.int32,
    "category": np.int32,
    "pid": np.int32,
    "tid": np.int32,
    "ts": np.int64,
    "dur": np.int64,
    "dur_rest": np.float32,
    "flow": np.int32,
    "enclosing": np.uint8,
    "args_offset": np.int64,
    "args_length": np.int64,
}

#: Columns of text indices, and the names of their text lists.
TEXT_COLUMNS = {"name": "names", "category": "categories", "pid": "pids", "tid": "tids", "flow": "flows"}


#: Phase of events that are left out, with a problem that says why.
LEFT_OUT = 255


@dataclass
class TraceEvents:
    """The events of one trace in file order.

    Attributes:
        phase: ord of the one-letter phase ("X", "s", ...); 0 if it is not a single letter; LEFT_OUT.
        name, category, pid, tid, flow: int32 index into the text list of the column; -1 where absent.
        ts, dur: int64 ns, exact from the digits of the file; NULL_INT where unknown.
        dur_rest: Fraction of a ns that rounding took from dur, -0.5 to 0.5; 0 where unknown. It makes sums exact.
        enclosing: 1 if bp is "e" (a flow end binds to the enclosing slice).
        args_offset, args_length: Byte range of the args object in `args_path`; offset -1 without args.
        args_path: The file itself; None if the args of a compressed file were written to a blob.
        scanner: Name of the implementation.
        bytes_read: Bytes of JSON up to the end of the list of events.
        complete: False if the file is truncated or could not be read to its end.
        parts: Of a trace in several files: where the args of each begin in `args_path`, and its name.
    """

    phase: UInt8
    name: Int32
    category: Int32
    pid: Int32
    tid: Int32
    ts: IntArray
    dur: IntArray
    dur_rest: NDArray[np.float32]
    flow: Int32
    enclosing: UInt8
    args_offset: IntArray
    args_length: IntArray
    names: TextList
    categories: TextList
    pids: TextList
    tids: TextList
    flows: TextList
    args_path: Path | None
    scanner: str
    bytes_read: int
    complete: bool
    parts: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.phase)

    def of_phase(self, letters: str) -> NDArray[np.int64]:
        """Indices of the events of these phases, in file order."""
        wanted = np.zeros(256, dtype=np.bool_)
        wanted[[ord(letter) for letter in letters]] = True
        return np.flatnonzero(wanted[self.phase])

    def category_name(self, category: int) -> str:
        """Name of a category; "" without one."""
        return self.categories[category] if category >= 0 else ""

    def file_of(self, row: int, trace: str) -> str:
        """Name of the file that holds an event: `trace`, or the part of it with the args before and of that event."""
        if not self.parts:
            return trace
        before = self.args_offset[: row + 1]
        with_args = np.flatnonzero(before >= 0)
        offset = int(before[with_args[-1]]) if len(with_args) else 0
        return next((name for start, name in reversed(self.parts) if start <= offset), trace)


class Interner(dict[Any, int]):
    """Maps values to indices in order of first use. `interner[value]` adds new values."""

    def __missing__(self, key: Any) -> int:
        index = self[key] = len(self)
        return index


def no_time(count: int) -> IntArray:
    """A column of unknown times."""
    return np.full(count, NULL_INT, dtype=np.int64)
