"""Steps as the host marked them: the few events of a trace that say so, found without reading all the others."""

from __future__ import annotations

import json
import re
from typing import Any

from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.source import READ_ERRORS, opened
from tb_npu_plugin.schema.mindspore_files import STEP_MARKS_COLUMNS
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS

_BLOCK = 8 << 20
#: An event of a mark is shorter than this, on either side of its name.
_EVENT = 1 << 14
#: Braces that may stand between the beginning of such an event and its name.
_DEEPEST = 8
_NEEDLE = STEP_MARK.encode()
_NUMBER = re.compile(re.escape(STEP_MARK) + r"(\d+)")
_US = TIME_UNITS["us"]


def read_marks(reading: Reading) -> Table:
    """step_marks of a trace, by start; no row where it has none. What is damaged is left to the scanner to report."""
    report = reading.report
    figures, found = Figures(report), {}
    for event in _events(reading):
        number = _NUMBER.search(str(event.get("name", "")))
        start = figures.integer(_text(event.get("ts")), _US, "ts")
        dur = figures.integer(_text(event.get("dur")), _US, "dur")
        if number and start is not None and dur is not None:
            found[number.group(1), start] = start + dur
    rows = RowBuilder(STEP_MARKS_COLUMNS)
    for (step, start), end in sorted(found.items(), key=lambda item: item[0][1]):
        rows.add(step, start, end)
    return rows.table()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _events(reading: Reading) -> list[dict[str, Any]]:
    """Events whose name is a mark. One that lies on the border of two blocks may come twice."""
    out: list[dict[str, Any]] = []
    with opened(reading) as stream:
        if stream is None:
            return out
        kept = b""
        try:
            while block := stream.read(_BLOCK):
                data = kept + block
                out += _marks_in(data)
                kept = data[-2 * _EVENT :]
        except READ_ERRORS:
            pass  # the scanner reads the same file and reports it
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
    """The complete event that has this place in its name; None where it is none."""
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
