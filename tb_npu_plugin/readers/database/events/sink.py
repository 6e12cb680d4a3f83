"""Collects events in the form of the trace scanners: columns, and args as JSON in a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.scan.columns import Batch, Columns
from tb_npu_plugin.scan.events import DTYPES, Interner, TraceEvents
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn
from tb_npu_plugin.texts import TextList

#: Events per batch: the args of one batch are Python objects.
PIECE = 1 << 14

Int32 = NDArray[np.int32]
#: Returns the JSON args of the events in rows [first, last).
Args = Callable[[int, int], Iterable[str]]


class EventSink:
    """Writes events to `columns` and their args to `blob` (None: args are dropped). report: counts the events, and the rows
    of the database's tables that become events."""

    def __init__(self, columns: Columns, blob: IO[bytes] | None, report: FileReport) -> None:
        self._columns, self._blob, self._report = columns, blob, report
        self._offset = 0
        self._flows = 0
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._names, self._categories, self._pids, self._tids = Interner(), Interner(), Interner(), Interner()

    def slices(
        self,
        pid: int,
        tids: IntArray,
        names: StringColumn,
        start: IntArray,
        dur: IntArray,
        category: str,
        args: Args | None,
        table: str = "",
    ) -> None:
        """Add complete events; rows with an unknown name are reported. category "": none; table: what holds the rows, ""
        for computed ones."""
        tid, name = self._intern_numbers(tids), self._intern_names(names)
        known = np.flatnonzero(name >= 0)
        if table:
            self.show(table, len(known))
            self.leave_out("unknown_event", table, len(name) - len(known))
        for first in range(0, len(known), PIECE):
            rows = known[first : first + PIECE]
            offset, length = self._write(args, rows) if args is not None else (-1, 0)
            self._add(
                len(rows),
                phase=ord("X"),
                name=name[rows],
                category=self._categories[category] if category else -1,
                pid=self._pids[str(pid)],
                tid=tid[rows],
                ts=start[rows],
                dur=dur[rows],
                args_offset=offset,
                args_length=length,
            )

    def flows(
        self,
        category: str,
        name: str,
        source: tuple[int | IntArray, IntArray, IntArray],
        target: tuple[int | IntArray, IntArray, IntArray],
        enclosing: tuple[bool, bool] = (True, True),
        ids: IntArray | None = None,
    ) -> None:
        """Add flows between (process, thread, time) of both ends. ids: flows with equal ids share one, such as one call
        with several tasks. Without ids, each flow has its own."""
        count = len(source[2])
        if not count:
            return
        numbers = np.arange(count) if ids is None else np.unique(ids, return_inverse=True)[1].reshape(-1)
        flow = numbers + self._flows
        self._flows += int(numbers.max()) + 1
        for phase, (pid, tids, at), encloses in zip("sf", (source, target), enclosing):
            process: Int32 | int = (
                self._intern_numbers(pid, self._pids) if isinstance(pid, np.ndarray) else self._pids[str(pid)]
            )
            tid = self._intern_numbers(tids)
            for first in range(0, count, PIECE):
                rows = slice(first, min(first + PIECE, count))
                self._add(
                    rows.stop - first,
                    phase=ord(phase),
                    name=self._names[name],
                    category=self._categories[category],
                    pid=process[rows] if isinstance(process, np.ndarray) else process,
                    tid=tid[rows],
                    ts=at[rows],
                    flow=flow[rows],
                    enclosing=int(encloses),
                )

    def counters(self, pid: int, name: str, key: str, at: IntArray, values: NDArray[Any], more: str = "") -> None:
        """Add the points of one counter. more: JSON, with a leading comma, that distinguishes counters of one name."""
        known = np.flatnonzero(~np.isnan(values.astype(np.float64)))

        def args(rows: NDArray[np.int64]) -> Iterable[str]:
            return (f"{{{json.dumps(key)}: {value}{more}}}" for value in values[rows].tolist())

        for first in range(0, len(known), PIECE):
            rows = known[first : first + PIECE]
            offset, length = self._put(args(rows), len(rows))
            self._add(
                len(rows),
                phase=ord("C"),
                name=self._names[name],
                pid=self._pids[str(pid)],
                tid=self._tids["0"],
                ts=at[rows],
                args_offset=offset,
                args_length=length,
            )

    def see(self, table: str, rows: int) -> None:
        """Count the rows that were read of a table."""
        if rows:
            self._report.count("events", table, seen=rows)

    def show(self, table: str, rows: int) -> None:
        """Count the rows that became events."""
        self._report.count("events", table, shown=rows)

    def leave_out(self, code: str, table: str, rows: int) -> None:
        """Count the rows of a table that become no event; `events` reports them."""
        self._left_out[code, table] += rows

    def meta(self, kind: tuple[str, str], pid: int, tid: int, value: Any) -> None:
        """Add the name, label or sort index of a process or thread."""
        name, key = kind
        offset, length = self._put([json.dumps({key: value}, ensure_ascii=False)], 1)
        self._add(
            1,
            phase=ord("M"),
            name=self._names[name],
            pid=self._pids[str(pid)],
            tid=self._tids[str(tid)],
            args_offset=offset,
            args_length=length,
        )

    def events(self, scanner: str, size: int, complete: bool) -> TraceEvents:
        """Return all events, and report the rows that became none. No event can be added afterwards."""
        for (code, table), rows in self._left_out.items():
            if rows:
                self._report.add(code, table, found=str(rows), kind=table)
                self._report.count("events", table, told=rows)
        interners = {"names": self._names, "categories": self._categories, "pids": self._pids, "tids": self._tids}
        texts = {name: self._columns.texts(name, TextList.of(interner)) for name, interner in interners.items()}
        # the texts of flow ids are not needed, only their equality
        texts["flows"] = TextList(b"", np.zeros(self._flows + 1, dtype=np.int64))
        parts: dict[str, Any] = {**self._columns.arrays(), **texts}
        return TraceEvents(**parts, args_path=None, scanner=scanner, bytes_read=size, complete=complete)

    def _intern_numbers(self, values: IntArray, interner: Interner | None = None) -> Int32:
        """Intern integers as texts; return their indices."""
        interner = self._tids if interner is None else interner
        found, code = np.unique(values, return_inverse=True)
        place = np.array([interner[str(value)] for value in found.tolist()], dtype=np.int32)
        return place[code.reshape(-1)] if len(place) else np.zeros(0, dtype=np.int32)

    def _intern_names(self, names: StringColumn) -> Int32:
        used = np.unique(names.codes)
        place = np.full(len(names.values) + 1, -1, dtype=np.int32)
        for code in used[used >= 0].tolist():
            place[code] = self._names[names.values[code]]
        return place[names.codes]

    def _write(self, args: Args, rows: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
        first, last = int(rows[0]), int(rows[-1]) + 1
        texts: Iterable[str] = args(first, last)
        if last - first > len(rows):
            wanted = set(rows.tolist())
            texts = (text for row, text in enumerate(texts, first) if row in wanted)
        return self._put(texts, len(rows))

    def _put(self, texts: Iterable[str], count: int) -> tuple[IntArray, IntArray]:
        """Write args; return their offsets and lengths in the file."""
        if self._blob is None:
            return np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
        data = [text.encode("utf-8", "replace") for text in texts]
        length = np.fromiter(map(len, data), dtype=np.int64, count=count)
        self._blob.write(b"".join(data))
        ends = np.cumsum(length) + self._offset
        self._offset = int(ends[-1]) if count else self._offset
        return ends - length, length

    def _add(self, count: int, **columns: Any) -> None:
        batch: Batch = {}
        for key, dtype in DTYPES.items():
            value = columns.get(key, _ABSENT[key])
            batch[key] = (
                np.asarray(value, dtype=dtype) if isinstance(value, np.ndarray) else np.full(count, value, dtype)
            )
        self._columns.add(batch)
        self._report.count("events", seen=count)


_ABSENT = {
    "phase": 0,
    "name": -1,
    "category": -1,
    "pid": -1,
    "tid": -1,
    "ts": NULL_INT,
    "dur": NULL_INT,
    "dur_rest": 0.0,
    "flow": -1,
    "enclosing": 0,
    "args_offset": -1,
    "args_length": 0,
}


def json_texts(text: StringColumn) -> list[str]:
    """Return the JSON of a column's texts by code; the last entry, for code -1, is null."""
    return [*(json.dumps(value, ensure_ascii=False) for value in text.values), "null"]


def json_int(value: int) -> str:
    """Return the JSON of an integer, null if unknown."""
    return "null" if value == NULL_INT else str(value)


def rows_of(columns: Sequence[NDArray[Any]], first: int, last: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows [first, last) of columns as Python values."""
    return zip(*(column[first:last].tolist() for column in columns))
