"""Finds the events of a damaged or unusual stretch of JSON: string- and brace-aware, without decoding values."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

#: Where reading may go on after a damaged event, which need not have its closing brace.
RESUME = re.compile(rb",[ \t\r\n]*(?=\{[ \t\r\n]*\")")

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
#: What may stand between strings and brackets in JSON (and NaN, Infinity, N/A), then a string or a bracket.
_BETWEEN = rb"[ \t\r\n,:0-9+\-.eEtrufalsnNIiyA/]*"
_GAP = re.compile(_BETWEEN)
_TOKEN = re.compile(_BETWEEN + rb"(?:(" + STRING + rb")|([{}\[\]]))", re.DOTALL)
_BLANK = re.compile(rb"[ \t\r\n,]*")
_SCALAR = re.compile(rb"(?:" + STRING + rb"|[-+.\w]+)[ \t\r\n]*(?=[,\]])", re.DOTALL)
#: For no number, of Python, of C++, and of older versions of Kineto.
_NO_NUMBERS = rb"-?Infinity|-?NaN|-?inf|-?nan|N/A"
_HAS_NO_NUMBER = re.compile(_NO_NUMBERS)
_NOT_NUMBER = re.compile(STRING + rb"|" + _NO_NUMBERS, re.DOTALL)
#: A surrogate pair, which is one character, half of one, or any other escape.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_QUESTION_MARK = rb"\u003f"
_CONTROLS = bytes(range(32))
_TO_SPACE = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))


@dataclass
class Stretch:
    """Result of `split`. Spans are [start, end) in the given bytes.

    good   objects with balanced braces and strings
    bad    what is none: costs itself
    rest   where the first incomplete object begins (the end if there is none)
    ended  the list's closing bracket was met
    """

    good: list[tuple[int, int]] = field(default_factory=list)
    bad: list[tuple[int, int]] = field(default_factory=list)
    rest: int = 0
    ended: bool = False


def object_end(data: bytes, start: int) -> tuple[int, bool]:
    """End of the value with brackets that begins at `start`, and whether the text up to it can be JSON at all.

    (-1, True): the data end before the value does. (position, False): nonsense stands at position.
    """
    depth = 0
    position = start
    match_at = _TOKEN.match  # not finditer: it would search on where no token stands
    match = match_at(data, position)
    while match:
        position = match.end()
        bracket = match.group(2)
        if bracket is not None:
            depth += 1 if bracket in b"{[" else -1
            if depth == 0:
                return position, bracket == (b"}" if data.startswith(b"{", start) else b"]")
        match = match_at(data, position)
    # No whole token stands here: an unfinished number or string is what the end of the data leaves.
    position = _GAP.match(data, position).end()  # type: ignore[union-attr]
    if position == len(data) or data[position : position + 1] == b'"':
        return -1, True
    return position, False


def split(data: bytes, final: bool, limit: int) -> Stretch:
    """Objects of a list, from a place between two of them on.

    final: nothing follows `data`. limit: an object longer than this many bytes is taken for damaged.
    """
    out = Stretch()
    position = 0
    while True:
        position = _BLANK.match(data, position).end()  # type: ignore[union-attr]
        if position >= len(data):
            break
        char = data[position : position + 1]
        if char == b"]":
            out.ended = True
            break
        end, sane = object_end(data, position) if char == b"{" else (-1, False)
        if sane and end > 0:
            out.good.append((position, end))
            position = end
            continue
        scalar = None if char == b"{" else _SCALAR.match(data, position)
        if scalar is not None:
            out.bad.append((position, scalar.end()))
            position = scalar.end()
            continue
        waits = sane and not final and len(data) - position <= limit
        following = None if waits else RESUME.search(data, position)
        if following is None:
            break
        out.bad.append((position, following.end()))
        position = following.end()
    out.rest = position
    return out


def is_utf8(data: bytes) -> bool:
    """Whether the bytes decode."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def has_halves(data: bytes) -> bool:
    """Whether half a surrogate pair is among the escapes."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return False
    return any(match.group(1) for match in _ESCAPE.finditer(data))


def without_controls(data: bytes) -> bytes:
    """The same number of bytes with control characters, which JSON forbids but writers emit, as spaces."""
    return data.translate(_TO_SPACE)


def repaired(data: bytes) -> bytes:
    """The same number of bytes with more that JSON forbids made harmless, in one object.

    NaN, Infinity and N/A become short texts (so: unknown), bytes that are no UTF-8 and halves of surrogate pairs "?".
    """
    if has_halves(data):
        data = _ESCAPE.sub(lambda match: _QUESTION_MARK if match.group(1) else match.group(), data)
    if _HAS_NO_NUMBER.search(data):
        data = _NOT_NUMBER.sub(_as_text, data)
    return data if is_utf8(data) else data.decode("utf-8", _QUESTION_MARKS).encode()


def _as_text(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return found if found.startswith(b'"') else b'"' + b"?" * (len(found) - 2) + b'"'


def _question_marks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


_QUESTION_MARKS = "npu_question_marks"
codecs.register_error(_QUESTION_MARKS, _question_marks)
