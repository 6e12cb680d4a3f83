"""The trace scanner in Python: decodes a few MB of JSON at a time with msgspec.

The text is cut between events. A cut is right if the text since the previous cut decodes as a list of objects; after a
cut within a string or a nested list, it does not. Only then the text is split token by token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import MAX_PLACES
from tb_npu_plugin.scan import time_values, tokens
from tb_npu_plugin.scan.columns import Columns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.scan.msgspec_events import (
    LIST,
    ONE,
    ONE_LOOSE,
    Event,
    Rows,
    decode,
    phase_code,
    to_strict,
)
from tb_npu_plugin.scan.prelude import find_events
from tb_npu_plugin.scan.source import EXPORT_LATER, PreviewSchedule, Source

#: Separator of two events, reversed.
_SEPARATOR = re.compile(rb"\{[ \t\r\n]{0,99},[ \t\r\n]{0,99}\}")
#: The end of a list, and the beginning of another one behind it (group 1); without the group, more text may hold that.
_JOINT = re.compile(rb"\][ \t\r\n,]*(?:(\[)(?=[ \t\r\n]*[{\]])|(?:\[[ \t\r\n]*)?\Z)")
#: Bytes at the end of a text that are searched first for the separator.
_TAIL = 4096
#: Longer events, in bytes, are treated as damaged.
MAX_EVENT = 8 << 20
#: Bytes of the start of the file that a Problem cites; longer than a byte order mark.
_SHOWN = 80
#: Bad events reported one by one; the others are only counted.
_SHOWN_EVENTS = MAX_PLACES + 1
#: Maximum recursion depth of the search for events inside a damaged object.
_MAX_LEVELS = 8


class Scanner:
    """State of one scan; call `scan`. A faster scanner overrides `_add_events` and falls back to it."""

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
        self._retry_size = 0  # bytes of the buffer for the next attempt
        self._seen = 0  # elements of the list: events and damaged ones
        self._commas = 0  # between them
        self._before = 0, 0  # elements and commas of earlier lists
        self._is_list = False  # and no object with one
        self._joints: list[int] = []  # offsets where another list follows
        self._wrong_commas = [0, 0]  # missing ones, ones too many
        self._bad_events = 0
        self._last_bad_event = 0  # offset

    def scan(self) -> TraceEvents:
        """Read the whole file."""
        self._finish(self._read_all())
        self._source.count(seen=self._seen)
        return self._result(self._rows.take(), not self._source.failed)

    def _read_all(self) -> bytes:
        """Read the file in pieces. Returns the unread rest at its end."""
        buffer = b""
        pieces = self._source.chunks()
        for piece, final in pieces:
            buffer = self._feed(buffer + piece if buffer else piece, final)
            if self._ended:
                break
            self._peek_if_due()
        for _ in pieces:  # report progress for the bytes after the list
            pass
        return buffer

    def _feed(self, buffer: bytes, final: bool) -> bytes:
        """Read the events of the next text and return the unread rest. final: no text follows."""
        if len(buffer) < self._retry_size and not final:
            return buffer
        left = self._feed_now(buffer, final)
        # Retry a long event only at double length: a retry with every piece would take quadratic time.
        self._retry_size = 2 * len(left) if len(left) == len(buffer) else 0
        return left

    def _feed_now(self, buffer: bytes, final: bool) -> bytes:
        if not self._started:
            start = self._start(buffer, final)
            if start < 0:
                return buffer
            self._started = True
            buffer = self._drop(buffer, start)
        while not self._ended:
            buffer = self._add_events(buffer, final)
            if final and not self._ended:  # the last events, or damaged ones
                buffer = self._add_damaged(buffer, True)
            if not self._ended:
                break
            joint = _JOINT.match(buffer) if self._is_list else None
            if joint is not None and not joint.group(1) and not final:  # more text decides
                self._ended = False
                break
            self._end_list()
            if joint is not None and joint.group(1):
                self._ended = False
                self._joints.append(self._offset)
                buffer = self._drop(buffer, joint.end())
        return buffer

    def _end_list(self) -> None:
        """Compare the number of commas with that of the elements."""
        seen, commas = self._before
        elements, self._before = self._seen - seen, (self._seen, self._commas)
        more = self._commas - commas - max(0, elements - 1)
        self._wrong_commas[more > 0] += abs(more)

    def _peek_if_due(self) -> None:
        if not self._ended and self._peeks.due(self._source.done if self._source.compressed else self._offset):
            if self._blob is not None:
                self._blob.flush()
            self._peeks.peek(self._result(self._rows.so_far(), False))

    def _drop(self, buffer: bytes, count: int) -> bytes:
        self._offset += count
        return buffer[count:]

    def _start(self, buffer: bytes, final: bool) -> int:
        """Offset where the list of events starts; -1 while unknown, or if there is none."""
        found = find_events(buffer) if final or len(buffer) >= _SHOWN else None
        if found is None:
            return -1
        if found.start < 0 and (final or not found.possible or len(buffer) > MAX_EVENT):
            self._ended = self._source.failed = True
            self._source.problem("not_a_trace", found=buffer[:_SHOWN].decode("utf-8", "replace"))
            return 0
        self._is_list = not found.wrapper
        return found.start

    def _add_events(self, buffer: bytes, final: bool) -> bytes:
        """Add the events of `buffer`, which starts between two events. Returns the unread rest."""
        if final:
            end = buffer.rfind(b"]")  # the end of the list, unless text follows it
            if end >= 0 and self._add_list(buffer, end):
                self._ended = True
                return self._drop(buffer, end)
        end, following = _last_separator(buffer)
        if end > 0 and self._add_list(buffer, end):
            self._commas += 1  # of the separator
            return self._drop(buffer, following)
        return self._add_damaged(buffer, final)

    def _add_list(self, buffer: bytes, end: int) -> bool:
        """Add all events up to `end`. Returns False if the text is not a valid list of events."""
        text = buffer[:end]
        events = decode(LIST, b"[" + text + b"]")
        # The decoder does not check the characters of args.
        if events is None or not tokens.is_utf8(text) or tokens.has_lone_surrogates(text):
            return False
        self._add(events, text)
        self._commas += max(0, len(events) - 1)
        return True

    def _add_damaged(self, buffer: bytes, final: bool) -> bytes:
        """As `_add_events`, for damaged text or a wrong cut."""
        plain = tokens.without_controls(buffer)
        ends = tokens.TokenEnds(plain)
        segment = tokens.Segment(plain, ends, final, MAX_EVENT)
        repaired: bytearray | None = None
        events: list[Event] = []
        for start, end, good in segment:
            if not good:
                self._bad_event(plain, start, end)
                continue
            found = plain[start:end]
            fine = tokens.repair_object(found)  # per object: in damaged text, string bounds are known only within one
            if fine != found:
                repaired = repaired or bytearray(plain)
                repaired[start:end] = fine
            if fine != buffer[start:end]:
                self._report_repair(buffer[start:end], fine, start)
            self._salvage(fine, start, (plain, ends), events)
        self._ended = segment.ended
        self._commas += segment.commas
        self._add(events, bytes(repaired) if repaired else plain)
        return self._drop(buffer, segment.rest)  # the rest is read again with the next piece

    def _salvage(
        self, data: bytes, start: int, around: tuple[bytes, tokens.TokenEnds], events: list[Event], level: int = 0
    ) -> None:
        """Add the event of an object, or the events inside it. start: its offset in `around`, (text, bracket ends)."""
        event = decode(ONE, data)
        if event is not None:
            events.append(event)
            return
        loose = decode(ONE_LOOSE, data)
        if loose is not None:
            events.append(to_strict(loose))
            return
        # A missing brace may have joined it with its neighbours: only the text before the next event is lost.
        following = tokens.RESUME.search(data) if level < _MAX_LEVELS else None
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
        self._seen += 1
        self._bad_events += 1
        if self._bad_events <= _SHOWN_EVENTS:
            self._report_bad_events(self._offset + start, text[start:end].decode("utf-8", "replace"), 1)
        else:
            self._last_bad_event = self._offset + start

    def _report_bad_events(self, place: int, found: str, count: int) -> None:
        self._source.count(told=count)
        self._source.problem("bad_event", f"byte {place}", found, count)

    def _report_repair(self, before: bytes, after: bytes, start: int) -> None:
        first = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b and a not in b"\t\r\n"), None)
        if first is None:  # only white space changed
            return
        where, found = f"byte {self._offset + start + first}", before[max(0, first - 20) : first + 20]
        expected, lost = Message("expected.json_utf8"), Message("lost.bad_json_value")
        text = found.decode("utf-8", "replace")
        self._source.problem("bad_json", where, text, expected=expected, lost=lost, action=EXPORT_LATER)

    def _add(self, events: Sequence[Event], text: bytes) -> None:
        """Add the rows of a batch. text: JSON of the events, in order."""
        self._seen += len(events)
        if not events:
            return
        args = [event.args for event in events]
        lengths = np.fromiter(map(len, args), dtype=np.int64, count=len(args))
        dur, dur_rest = time_values.durations([event.dur for event in events])
        codes = self._rows.codes
        self._rows.add(
            {
                "phase": np.array([phase_code(event.ph) for event in events], dtype=np.uint8),
                "name": codes("name", [event.name for event in events]),
                "category": codes("category", [event.cat for event in events]),
                "pid": codes("pid", [event.pid for event in events]),
                "tid": codes("tid", [event.tid for event in events]),
                "ts": time_values.times([event.ts for event in events]),
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
        if self._started and not self._ended and rest.startswith(b"{"):  # an event without its end
            self._seen += 1
            self._source.count(told=1)
        self._report_joints()
        if self._source.failed:
            return
        if not self._started:
            self._source.failed = True
            expected, lost = Message("expected.trace"), Message("lost.timeline")
            empty = Message("found.empty_file")
            self._source.problem("empty_file", found=empty, expected=expected, lost=lost, action=EXPORT_LATER)
        elif not self._ended:
            self._source.failed = True
            found = rest[-80:].decode("utf-8", "replace") or Message("found.end_of_file")
            self._source.problem("truncated_file", f"byte {self._offset + len(rest)}", found)

    def _report_joints(self) -> None:
        """Report what viewers of valid JSON would not read: joined lists, and commas of a list that is whole otherwise."""
        for joint in self._joints:
            self._source.problem("joined_lists", f"byte {joint}", "][")
        for count, found in zip(self._wrong_commas, ("found.missing_comma", "found.extra_comma")):
            if count and not self._bad_events:
                self._source.problem("wrong_comma", "", Message(found), count)

    def _result(self, rows: dict[str, Any], complete: bool) -> TraceEvents:
        return TraceEvents(
            **rows,
            args_path=None if self._source.compressed else self._source.path,
            scanner=self.name,
            bytes_read=self._offset,
            complete=complete,
        )


def _last_separator(buffer: bytes) -> tuple[int, int]:
    """(end of the last event that another object follows, start of that object); (0, 0) without one."""
    size = _TAIL
    while True:
        found = _SEPARATOR.search(buffer[-size:][::-1])
        if found:
            return len(buffer) - found.end() + 1, len(buffer) - found.start() - 1
        if size >= len(buffer):
            return 0, 0
        size *= 16


def _locate(text: bytes, args: Sequence[Any], base: int) -> NDArray[np.int64]:
    """Offsets of the args of consecutive events, where the text has the same bytes."""
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
            if start < 0:  # only if equal args made an earlier offset too large
                start = find(wanted)
        out.append(base + start)
        position = start + length
    return np.array(out, dtype=np.int64)


def scan_msgspec(source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> TraceEvents:
    """See scan.scan_trace."""
    return Scanner(source, blob, Rows(columns), peeks).scan()
