"""Finds the events of a damaged or unusual stretch of JSON: string- and brace-aware, without decoding values."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Where reading may go on after a damaged event, which need not have its closing brace.
RESUME = re.compile(rb",[ \t\r\n]*(?=\{[ \t\r\n]*\")")

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
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


#: What Ends.of says of a value without an end: the data end before it, or what stands there can be no JSON.
UNFINISHED, NONSENSE = -1, -2
_INT32_MAX = (1 << 31) - 1


def _matches_any(chars: bytes) -> NDArray[np.bool_]:
    """Lookup table of 256 booleans, by character code."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(chars)] = True
    return table


_QUOTE, _BACKSLASH = b'"\\'
_IS_OPENING = _matches_any(b"{[")
_IS_BRACKET = _matches_any(b"{[}]")
#: No character outside of strings in JSON (nor in NaN, Infinity, N/A).
_IS_NONSENSE = ~_matches_any(b' \t\r\n,:0123456789+-.eEtrufalsnNIiyA/"{[}]')


class TokenEnds:
    """Ends of JSON objects and lists, by the place of the opening bracket.

    If a bracket stands outside of strings, so do all others whose number of preceding quotes has the same parity. So there
    are two ways to read the data. Each is computed once for all its brackets, at the first request.
    """

    def __init__(self, data: bytes) -> None:
        self._codes = np.frombuffer(data, dtype=np.uint8)
        #: By the bracket's place; 0 where it is not known yet.
        self._ends: NDArray[Any] = np.zeros(len(data), dtype=np.int32 if len(data) <= _INT32_MAX else np.int64)
        self._known = self._ends.data
        self._is_odd: NDArray[Any] | None = None

    def of(self, start: int) -> int:
        """End of the value that begins with the bracket at `start`; UNFINISHED or NONSENSE where it has none."""
        if not self._known[start]:
            self._find(start)
        return self._known[start]

    def _find(self, start: int) -> None:
        """Compute the ends of all brackets outside of strings, given that the one at `start` is outside."""
        ends = self._ends
        if self._is_odd is None:
            self._is_odd = np.cumsum(_unescaped_quotes(self._codes), dtype=np.uint8) & 1  # so far; 256 is even
        is_outside = self._is_odd == self._is_odd[start]
        nonsense = np.flatnonzero(is_outside & _IS_NONSENSE[self._codes])
        places = np.flatnonzero(is_outside & _IS_BRACKET[self._codes]).astype(ends.dtype)
        codes = self._codes[places]
        is_opening = _IS_OPENING[codes]
        level = np.cumsum(np.where(is_opening, 1, -1), dtype=np.int32) + ~is_opening
        # On each level, opening and closing brackets take turns.
        order = np.argsort(level, kind="stable")
        before, after = order[:-1], order[1:]
        is_pair = is_opening[before] & (level[before] == level[after])
        before, after = before[is_pair], after[is_pair]
        ends[places[is_opening]] = UNFINISHED
        # The codes of { and } and of [ and ] differ by 2.
        ends[places[before]] = np.where(codes[before] + 2 == codes[after], places[after] + 1, NONSENSE)
        if len(nonsense):
            openings = places[is_opening]
            following = np.append(nonsense, len(self._codes))[np.searchsorted(nonsense, openings)]
            found = ends[openings]
            is_broken = (following < len(self._codes)) & ((found < 0) | (following < found))
            ends[openings[is_broken]] = NONSENSE


def _unescaped_quotes(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where strings begin or end: quotes without an odd number of backslashes before them."""
    is_quote: NDArray[np.bool_] = codes == _QUOTE
    backslashes = np.flatnonzero(codes == _BACKSLASH)
    if len(backslashes):
        index = np.arange(len(backslashes))
        is_first = np.diff(backslashes, prepend=-2) != 1
        is_escape = (index - np.maximum.accumulate(np.where(is_first, index, 0))) % 2 == 0
        escaped = backslashes[is_escape] + 1
        is_quote[escaped[escaped < len(codes)]] = False
    return is_quote


class Segment:
    """The objects of a list, from a place between two of them on. To be iterated over, once.

    Gives (start, end, True) for objects with balanced braces and strings, (start, end, False) for what is none: it costs
    itself. Then:
    rest   where the first incomplete object begins (the end if there is none)
    ended  the list's closing bracket was met
    """

    def __init__(
        self, data: bytes, ends: TokenEnds, final: bool, limit: int, part: tuple[int, int] | None = None
    ) -> None:
        """final: nothing follows `data`. limit: an object longer than this many bytes is taken for damaged. part: of
        the data, [start, end)."""
        self._data, self._ends, self._final, self._limit = data, ends, final, limit
        self.rest, self._end = part or (0, len(data))
        self.ended = False

    def __iter__(self) -> Iterator[tuple[int, int, bool]]:
        data, end = self._data, self._end
        while True:
            start = self.rest = _BLANK.match(data, self.rest, end).end()  # type: ignore[union-attr]
            if start >= end:
                return
            char = data[start : start + 1]
            if char == b"]":
                self.ended = True
                return
            closed = self._ends.of(start) if char == b"{" else NONSENSE
            is_good = 0 < closed <= end
            if is_good:
                self.rest = closed
            else:
                following = self._behind_damage(start, is_object=char == b"{", unfinished=closed == UNFINISHED)
                if following < 0:
                    return
                self.rest = following
            yield start, self.rest, is_good

    def _behind_damage(self, start: int, is_object: bool, unfinished: bool) -> int:
        """Where reading may go on behind what is no whole object; -1: nowhere, or what follows may complete it."""
        scalar = None if is_object else _SCALAR.match(self._data, start, self._end)
        if scalar is not None:
            return scalar.end()
        if unfinished and not self._final and self._end - start <= self._limit:
            return -1
        following = RESUME.search(self._data, start, self._end)
        return following.end() if following else -1


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
