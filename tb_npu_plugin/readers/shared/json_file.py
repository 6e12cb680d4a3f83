"""Decodes JSON result files, and saves what can be saved of broken ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.damage import repaired
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import MAX_FOUND, FileReport
from tb_npu_plugin.readers.shared.source import decoded, read_all

#: A key and the brace of its object.
_OBJECT = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(?=\{)')


def read_text(reading: Reading) -> str | None:
    """The text of a JSON file; None after a problem."""
    data, report = read_all(reading), reading.report
    if data is None:
        return None
    text = decoded(data, report)
    if not text.strip():
        report.add("empty_file", expected=Message("expected.json_object"))
        return None
    return text


def read_object(reading: Reading, *, exact: bool) -> dict[str, Any] | None:
    """The JSON object that a file is; None after a problem. See load_object."""
    text = read_text(reading)
    return None if text is None else load_object(text, reading.report, exact=exact)


def load_object(text: str, report: FileReport, *, exact: bool, place: str = "") -> dict[str, Any] | None:
    """The JSON object that a text holds; None after a problem. `exact` keeps numbers as the text they stand as,
    NaN and infinities included; otherwise those are None, and integers of more than 19 digits are text. place: of a text
    that is a part of its file."""
    try:
        value = _decoder(exact).decode(text)
        value = _repaired(value) if _has_halves(text) else value
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


def complete_objects(text: str, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[tuple[str, Any]]:
    """Every `"key": {...}` of a broken JSON text, from left to right, numbers as text.

    An object that is complete and `wanted` comes whole; of any other only the key comes, with None, and then what
    is inside it.
    """
    decoder = _decoder(exact=True)
    has_halves = _has_halves(text)
    position = 0
    while True:
        found = _OBJECT.search(text, position)
        if found is None:
            return
        position = found.end()
        key = repaired(_unescaped(found.group(1)))
        try:
            value, end = decoder.raw_decode(text, position)
            value = _repaired(value) if has_halves else value
        except RecursionError:
            return  # no result file: looking at every level would take quadratic time
        except json.JSONDecodeError:
            yield key, None
            continue
        if wanted(value):
            position = end
            yield key, value
        else:
            yield key, None


def _rest(text: str, position: int) -> str:
    """What stands where valid JSON ends."""
    return text[position : position + MAX_FOUND] or "the end of the file"


def _unescaped(key: str) -> str:
    """A key as its JSON escapes mean it."""
    try:
        return str(json.loads(f'"{key}"', strict=False))
    except json.JSONDecodeError:
        return key


def _has_halves(text: str) -> bool:
    """Some JSON may hold escapes that are half of a character (\\ud800)."""
    return "\\ud" in text or "\\uD" in text


def _repaired(value: Any) -> Any:
    """The value with U+FFFD for halves of characters, which no text may hold."""
    if isinstance(value, str):
        return repaired(value)
    if isinstance(value, dict):
        return {repaired(key): _repaired(item) for key, item in value.items()}
    return [_repaired(item) for item in value] if isinstance(value, list) else value


def _decoder(exact: bool) -> json.JSONDecoder:
    if exact:
        return json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False)
    return json.JSONDecoder(parse_int=_int_or_text, parse_constant=lambda text: None, strict=False)


def _int_or_text(digits: str) -> int | str:
    """An int of usual size; longer ones stay text: int() raises an error for thousands of them."""
    return int(digits) if len(digits) < 20 else digits
