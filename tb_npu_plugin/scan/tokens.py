"""Finds the events in damaged or unusual JSON by its strings and brackets, without decoding values."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Where reading resumes after a damaged event, which may lack its closing brace.
RESUME = re.compile(rb",[ \t\r\n]*(?=\{[ \t\r\n]*\")")

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_BLANK = re.compile(rb"[ \t\r\n,]*")
_SCALAR = re.compile(rb"(?:" + STRING + rb"|[-+.\w]+)[ \t\r\n]*(?=[,\]])", re.DOTALL)
#: Spellings of NaN and infinity by Python, C++ and older versions of Kineto.
_NON_NUMBERS = rb"-?Infinity|-?NaN|-?inf|-?nan|N/A"
_NON_NUMBER = re.compile(_NON_NUMBERS)
_STRING_OR_NON_NUMBER = re.compile(STRING + rb"|" + _NON_NUMBERS, re.DOTALL)
#: A surrogate pair (one character), a lone surrogate (group 1), or any other escape.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_QUESTION_MARK = rb"\u003f"
_CONTROLS = bytes(range(32))
_TO_SPACE = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))


#: Results of TokenEnds.of for a value without an end: the data are too short, or the text is not JSON.
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
#: Characters that do not occur outside strings in JSON (nor in NaN, Infinity, N/A).
_IS_NONSENSE = ~_matches_any(b' \t\r\n,:0123456789+-.eEtrufalsnNIiyA/"{[}]')


class TokenEnds:
    """Ends of JSON objects and lists, by the offset of the opening bracket.

    If one bracket is outside strings, so are all brackets with the same parity of preceding quotes. Thus there are two
    ways to read the data; each is computed for all its brackets at the first request.
    """

    def __init__(self, data: bytes) -> None:
        self._codes = np.frombuffer(data, dtype=np.uint8)
        #: By offset of the bracket; 0: not known yet.
        self._ends: NDArray[Any] = np.zeros(len(data), dtype=np.int32 if len(data) <= _INT32_MAX else np.int64)
        self._known = self._ends.data
        self._is_odd: NDArray[Any] | None = None

    def of(self, start: int) -> int:
        """End of the value whose opening bracket is at `start`; UNFINISHED or NONSENSE without one."""
        if not self._known[start]:
            self._find(start)
        return self._known[start]

    def _find(self, start: int) -> None:
        """Compute the ends of all brackets outside strings, given that the one at `start` is outside."""
        ends = self._ends
        if self._is_odd is None:
            self._is_odd = np.cumsum(_unescaped_quotes(self._codes), dtype=np.uint8) & 1  # 256 is even
        is_outside = self._is_odd == self._is_odd[start]
        nonsense = np.flatnonzero(is_outside & _IS_NONSENSE[self._codes])
        places = np.flatnonzero(is_outside & _IS_BRACKET[self._codes]).astype(ends.dtype)
        codes = self._codes[places]
        is_opening = _IS_OPENING[codes]
        level = np.cumsum(np.where(is_opening, 1, -1), dtype=np.int32) + ~is_opening
        # On each level, opening and closing brackets alternate.
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
    """Mask of quotes that start or end strings: an even number of backslashes precedes them."""
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
    """Iterates once over the objects of a list, from an offset between two objects on.

    Yields (start, end, True) for objects with balanced brackets and strings, (start, end, False) for damaged text to
    skip.

    Attributes:
        rest: Afterwards, the offset of the first incomplete object, else the end.
        ended: Whether the closing bracket of the list was found.
        commas: Number of commas between objects, and before and behind them.
    """

    def __init__(
        self, data: bytes, ends: TokenEnds, final: bool, limit: int, part: tuple[int, int] | None = None
    ) -> None:
        """final: no text follows `data`. limit: objects longer than this many bytes count as damaged. part: range
        [start, end) of `data` to read."""
        self._data, self._ends, self._final, self._limit = data, ends, final, limit
        self.rest, self._end = part or (0, len(data))
        self.ended = False
        self.commas = 0

    def __iter__(self) -> Iterator[tuple[int, int, bool]]:
        data, end = self._data, self._end
        while True:
            before, self.rest = self.rest, _BLANK.match(data, self.rest, end).end()  # type: ignore[union-attr]
            start = self.rest
            self.commas += data.count(b",", before, start)
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
                following = self._skip_damage(start, is_object=char == b"{", unfinished=closed == UNFINISHED)
                if following < 0:
                    return
                self.rest = following
            yield start, self.rest, is_good

    def _skip_damage(self, start: int, is_object: bool, unfinished: bool) -> int:
        """Offset where reading resumes after damaged text; -1: nowhere, or the next text may complete the object."""
        scalar = None if is_object else _SCALAR.match(self._data, start, self._end)
        if scalar is not None:
            return scalar.end()
        if unfinished and not self._final and self._end - start <= self._limit:
            return -1
        following = RESUME.search(self._data, start, self._end)
        return following.end() if following else -1


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def has_lone_surrogates(data: bytes) -> bool:
    """Whether an escape is a lone surrogate."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return False
    return any(match.group(1) for match in _ESCAPE.finditer(data))


def without_controls(data: bytes) -> bytes:
    """The data with control characters, which JSON forbids, replaced by spaces. Keeps the length."""
    return data.translate(_TO_SPACE)


def repair_object(data: bytes) -> bytes:
    """One object with text that JSON forbids replaced. Keeps the length.

    NaN, Infinity and N/A become short texts, which are read as unknown. Invalid UTF-8 and lone surrogates become "?".
    """
    if has_lone_surrogates(data):
        data = _ESCAPE.sub(lambda match: _QUESTION_MARK if match.group(1) else match.group(), data)
    if _NON_NUMBER.search(data):
        data = _STRING_OR_NON_NUMBER.sub(_as_text, data)
    return data if is_utf8(data) else data.decode("utf-8", _QUESTION_MARKS).encode()


def _as_text(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return found if found.startswith(b'"') else b'"' + b"?" * (len(found) - 2) + b'"'


def _question_marks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


_QUESTION_MARKS = "npu_question_marks"
codecs.register_error(_QUESTION_MARKS, _question_marks)
