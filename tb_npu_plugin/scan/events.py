"""What a trace scanner returns: one row per event as columns, texts interned. Every scanner gives the same columns."""

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

#: Columns of TraceEvents and their types, in the order in which a batch gives them.
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

#: Columns that are indices into a list of texts, and the name of that list.
TEXT_COLUMNS = {"name": "names", "category": "categories", "pid": "pids", "tid": "tids", "flow": "flows"}


@dataclass
class TraceEvents:
    """The events of one trace in file order.

    phase        ord of the one-letter phase ("X", "s", ...), 0 where it is no single letter
    name, category, pid, tid, flow   int32 index into the list of that text, -1 where absent
    ts, dur      int64 ns from the digits of the file, NULL_INT where unknown
    dur_rest     what the file gives of the duration beyond whole ns, -0.5 to 0.5; 0 where unknown. Sums of many
                 durations are exact with it
    enclosing    1 where the event says bp "e" (a flow end binds to the enclosing slice)
    args_offset  byte offset of the args object in `args_path`; -1 where there is none
    args_length  its length in bytes

    `args_path` is the file itself, or the blob that the scanner wrote for a compressed one. `complete` is False where
    the file ends too early or could not be read to its end. `scanner` names the implementation. `bytes_read` counts the
    JSON up to the end of the list of events.
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

    def __len__(self) -> int:
        return len(self.phase)

    def of_phase(self, letters: str) -> NDArray[np.int64]:
        """Indices of the events of these phases, in file order."""
        wanted = np.zeros(256, dtype=np.bool_)
        wanted[[ord(letter) for letter in letters]] = True
        return np.flatnonzero(wanted[self.phase])


class Interner(dict[Any, int]):
    """Value to index, in order of first use. `interner[value]` adds what is new."""

    def __missing__(self, key: Any) -> int:
        index = self[key] = len(self)
        return index


def no_time(count: int) -> IntArray:
    """A column of unknown times."""
    return np.full(count, NULL_INT, dtype=np.int64)
