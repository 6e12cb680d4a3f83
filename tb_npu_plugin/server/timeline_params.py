"""Parses and checks the parameters of the timeline routes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest, NotFound, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.repacked import PACKINGS, Repacked
from tb_npu_plugin.views.derived_timeline import FIRST_SLICE, FIRST_TRACK, PREFIX

#: Row number = track * ROW_STEP + depth.
ROW_STEP = 4096
#: Maximum number of rows of one request.
MAX_ROWS = 20_000
_ROWS = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")
_INT = re.compile(r"-?\d{1,18}")

Params = Mapping[str, str]


def integer(params: Params, name: str, default: int | None = None) -> int:
    """An integer. Raises BadRequest if it is missing and has no default."""
    text = params.get(name, "")
    if not text and default is not None:
        return default
    if not text:
        raise BadRequest(Message("error.no_parameter", name=name), Message("hint.parameters"))
    if not _INT.fullmatch(text):
        raise BadRequest(Message("error.no_integer", name=name, value=repr(text[:80])), Message("hint.time_digits"))
    return int(text)


def window(params: Params) -> tuple[int, int]:
    """(t0, t1) with t0 < t1."""
    t0, t1 = integer(params, "t0"), integer(params, "t1")
    if t0 >= t1:
        raise BadRequest(Message("error.empty_range", t0=t0, t1=t1), Message("hint.range"))
    return t0, t1


def pixel(params: Params) -> float:
    """ns per pixel, not necessarily an integer."""
    text = params.get("px", "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 2.0**62:
        raise BadRequest(Message("error.pixel", value=repr(text[:80])), Message("hint.pixel"))
    return value


def flag(params: Params, name: str) -> bool:
    """A switch: "0" (the default) or "1"."""
    value = params.get(name) or "0"
    if value not in ("0", "1"):
        raise BadRequest(Message("error.switch", name=name, value=repr(value[:80])), Message("hint.switch"))
    return value == "1"


def rows(timeline: Timeline, params: Params) -> list[tuple[int, int]]:
    """(row of the row table, row number) of all requested rows that exist, each once, in the order of the request."""
    out: dict[int, int] = {}
    offset = timeline.first_track * ROW_STEP
    for part in params.get("rows", "").split(","):
        match = _ROWS.fullmatch(part.strip())
        if not match:
            raise BadRequest(Message("error.rows", value=repr(part[:80])), Message("hint.rows"))
        last = int(match.group(2) or match.group(1)) - offset
        first = max(int(match.group(1)) - offset, 0)
        for track in range(first // ROW_STEP, min(last // ROW_STEP + 1, len(timeline.tracks))):
            begin = int(timeline.rows.track_row[track])
            depths = int(timeline.rows.track_row[track + 1]) - begin
            low = max(0, first - track * ROW_STEP)
            high = min(depths, last - track * ROW_STEP + 1)
            for depth in range(low, high):
                out[offset + track * ROW_STEP + depth] = begin + depth
        if len(out) > MAX_ROWS:
            raise BadRequest(Message("error.too_many_rows", count=MAX_ROWS), Message("hint.fewer"))
    return [(row, number) for number, row in out.items()]


def row_numbers(timeline: Timeline, ids: NDArray[Any], repacked: Sequence[Repacked] = ()) -> NDArray[np.int64]:
    """Row numbers of slices of the trace, in the rows that the page shows. repacked: instead of rows of the trace. A slice that
    is not in them gets the last row that a track can have."""
    track, numbers = _rows_of(timeline, ids)
    for other in repacked:
        found = other.find(ids)
        numbers[found >= 0] = _rows_of(other.timeline, found[found >= 0])[1]
        for group in other.groups:
            numbers[(found < 0) & np.isin(track, group.tracks)] = (group.tracks[0] + 1) * ROW_STEP - 1
    return numbers


def _rows_of(timeline: Timeline, ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(track, row number) of slices."""
    row = timeline.rows.row_of(ids)
    track = timeline.rows.track_of_row(row)
    return track, track * ROW_STEP + row - timeline.rows.track_row[track]


def flow_kind(timeline: Timeline, params: Params) -> int:
    """Index of a flow kind in `timeline.flow_kinds`."""
    found = integer(params, "kind")
    if not 0 <= found < len(timeline.flow_kinds):
        raise NotFound(Message("error.flow_kind", kind=found), Message("hint.flow_kind"))
    return found


def slice_id(timeline: Timeline, params: Params) -> int:
    """Id of an existing slice."""
    given = integer(params, "id")
    found = given - timeline.first_slice
    if not 0 <= found < timeline.slice_count:
        raise NotFound(Message("error.slice", id=given), Message("hint.slices", last=timeline.slice_count - 1))
    return found


def track(timeline: Timeline, params: Params, kind: str, name: str = "track") -> int:
    """Number of a track of this kind."""
    return check_track(timeline, integer(params, name) - timeline.first_track, kind)


def is_derived(params: Params) -> bool:
    """Whether a request is about derived rows, by the first number that it names. A request names rows of one timeline."""
    rows, ids, names = (params.get(key, "") for key in ("rows", "id", "name"))
    first = re.match(r"\d+", rows)
    return (
        (first is not None and int(first.group()) >= FIRST_TRACK * ROW_STEP)
        or (ids.isdecimal() and int(ids) >= FIRST_SLICE)
        or (params.get("track", "").isdecimal() and int(params["track"]) >= FIRST_TRACK)
        or names.startswith(PREFIX)
    )


def packing_of(params: Params) -> str:
    """Name of the packing whose rows a request is about, by the first number that it names; "": rows of the trace."""
    first = re.match(r"\d{1,12}", params.get("rows", ""))
    track = int(first.group()) // ROW_STEP if first else 0
    return next((name for name, one in PACKINGS.items() if one.first_track <= track < 2 * one.first_track), "")


def packings(params: Params) -> list[str]:
    """Names of the packings that the page shows, of a comma-separated list."""
    names = [name for name in params.get("repacked", "").split(",") if name]
    for name in names:
        check_choice("repacked", name, tuple(PACKINGS))
    return list(dict.fromkeys(names))


def check_track(timeline: Timeline, number: int, kind: str) -> int:
    """The number, if a track of this kind ("": any) has it. Raises NotFound."""
    if not 0 <= number < len(timeline.tracks) or (kind and timeline.tracks[number]["kind"] != kind):
        raise NotFound(Message("error.track", kind=kind, track=number), Message("hint.tracks"))
    return number


def tracks(timeline: Timeline, params: Params, any_kind: bool = False) -> list[int]:
    """Slice tracks of a comma-separated list, each once; without a list, all of them. any_kind: the list may hold counters."""
    text = params.get("tracks", "")
    if not text:
        return list(timeline.tracks_of("slices"))
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise BadRequest(Message("error.track_list", value=repr(text[:80])), Message("hint.track_list"))
    kind = "" if any_kind else "slices"
    return [check_track(timeline, number, kind) for number in dict.fromkeys(map(int, text.split(",")))]
