"""Finds the step marks of the host in a trace, without decoding the other events."""

from __future__ import annotations

import json
import re
from typing import Any

from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.source import READ_ERRORS, open_file
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS

_BLOCK = 8 << 20
#: Most bytes of a mark's event on either side of its name.
_EVENT = 1 << 14
#: Most braces from the start of a mark's event to its name.
_DEEPEST = 8
_NEEDLE = STEP_MARK.encode()
_NUMBER = re.compile(re.escape(STEP_MARK) + r"(\d+)")
_US = TIME_UNITS["us"]


def read_marks(reading: Reading) -> Table:
    """Return step_marks of a trace by start. The scanner reports damage."""
    report = reading.report
    figures, found = Figures(report), {}
    for event in _events(reading):
        number = _NUMBER.search(str(event.get("name", "")))
        start = figures.integer(_text(event.get("ts")), _US, "ts")
        dur = figures.integer(_text(event.get("dur")), _US, "dur")
        if number and start is not None and dur is not None:
            found[number.group(1), start] = start + dur
    rows = RowBuilder(columns_of("step_marks"))
    for (step, start), end in sorted(found.items(), key=lambda item: item[0][1]):
        rows.add(step, start, end)
    return rows.table()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _events(reading: Reading) -> list[dict[str, Any]]:
    """Return the mark events. An event at the border of two blocks may occur twice."""
    out: list[dict[str, Any]] = []
    with open_file(reading) as stream:
        if stream is None:
            return out
        kept = b""
        try:
            while block := stream.read(_BLOCK):
                data = kept + block
                out += _marks_in(data)
                kept = data[-2 * _EVENT :]
        except READ_ERRORS as error:
            raise_if_of_environment(error)  # else the scanner reads the same file and reports it
    return out


def _marks_in(data: bytes) -> list[dict[str, Any]]:
    out = []
    at = data.find(_NEEDLE)
    while at >= 0:
        event = _event_around(data, at)
        if event is not None:
            out.append(event)
        at = data.find(_NEEDLE, at + len(_NEEDLE))
    return out


def _event_around(data: bytes, at: int) -> dict[str, Any] | None:
    """Return the complete mark event around a position in its name; None if there is none."""
    low = max(0, at - _EVENT)
    text = data[low : at + _EVENT].decode("utf-8", "replace")
    place = len(data[low:at].decode("utf-8", "replace"))
    start = place
    for _ in range(_DEEPEST):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(value, dict) and STEP_MARK in str(value.get("name", "")) and "dur" in value:
            return value
    return None


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, strict=False)
