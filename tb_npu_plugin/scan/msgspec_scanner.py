"""The trace scanner in Python on msgspec: events to columns, a few megabytes of JSON at a time.

A cut between two chunks is right when what lies between the previous cut and it decodes as a list of objects: a cut
inside a string or a nested list would leave something that is none. Only where that fails, the text is walked
token by token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import MAX_PLACES
from tb_npu_plugin.scan import figures, tokens
from tb_npu_plugin.scan.columns import Columns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.scan.msgspec_events import (
    LIST,
    ONE,
    ONE_LOOSE,
    Event,
    PythonRows,
    Rows,
    decode,
    phase_code,
    strict,
)
from tb_npu_plugin.scan.prelude import find_events
from tb_npu_plugin.scan.source import PreviewSchedule, Source

#: What stands between two events, backwards.
_SEPARATOR = re.compile(rb"\{[ \t\r\n]{0,99},[ \t\r\n]{0,99}\}")
#: Bytes of the end of a text in which it is looked for first.
_TAIL = 4096
#: An event longer than this is taken for damaged.
MAX_EVENT = 8 << 20
#: Bytes of the beginning that a Problem cites; more than a byte order mark.
_SHOWN = 80
#: Bad events that are reported one by one; the others are counted.
_SHOWN_EVENTS = MAX_PLACES + 1
#: How often events are looked for inside what was found inside an object that is no event.
_MOST_LEVELS = 8


class Scanner:
    """State of one scan. Use `scan`. A faster scanner overrides `_take` and leaves to it what it cannot read."""

    name = "msgspec"

    def __init__(self, source: Source, blob: IO[bytes] | None, rows: Rows, peeks: PreviewSchedule) -> None:
        self._source = source
        self._blob = blob
        self._blob_size = 0
        self._rows = rows
        self._peeks = peeks
        self._offset = 0  # of the buffer in the decompressed text
        self._started = False
        self._ended = False
        self._enough = 0  # bytes, to try again
        self._bad_events = 0
        self._last_bad_event = 0  # where

    def scan(self) -> TraceEvents:
        """Read the whole file."""
        self._finish(self._read_all())
        return self._result(self._rows.take(), not self._source.failed)

    def _read_all(self) -> bytes:
        """Read it piece by piece; what could not be read of its end."""
        buffer = b""
        pieces = self._source.chunks()
        for piece, final in pieces:
            buffer = self._feed(buffer + piece if buffer else piece, final)
            if self._ended:
                break
            self._peek_if_due()
        for _ in pieces:  # what follows the list still counts as read
            pass
        return buffer

    def _feed(self, buffer: bytes, final: bool) -> bytes:
        """Read the events in the next of the text; what is left of it. final: nothing follows."""
        if len(buffer) < self._enough and not final:
            return buffer
        left = self._feed_now(buffer, final)
        # A long event is not tried again with every piece: that would take its length squared.
        self._enough = 2 * len(left) if len(left) == len(buffer) else 0
        return left

    def _feed_now(self, buffer: bytes, final: bool) -> bytes:
        if not self._started:
            start = self._start(buffer, final)
            if start < 0:
                return buffer
            self._started = True
            buffer = self._drop(buffer, start)
        if not self._ended:
            buffer = self._take(buffer, final)
        if final and not self._ended:  # all but the last events are taken, or it is damaged
            buffer = self._slow(buffer, True)
        return buffer

    def _peek_if_due(self) -> None:
        if not self._ended and self._peeks.due(self._source.done if self._source.compressed else self._offset):
            if self._blob is not None:
                self._blob.flush()
            self._peeks.peek(self._result(self._rows.so_far(), False))

    def _drop(self, buffer: bytes, count: int) -> bytes:
        self._offset += count
        return buffer[count:]

    def _start(self, buffer: bytes, final: bool) -> int:
        """Where the first event may stand; -1 while that cannot be told, or if there is none."""
        found = find_events(buffer) if final or len(buffer) >= _SHOWN else None
        if found is None:
            return -1
        if found.start < 0 and (final or not found.possible or len(buffer) > MAX_EVENT):
            self._ended = self._source.failed = True
            self._source.problem(
                "not_a_trace",
                "",
                Message("expected.trace_json"),
                buffer[:_SHOWN].decode("utf-8", "replace"),
                Message("lost.timeline"),
                Message("action.check_trace"),
            )
            return 0
        return found.start

    def _take(self, buffer: bytes, final: bool) -> bytes:
        """Add the events of `buffer`, which begins between two events; what is left of it."""
        if final:
            end = buffer.rfind(b"]")  # the list's own, unless something follows it
            if end >= 0 and self._add_list(buffer, end):
                self._ended = True
                return self._drop(buffer, end)
        end, following = _last_separator(buffer)
        if end > 0 and self._add_list(buffer, end):
            return self._drop(buffer, following)
        return self._slow(buffer, final)

    def _add_list(self, buffer: bytes, end: int) -> bool:
        """Add all events up to `end`, if what stands there is a list of them and nothing else."""
        text = buffer[:end]
        events = decode(LIST, b"[" + text + b"]")
        # The decoder skips args without looking at their characters.
        if events is None or not tokens.is_utf8(text) or tokens.has_halves(text):
            return False
        self._add(events, text)
        return True

    def _slow(self, buffer: bytes, final: bool) -> bytes:
        """As `_take`, for a stretch with something wrong in it or an unlucky cut."""
        plain = tokens.without_controls(buffer)
        ends = tokens.TokenEnds(plain)
        stretch = tokens.Segment(plain, ends, final, MAX_EVENT)
        mended: bytearray | None = None
        events: list[Event] = []
        for start, end, good in stretch:
            if not good:
                self._bad_event(plain, start, end)
                continue
            found = plain[start:end]
            fine = tokens.repaired(found)  # one by one: in damaged text, only an object tells what is within a string
            if fine != found:
                mended = mended or bytearray(plain)
                mended[start:end] = fine
            if fine != buffer[start:end]:
                self._repaired(buffer[start:end], fine, start)
            self._salvage(fine, start, (plain, ends), events)
        self._ended = stretch.ended
        self._add(events, bytes(mended) if mended else plain)
        return self._drop(buffer, stretch.rest)  # what follows is seen again, whole

    def _salvage(
        self, data: bytes, start: int, around: tuple[bytes, tokens.TokenEnds], events: list[Event], level: int = 0
    ) -> None:
        """Take the event that an object is, or those in it. start: its place in `around`, a text and its brackets."""
        event = decode(ONE, data)
        if event is not None:
            events.append(event)
            return
        loose = decode(ONE_LOOSE, data)
        if loose is not None:
            events.append(strict(loose))
            return
        # Perhaps a brace is missing and neighbours hang on: only what stands before the next event is lost.
        following = tokens.RESUME.search(data) if level < _MOST_LEVELS else None
        lost = following.end() if following else len(data)
        text, ends = around
        self._bad_event(text, start, start + lost)
        if following:
            part = start + lost, start + len(data)
            for first, last, good in tokens.Segment(text, ends, True, MAX_EVENT, part):
                if good:
                    self._salvage(data[first - start : last - start], first, around, events, level + 1)
                else:
                    self._bad_event(text, first, last)

    def _bad_event(self, text: bytes, start: int, end: int) -> None:
        self._bad_events += 1
        if self._bad_events <= _SHOWN_EVENTS:
            self._report_bad_events(self._offset + start, text[start:end].decode("utf-8", "replace"), 1)
        else:
            self._last_bad_event = self._offset + start

    def _report_bad_events(self, place: int, found: str, count: int) -> None:
        self._source.problem(
            "bad_event", f"byte {place}", Message("expected.json_object"), found, Message("lost.event"), count=count
        )

    def _repaired(self, before: bytes, after: bytes, start: int) -> None:
        first = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b and a not in b"\t\r\n"), None)
        if first is None:  # white space: nothing is lost
            return
        self._source.problem(
            "bad_json",
            f"byte {self._offset + start + first}",
            Message("expected.json_utf8"),
            before[max(0, first - 20) : first + 20].decode("utf-8", "replace"),
            Message("lost.bad_json_value"),
        )

    def _add(self, events: Sequence[Event], text: bytes) -> None:
        """Rows of a batch. `text` holds the events' JSON, in order."""
        if not events:
            return
        args = [event.args for event in events]
        lengths = np.fromiter(map(len, args), dtype=np.int64, count=len(args))
        dur, dur_rest = figures.durations([event.dur for event in events])
        codes = self._rows.codes
        self._rows.add(
            {
                "phase": np.array([phase_code(event.ph) for event in events], dtype=np.uint8),
                "name": codes("name", [event.name for event in events]),
                "category": codes("category", [event.cat for event in events]),
                "pid": codes("pid", [event.pid for event in events]),
                "tid": codes("tid", [event.tid for event in events]),
                "ts": figures.times([event.ts for event in events]),
                "dur": dur,
                "dur_rest": dur_rest,
                "flow": codes("flow", [bytes(event.id) if event.id else b"" for event in events]),
                "enclosing": np.array([event.bp == "e" for event in events], dtype=np.uint8),
                "args_offset": self._keep_args(args, lengths, text),
                "args_length": lengths,
            }
        )

    def _keep_args(self, args: Sequence[Any], lengths: NDArray[np.int64], text: bytes) -> NDArray[np.int64]:
        if not self._source.compressed:
            return _locate(text, args, self._offset)
        if self._blob is None:
            return np.full(len(args), -1, dtype=np.int64)
        joined = b"".join(args)
        self._blob.write(joined)
        offsets = self._blob_size + np.cumsum(lengths) - lengths
        self._blob_size += len(joined)
        return np.where(lengths > 0, offsets, -1)

    def _finish(self, rest: bytes) -> None:
        more = self._bad_events - _SHOWN_EVENTS
        if more > 0:
            self._report_bad_events(self._last_bad_event, "", more)
        if self._source.failed:
            return
        if not self._started:
            self._source.failed = True
            self._source.problem(
                "empty_file", "", Message("expected.trace"), Message("found.empty_file"), Message("lost.timeline")
            )
        elif not self._ended:
            self._source.failed = True
            self._source.problem(
                "truncated_file",
                f"byte {self._offset + len(rest)}",
                Message("expected.end_of_events"),
                rest[-80:].decode("utf-8", "replace") or Message("found.end_of_file"),
                Message("lost.following_events"),
            )

    def _result(self, rows: dict[str, Any], complete: bool) -> TraceEvents:
        return TraceEvents(
            **rows,
            args_path=None if self._source.compressed else self._source.path,
            scanner=self.name,
            bytes_read=self._offset,
            complete=complete,
        )


def _last_separator(buffer: bytes) -> tuple[int, int]:
    """End of the last event that another object follows, and where that begins; (0, 0) if there is none."""
    size = _TAIL
    while True:
        found = _SEPARATOR.search(buffer[-size:][::-1])
        if found:
            return len(buffer) - found.end() + 1, len(buffer) - found.start() - 1
        if size >= len(buffer):
            return 0, 0
        size *= 16


def _locate(text: bytes, args: Sequence[Any], base: int) -> NDArray[np.int64]:
    """Offsets of the args of consecutive events. An offset is right because the same bytes stand there."""
    out = []
    find = text.find
    position = 0
    for raw in args:
        if not raw:
            out.append(-1)
            continue
        wanted = bytes(raw)
        length = len(wanted)
        start = find(b'"args"', position) + 6
        if text[start : start + 2] == b": ":
            start += 2
        elif text[start : start + 1] == b":":
            start += 1
        if start < 6 or text[start : start + length] != wanted:
            start = find(wanted, position)
            if start < 0:  # only after an earlier event was found too far on, among equal texts
                start = find(wanted)
        out.append(base + start)
        position = start + length
    return np.array(out, dtype=np.int64)


def scan_msgspec(source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> TraceEvents:
    """See scan.scan_trace."""
    return Scanner(source, blob, PythonRows(columns), peeks).scan()
