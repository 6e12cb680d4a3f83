"""A range of the timelines of one or several ranks as a Chrome trace, which Perfetto and this plugin open."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import __version__
from tb_npu_plugin.scan.args import decode
from tb_npu_plugin.store.timeline.matches import Placed

Index = NDArray[np.int64]
#: Slices, or points of a counter, per piece.
PIECE = 1 << 15
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class ExportedRank:
    """A rank in an exported file. name: put before the names of its processes; "" for the only rank."""

    placed: Placed
    name: str = ""


class ChromeTrace:
    """A JSON file with everything that overlaps [t0, t1) of the common axis of some ranks: each slice as a whole, with arguments,
    flows between exported slices, and counters. Its times count from the base of the earliest timeline: microseconds since 1970
    would lose digits.

    Args:
        tracks: Of a single rank; None for all.
        missing: What else the file should have, and why it does not.
    """

    def __init__(
        self,
        ranks: Sequence[ExportedRank],
        t0: int,
        t1: int,
        tracks: Sequence[int] | None = None,
        missing: Sequence[str] = (),
    ) -> None:
        self._ranks, self._range, self._missing = ranks, (t0, t1), missing
        self._origin = min(one.placed.offset for one in ranks)
        self._exports: list[_Export] = []
        for rank in ranks:
            first_process = sum(len(one.processes) for one in self._exports) + 1
            self._exports.append(_Export(rank, first_process, self._range, tracks, self._origin))

    @property
    def problems(self) -> list[str]:
        """What the file lacks, and why. Complete once it is written."""
        return [*self._missing, *(problem for one in self._exports for problem in one.problems)]

    def pieces(self) -> Iterator[bytes]:
        """The file. Memory does not grow with the range."""
        yield f'{{"displayTimeUnit":"ns","otherData":{_text(self._about())},"traceEvents":[\n'.encode()
        separator = ""
        for events in (events for one in self._exports for events in one.events()):
            if events:
                yield (separator + ",\n".join(events)).encode("utf-8", "replace")
                separator = ",\n"
        metadata = f',"metadata":{_text({"problems": self.problems})}' if self.problems else ""
        yield f"\n]{metadata}}}\n".encode("utf-8", "replace")

    def _about(self) -> dict[str, object]:
        """What the file is. base_ns: its time 0, ns since the epoch by the clock of the rank."""
        base = [str(one.placed.zero + self._origin) for one in self._ranks]
        sources = [one.placed.timeline.source for one in self._ranks]
        found: dict[str, object] = {
            "producer": f"tb-npu-plugin {__version__}",
            "source": sources[0],
            "base_ns": base[0],
            "range_ns": ",".join(str(time - self._origin) for time in self._range),
        }
        if len(self._ranks) > 1:
            rows = zip(self._ranks, sources, base)
            found["ranks"] = [{"name": one.name, "source": source, "base_ns": at} for one, source, at in rows]
        return found


class _Export:
    """Writes the events of a rank that overlap a range of the common axis, which begins at `origin` in the file."""

    def __init__(
        self, rank: ExportedRank, first_process: int, window: tuple[int, int], tracks: Sequence[int] | None, origin: int
    ) -> None:
        self._timeline, self._name, offset = rank.placed.timeline, rank.name, rank.placed.offset
        self._t0, self._t1 = (time - offset for time in window)
        self._to_file = offset - origin
        self._tracks = range(len(self._timeline.tracks)) if tracks is None else tracks
        #: Numbers of its processes in the file.
        self.processes: dict[tuple[str, str], int] = {}
        for track in self._tracks:
            self.processes.setdefault(self._process_of(track), first_process + len(self.processes))
        #: What could not be written, each once.
        self.problems: dict[str, None] = {}
        #: (process, thread) of each exported row of the timeline.
        self._places: dict[int, tuple[int, int]] = {}

    def events(self) -> Iterator[list[str]]:
        """Events as JSON, in pieces."""
        shown = {self._process_of(track): self._timeline.tracks[track] for track in self._tracks}
        for process, track in shown.items():
            yield self._process(track, self.processes[process])
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
            ("name", "name", self._named(track["process"])),
            ("labels", "labels", track["label"]),
            ("sort_index", "sort_index", pid),
        )
        return [
            f'{{"ph":"M","name":"process_{kind}","pid":{pid},"tid":0,"args":{{"{key}":{_text(value)}}}}}'
            for kind, key, value in fields
        ]

    def _track(self, track: int) -> Iterator[list[str]]:
        """Slices of a track. Viewers nest the slices of a thread: where they overlap partially, each row is a thread."""
        rows, pid = self._timeline.rows, self.processes[self._process_of(track)]
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
        args, problem = timeline.args_bytes(ids)
        if problem:
            self.problems[self._named(f"arguments not exported: {problem}")] = None
        columns = zip(
            code.tolist(),
            timeline.rows.start[ids].tolist(),
            timeline.rows.dur[ids].tolist(),
            timeline.category[ids].tolist(),
            args,
        )
        return [
            f'{{"ph":"X","name":{names[name]},"pid":{pid},"tid":{tid},"ts":{self._us(start)},"dur":{_us(dur)}'
            f"{categories[category]}{_args(data)}}}"
            for name, start, dur, category, data in columns
        ]

    def _counter(self, track: int) -> Iterator[list[str]]:
        shown, curves = self._timeline.tracks[track], self._timeline.curves
        pid = self.processes[self._process_of(track)]
        event = f'{{"ph":"C","name":{_text(shown["name"])},"pid":{pid},"ts":'
        for name, _, begin, end in shown["series"]:
            time = curves.time[begin:end]
            low = begin + max(int(time.searchsorted(self._t0, side="right")) - 1, 0)  # the value at t0
            high = begin + int(time.searchsorted(self._t1))
            key = _text(name or "value")
            for first in range(low, high, PIECE):
                part = slice(first, min(first + PIECE, high))
                points = zip(curves.time[part].tolist(), curves.value[part].tolist())
                yield [
                    f'{event}{self._us(at)},"args":{{{key}:{value!r}}}}}'
                    for at, value in points
                    if math.isfinite(value)
                ]

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
                    number = f'"id":"{pid}-{one}-{to}"'
                    events.append(f'{{"ph":"s",{fields},{number},"pid":{pid},"tid":{tid},"ts":{self._us(at)}}}')
                    events.append(
                        f'{{"ph":"f","bp":"e",{fields},{number},"pid":{place[0]},"tid":{place[1]},"ts":{self._us(start)}}}'
                    )
                yield events

    def _named(self, text: str) -> str:
        """With the name of the rank."""
        return f"{self._name} · {text}" if self._name else text

    def _us(self, time: int) -> str:
        """A time of the timeline in the file."""
        return _us(time + self._to_file)


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
