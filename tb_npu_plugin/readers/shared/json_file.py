"""Decodes JSON result files, and recovers the complete objects of broken ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.damage import repair
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import MAX_FOUND, FileReport
from tb_npu_plugin.readers.shared.source import decode_text, read_bytes

#: A key and the brace of its object. No key begins at an escaped quote: each would be read to the end of the text.
_OBJECT = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*)"\s*:\s*(?=\{)')
#: A string or a brace of valid JSON.
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
#: Characters that are decoded at first; twice as many while the object is longer.
_WINDOW = 1 << 10
#: Most characters between a defect that the end of a window causes and that end: those of -Infinity and of \ud83d\ude00.
_NEAR_END = 16


def read_text(reading: Reading) -> str | None:
    """Return the text of a JSON file; None after a problem."""
    data, report = read_bytes(reading), reading.report
    if data is None:
        return None
    text = decode_text(data, report)
    if not text.strip():
        report.add("empty_file", expected=Message("expected.json_object"))
        return None
    return text


def read_object(reading: Reading, *, exact: bool) -> dict[str, Any] | None:
    """Return the JSON object of a file; None after a problem. See load_object."""
    text = read_text(reading)
    return None if text is None else load_object(text, reading.report, exact=exact)


def load_object(text: str, report: FileReport, *, exact: bool, place: str = "") -> dict[str, Any] | None:
    """Return the JSON object of a text; None after a problem.

    Args:
        exact: keep numbers as text, NaN and infinities included. Otherwise NaN and infinities are None, and integers of
            more than 19 digits are text.
        place: the place of the text in its file, for problems.
    """
    try:
        value = _decoder(exact).decode(text)
        value = _repair_values(value) if _has_halves(text) else value
    except json.JSONDecodeError as error:
        where = place or f"line {error.lineno}, character {error.colno}"
        report.add("bad_json", where, found=_rest(text, error.pos))
        return None
    except RecursionError:
        report.add("bad_json", place, expected=Message("expected.shallow_nesting"))
        return None
    if not isinstance(value, dict):
        report.add("unexpected_shape", place, expected=Message("expected.json_object"), found=text.strip()[:MAX_FOUND])
        return None
    return value


def complete_objects(text: str, accepts: Callable[[dict[str, Any]], bool]) -> Iterator[tuple[str, Any]]:
    """Yield every `"key": {...}` of a broken JSON text from left to right, numbers as text. The value is the object if
    it is complete and `accepts` returns true for it; else None, and the objects inside follow.

    The work is linear in the text: no part is decoded again on another level.
    """
    decoder = _decoder(exact=True)
    has_halves = _has_halves(text)
    broken: set[int] = set()  # braces of objects that a defect leaves incomplete
    position = 0
    while (found := _OBJECT.search(text, position)) is not None:
        position = found.end()
        key = repair(_unescape(found.group(1)))
        if position in broken:
            yield key, None
            continue
        try:
            value, end = _decode_at(decoder, text, position)
        except RecursionError:
            return  # not a result file
        if value is None:
            broken.update(_open_braces(text, position, end))
            yield key, None
        else:
            position = end
            yield from _accepted(key, _repair_values(value) if has_halves else value, accepts)


def _decode_at(decoder: json.JSONDecoder, text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return the object that begins at `start` and its end, or None and the place of the first defect. Takes time for the
    decoded part alone: an error of the whole text would count its lines."""
    size = _WINDOW
    while True:
        window = text[start : start + size]
        try:
            value, end = decoder.raw_decode(window)
            return value, start + end
        except json.JSONDecodeError as error:
            is_cut = error.pos > len(window) - _NEAR_END or error.msg.startswith("Unterminated string")
            if not is_cut or start + size >= len(text):
                return None, start + error.pos
        size *= 2


def _open_braces(text: str, start: int, end: int) -> list[int]:
    """Return the places of the braces between `start` and `end` that are not closed there."""
    places: list[int] = []
    for token in _STRING_OR_BRACE.finditer(text, start, end):
        if token.group() == "{":
            places.append(token.start())
        elif token.group() == "}":
            places.pop()
    return places


def _accepted(key: str, value: dict[str, Any], accepts: Callable[[dict[str, Any]], bool]) -> Iterator[tuple[str, Any]]:
    """Yield a complete object as complete_objects does."""
    left: list[tuple[str, Any]] = [(key, value)]
    while left:
        key, value = left.pop()
        if isinstance(value, dict) and accepts(value):
            yield key, value
            continue
        if isinstance(value, dict):
            yield key, None
        inside = value.items() if isinstance(value, dict) else [("", each) for each in value]
        left += reversed([(name, each) for name, each in inside if isinstance(each, (dict, list))])


def _rest(text: str, position: int) -> str:
    """Return the text where valid JSON ends."""
    return text[position : position + MAX_FOUND] or Message("found.end_of_file")


def _unescape(key: str) -> str:
    """Return the key with its JSON escapes resolved."""
    try:
        return str(json.loads(f'"{key}"', strict=False))
    except json.JSONDecodeError:
        return key


def _has_halves(text: str) -> bool:
    """Whether the JSON may hold escapes of lone surrogates (\\ud800)."""
    return "\\ud" in text or "\\uD" in text


def _repair_values(value: Any) -> Any:
    """Return the value with U+FFFD in place of lone surrogates."""
    if isinstance(value, str):
        return repair(value)
    if isinstance(value, dict):
        return {repair(key): _repair_values(item) for key, item in value.items()}
    return [_repair_values(item) for item in value] if isinstance(value, list) else value


def _decoder(exact: bool) -> json.JSONDecoder:
    if exact:
        return json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False)
    return json.JSONDecoder(parse_int=_int_or_text, parse_constant=lambda text: None, strict=False)


def _int_or_text(digits: str) -> int | str:
    """Return an int, or the text from 20 digits on: int() raises an error for thousands of digits."""
    return int(digits) if len(digits) < 20 else digits
