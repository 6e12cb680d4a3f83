"""A range of a timeline as a Chrome trace, which Perfetto and this plugin open."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import __version__
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.scan.args import decode
from tb_npu_plugin.store.timeline.open import Timeline

Index = NDArray[np.int64]
#: Slices, or points of a counter, per piece.
PIECE = 1 << 15
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


def chrome_trace(timeline: Timeline, t0: int, t1: int, tracks: Sequence[int] | None = None) -> Iterator[bytes]:
    """Pieces of a JSON file with everything that overlaps [t0, t1), each slice as a whole, with arguments, flows between
    exported slices, and counters. Times in it count from the timeline's base: microseconds since 1970 would lose digits.

    tracks: None for all. Memory does not grow with the range.
    """
    export = _Export(timeline, t0, t1, range(len(timeline.tracks)) if tracks is None else tracks)
    yield f'{{"displayTimeUnit":"ns","otherData":{_text(export.about())},"traceEvents":[\n'.encode()
    separator = ""
    for events in export.events():
        if events:
            yield (separator + ",\n".join(events)).encode("utf-8", "replace")
            separator = ",\n"
    yield b"\n]}\n"


class _Export:
    """Writes the events of some tracks that overlap [t0, t1)."""

    def __init__(self, timeline: Timeline, t0: int, t1: int, tracks: Sequence[int]) -> None:
        self._timeline, self._t0, self._t1, self._tracks = timeline, t0, t1, tracks
        self._has_args = True
        self._processes: dict[tuple[str, str], int] = {}
        for track in tracks:
            self._processes.setdefault(self._process_of(track), len(self._processes) + 1)
        #: (process, thread) of each exported row of the timeline.
        self._places: dict[int, tuple[int, int]] = {}

    def about(self) -> dict[str, str]:
        """What the file is. Must be called first."""
        timeline = self._timeline
        found = {
            "producer": f"tb-npu-plugin {__version__}",
            "source": timeline.source,
            "base_ns": str(timeline.base_ns),
            "range_ns": f"{self._t0},{self._t1}",
        }
        try:
            with timeline.open_args():
                return found
        except (OSError, NotFound) as error:
            self._has_args = False
            return {**found, "args": f"not exported: {error}"}

    def events(self) -> Iterator[list[str]]:
        """Events as JSON, in pieces."""
        shown = {self._process_of(track): self._timeline.tracks[track] for track in self._tracks}
        for process, track in shown.items():
            yield self._process(track, self._processes[process])
        for number in self._tracks:
            is_counter = self._timeline.tracks[number]["kind"] == "counter"
            yield from self._counter(number) if is_counter else self._track(number)
        for row in self._places:
            yield from self._flows(row)

    def _process_of(self, track: int) -> tuple[str, str]:
        """Identifies the process of a track."""
        shown = self._timeline.tracks[track]
        return shown["pid"], shown["process"]

    def _process(self, track: dict[str, Any], pid: int) -> list[str]:
        fields = (
            ("name", "name", track["process"]),
            ("labels", "labels", track["label"]),
            ("sort_index", "sort_index", pid),
        )
        return [
            f'{{"ph":"M","name":"process_{kind}","pid":{pid},"tid":0,"args":{{"{key}":{_text(value)}}}}}'
            for kind, key, value in fields
        ]

    def _track(self, track: int) -> Iterator[list[str]]:
        """Slices of a track. Viewers nest the slices of a thread: where they overlap partially, each row is a thread."""
        rows, pid = self._timeline.rows, self._processes[self._process_of(track)]
        first = int(rows.track_row[track])
        own = range(first, int(rows.track_row[track + 1]))
        is_nested = all(self._is_nested(row) for row in own[1:])
        for row in own:
            tid = first + 1 if is_nested else row + 1
            if tid == row + 1:
                name = self._timeline.tracks[track]["name"] + (f" ({row - first + 1})" if row > first else "")
                thread = f'"pid":{pid},"tid":{tid},"args"'
                yield [
                    f'{{"ph":"M","name":"thread_name",{thread}:{{"name":{_text(name)}}}}}',
                    f'{{"ph":"M","name":"thread_sort_index",{thread}:{{"sort_index":{tid}}}}}',
                ]
            self._places[row] = pid, tid
            for ids in self._pieces(row):
                yield self._slices(ids, pid, tid)

    def _pieces(self, row: int) -> Iterator[Index]:
        low, high = self._timeline.rows.overlapping(row, self._t0, self._t1)
        for first in range(low, high, PIECE):
            yield np.arange(first, min(first + PIECE, high))

    def _is_nested(self, row: int) -> bool:
        """Whether each exported slice of a row is inside one of the row above."""
        low, high = self._timeline.rows.bounds(row - 1)
        parents = (self._timeline.parent[ids] for ids in self._pieces(row))
        return all(bool(((parent >= low) & (parent < high)).all()) for parent in parents)

    def _slices(self, ids: Index, pid: int, tid: int) -> list[str]:
        timeline = self._timeline
        used, code = np.unique(timeline.name[ids], return_inverse=True)
        names = [_text(name) for name in timeline.names.take(used)]
        categories = {-1: ""}
        for one in np.unique(timeline.category[ids]).tolist():
            if one >= 0:
                categories[one] = f',"cat":{_text(timeline.category_name(one))}'
        args = timeline.args_bytes(ids) if self._has_args else [b""] * len(ids)
        columns = zip(
            code.tolist(),
            timeline.rows.start[ids].tolist(),
            timeline.rows.dur[ids].tolist(),
            timeline.category[ids].tolist(),
            args,
        )
        return [
            f'{{"ph":"X","name":{names[name]},"pid":{pid},"tid":{tid},"ts":{_us(start)},"dur":{_us(dur)}'
            f"{categories[category]}{_args(data)}}}"
            for name, start, dur, category, data in columns
        ]

    def _counter(self, track: int) -> Iterator[list[str]]:
        shown, curves = self._timeline.tracks[track], self._timeline.curves
        pid = self._processes[self._process_of(track)]
        event = f'{{"ph":"C","name":{_text(shown["name"])},"pid":{pid},"ts":'
        for name, _, begin, end in shown["series"]:
            time = curves.time[begin:end]
            low = begin + max(int(time.searchsorted(self._t0, side="right")) - 1, 0)  # the value at t0
            high = begin + int(time.searchsorted(self._t1))
            key = _text(name or "value")
            for first in range(low, high, PIECE):
                part = slice(first, min(first + PIECE, high))
                points = zip(curves.time[part].tolist(), curves.value[part].tolist())
                yield [f'{event}{_us(at)},"args":{{{key}:{value!r}}}}}' for at, value in points if math.isfinite(value)]

    def _flows(self, row: int) -> Iterator[list[str]]:
        """Flows from the slices of a row to exported slices."""
        timeline, rows = self._timeline, self._timeline.rows
        pid, tid = self._places[row]
        for ids in self._pieces(row):
            for kind in timeline.flow_kinds:
                source, target = timeline.flows_from(int(ids[0]), int(ids[-1]) + 1, [kind])
                fields = f'"name":{_text(kind or "flow")},"cat":{_text(kind or "flow")}'
                events = []
                columns = (
                    source,
                    rows.start[source],
                    target,
                    rows.start[target],
                    rows.dur[target],
                    rows.row_of(target),
                )
                for one, at, to, start, dur, target_row in zip(*(column.tolist() for column in columns)):
                    place = self._places.get(target_row)
                    if place is None or start >= self._t1 or start + max(dur, 1) <= self._t0:
                        continue
                    number = f'"id":"{one}-{to}"'
                    events.append(f'{{"ph":"s",{fields},{number},"pid":{pid},"tid":{tid},"ts":{_us(at)}}}')
                    events.append(
                        f'{{"ph":"f","bp":"e",{fields},{number},"pid":{place[0]},"tid":{place[1]},"ts":{_us(start)}}}'
                    )
                yield events


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _us(ns: int) -> str:
    """Microseconds with all digits."""
    whole, rest = divmod(ns, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)


def _args(data: bytes) -> str:
    """The member "args" of an event; "" without arguments."""
    if not data or data == b"{}":
        return ""
    try:
        _RAW.decode(data)
        return ',"args":' + data.decode("utf-8", "replace").replace("\n", " ")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = decode(data)
        return "" if found is None else ',"args":' + _text(found)
