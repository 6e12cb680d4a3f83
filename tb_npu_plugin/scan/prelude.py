"""Finds the start of the list of events in a trace file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tb_npu_plugin.scan import tokens

_BOM = b"\xef\xbb\xbf"
_BLANK = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb"[ \t\r\n,]*(" + tokens.STRING + rb")[ \t\r\n]*:[ \t\r\n]*", re.DOTALL)
_SCALAR = re.compile(rb"(?:" + tokens.STRING + rb"|[-+.\w]+)", re.DOTALL)


@dataclass(frozen=True)
class Prelude:
    """The text before the first event.

    Attributes:
        start: Offset after the opening bracket of the list of events; -1 if not found.
        wrapper: Whether the list is the "traceEvents" of an object.
        possible: Whether the list may follow in the next bytes.
    """

    start: int
    wrapper: bool
    possible: bool


def find_events(data: bytes) -> Prelude | None:
    """Find the list of events in the first bytes of a file; None if they are blank."""
    position = _BLANK.match(data, len(_BOM) if data.startswith(_BOM) else 0).end()  # type: ignore[union-attr]
    first = data[position : position + 1]
    if not first:
        return None
    if first == b"[":
        return Prelude(position + 1, False, True)
    if first != b"{":
        return Prelude(-1, False, False)
    return _in_wrapper(data, position + 1)


def find_another(data: bytes) -> int:
    """Offset after the bracket of another list of events in the bytes from the end of the list on; -1 without one."""
    return _in_wrapper(data, data.startswith(b"]")).start


def _in_wrapper(data: bytes, position: int) -> Prelude:
    """Skip the members of the wrapper up to "traceEvents"."""
    while True:
        key = _KEY.match(data, position)
        if key is None:
            return Prelude(-1, True, len(data) - position < 4096)
        position = key.end()
        first = data[position : position + 1]
        if key.group(1) == b'"traceEvents"':
            return Prelude(position + 1 if first == b"[" else -1, True, not first)
        if first in (b"{", b"["):
            end = tokens.TokenEnds(data).of(position)
            if end < 0:
                return Prelude(-1, True, end == tokens.UNFINISHED)
            position = end
            continue
        value = _SCALAR.match(data, position)
        if value is None:
            return Prelude(-1, True, not first)
        position = value.end()
