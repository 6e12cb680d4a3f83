"""Pieces of trace_view.json: numbers, names and the parts of the file.
Source: docs/facts/ascend_pt.md, trace_view.json."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

Clock = Callable[[int], str]


def text_ts(ns: int) -> str:
    """A time since the epoch as JSON text of us with three decimals."""
    digits = str(ns)
    return f'"{digits[:-3]}.{digits[-3:]}"'


def numeric_ts(ns: int) -> str:
    """A time as releases of 2023 wrote it: a float, with steps of 0.25 us."""
    return repr(ns / 1000)


def quote(text: str) -> str:
    """JSON text of a name; the vendor does not escape what is outside ASCII."""
    return json.dumps(text, ensure_ascii=False)


def meta(kind: str, pid: int, tid: int, **args: Any) -> str:
    """An event that names or sorts a process or a thread."""
    return json.dumps({"name": kind, "pid": pid, "tid": tid, "args": args, "ph": "M"}, ensure_ascii=False)


def slice_text(name: str, pid: int, tid: int, ts: str, dur: float | str, args: str = "") -> str:
    """An event of the device. name, ts, args: JSON texts; dur: us."""
    rest = f', "args": {args}' if args else ""
    return f'{{"name": {name}, "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}{rest}, "ph": "X"}}'


def flow_end(end: str, name: str, category: str, id_: int, pid: int, tid: int, at: str) -> str:
    """The start ("s") or the end ("f") of a flow. at: JSON text of its time."""
    return (
        f'{{"ph": "{end}", "bp": "e", "name": "{name}", "id": {id_}, "pid": {pid}, "tid": {tid}, "ts": {at}, '
        f'"cat": "{category}"}}'
    )


#: Process, thread and JSON text of the time of one end of a flow.
End = tuple[int, int, str]


def flow(name: str, category: str, id_: int, start: End, end: End) -> str:
    """Both ends of a flow."""
    return f"{flow_end('s', name, category, id_, *start)}, {flow_end('f', name, category, id_, *end)}"


def process_rows(name: str, pid: int, label: str, sort: int, threads: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Events that name and sort a process, then its threads: (id, name)."""
    out = [
        meta("process_name", pid, 0, name=name),
        meta("process_labels", pid, 0, labels=label),
        meta("process_sort_index", pid, 0, sort_index=sort),
    ]
    for tid, title in threads:
        out.append(meta("thread_name", pid, tid, name=title))
        out.append(meta("thread_sort_index", pid, tid, sort_index=tid))
    return out


class Parts:
    """A JSON list, or the members of an object, written in parts that grow side by side and are put together in order at
    the end.

    Parts are unnamed files in the folder of the result, so that an interrupted run leaves none of them.
    """

    def __init__(self, path: Path, count: int, brackets: bytes = b"[]") -> None:
        self._path, self._begin, self._end = path, brackets[:1], brackets[1:]
        self._parts: list[IO[bytes]] = [tempfile.TemporaryFile(dir=path.parent) for _ in range(count)]  # noqa: SIM115  (open while segments come)

    def add(self, part: int, items: Sequence[str]) -> None:
        if items:
            file = self._parts[part]
            if file.tell():
                file.write(b", ")
            file.write(", ".join(items).encode())

    def close(self) -> None:
        with self._path.open("wb") as out:
            out.write(self._begin)
            for part in self._parts:
                if part.tell():
                    if out.tell() > 1:
                        out.write(b", ")
                    part.seek(0)
                    shutil.copyfileobj(part, out, 1 << 20)
            out.write(self._end)
        self.drop()

    def drop(self) -> None:
        for part in self._parts:
            part.close()
