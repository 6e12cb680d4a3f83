"""The routes below /api/timeline. Each checks its parameters and queries the timeline once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypedDict, Union

from tb_npu_plugin.errors import BadRequest, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.timeline_binary import Scale, encode
from tb_npu_plugin.server.timeline_params import Params
from tb_npu_plugin.store.timeline.chain import chain as trace_back
from tb_npu_plugin.store.timeline.contract import FlowsJson, SearchJson
from tb_npu_plugin.store.timeline.matches import matching_bars
from tb_npu_plugin.store.timeline.matches import search as search_names
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import find as find_slice
from tb_npu_plugin.store.timeline.stats import stats as statistics
from tb_npu_plugin.store.timeline.window import BUDGET, bars, shift_of
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import table_json, to_csv

#: (content, MIME type). Content: bytes, pieces of a download, or an object to encode as JSON.
Answer = tuple[Union[bytes, Iterator[bytes], Mapping[str, Any]], str]

BINARY = "application/octet-stream"
JSON = "application/json"
CSV = "text/csv"
#: Maximum number of hits of a search, and of rows of a statistics table.
MAX_HITS = 10_000
MAX_STATS = 2_000


class StatsJson(TypedDict):
    """Answer of /api/timeline/stats."""

    table: TableJson
    """Rows with the most self time in the range; `total` counts all."""
    wall: int
    """Length of the range in ns."""
    slices: int
    """Number of slices that overlap the range."""


def slices(timeline: Timeline, params: Params, budget: int = BUDGET) -> Answer:
    """Bars of the rows in [t0, t1): of all slices, or of those that match a search. budget: compressed bytes."""
    t0, t1 = read.window(params)
    rows, px, text = read.rows(timeline, params), read.pixel(params), params.get("q", "")
    exact = read.flag(params, "exact")
    if text.strip():
        found = matching_bars(timeline, rows, t0, t1, px, text, budget, is_exact=exact)
    else:
        found = bars(timeline, rows, t0, t1, px, budget, is_exact=exact)
    scale = Scale(t0, t1, int(found.start.min()) if len(found.start) else t0)
    header = {
        "base": str(timeline.base_ns + scale.base),
        "unit": scale.unit,
        "names": timeline.names.take(found.used),
        "rows": found.parts,
        "bin": found.bin,
        "far": scale.far(found.start, found.end),
    }
    columns = {
        "start": scale.times(found.start),
        "dur": scale.lengths(found.dur),
        "id": timeline.first_slice + found.id,
        "name": found.name,
        "count": found.count,
        "end": scale.times(found.end),
        "busy": scale.lengths(found.busy),
    }
    return encode(header, {key: ("u32", values) for key, values in columns.items()}), BINARY


def counter(timeline: Timeline, params: Params) -> Answer:
    """Curves of one counter in [t0, t1)."""
    t0, t1 = read.window(params)
    series = timeline.tracks[read.track(timeline, params, "counter")]["series"]
    found, shift = timeline.curves.curves(series, t0, t1, shift_of(read.pixel(params)))
    scale = Scale(t0, t1, min((int(curve.time[0]) for curve in found if len(curve.time)), default=t0))
    columns: dict[str, Any] = {}
    for index, curve in enumerate(found):
        columns[f"t{index}"] = ("u32", scale.times(curve.time))
        columns[f"min{index}"] = ("f64", curve.low)
        columns[f"max{index}"] = ("f64", curve.high)
        columns[f"last{index}"] = ("f64", curve.last)
    header = {
        "base": str(timeline.base_ns + scale.base),
        "unit": scale.unit,
        "bin": 1 << shift,
        "series": [curve.name for curve in found],
    }
    return encode(header, columns), BINARY


def arrows(timeline: Timeline, params: Params) -> Answer:
    """Arrows of one flow kind that start or end in [t0, t1)."""
    t0, t1 = read.window(params)
    kind = read.flow_kind(timeline, params)
    found = timeline.arrows.arrows(timeline.rows, kind, t0, t1, shift_of(read.pixel(params)))
    starts, ends = timeline.rows.start[found.source], timeline.rows.start[found.target]
    scale = Scale.around(t0, t1)
    header = {
        "base": str(timeline.base_ns + scale.base),
        "unit": scale.unit,
        "bin": found.bin,
        "left_out": found.left_out,
    }
    columns = {
        "from_row": read.row_numbers(timeline, found.source),
        "from_time": scale.times(starts),
        "to_row": read.row_numbers(timeline, found.target),
        "to_time": scale.times(ends),
        "count": found.count,
    }
    return encode(header, {key: ("u32", values) for key, values in columns.items()}), BINARY


def slice_detail(timeline: Timeline, params: Params) -> Answer:
    """Details of one slice, without the facts of the kernel table."""
    return timeline.detail(read.slice_id(timeline, params)), JSON


def flows(timeline: Timeline, params: Params) -> Answer:
    """Flows of one slice."""
    answer: FlowsJson = {"flows": timeline.flows(read.slice_id(timeline, params))}
    return answer, JSON


def search(timeline: Timeline, params: Params) -> Answer:
    """Slices by name."""
    text = params.get("q", "")
    if not text.strip():
        raise BadRequest(Message("error.no_parameter", name="q"), Message("hint.part_of_name"))
    limit = read.integer(params, "limit", 200)
    if not 1 <= limit <= MAX_HITS:
        raise BadRequest(Message("error.limit", limit=limit), Message("hint.limit", most=MAX_HITS))
    track = read.track(timeline, params, "slices") if params.get("track") else None
    found = search_names(timeline, text, limit, track, read.integer(params, "near", 0))
    start, dur = timeline.rows.start[found.id], timeline.rows.dur[found.id]
    columns = (found.id, start, dur, found.track, found.depth, found.name)
    hits = list(zip(*(column.tolist() for column in columns)))
    marks = found.marks.tolist()
    answer: SearchJson = {
        "total": found.total,
        "first": found.first,
        "names": found.names,
        "hits": hits,
        "marks": marks,
    }
    return answer, JSON


def stats(timeline: Timeline, params: Params, is_gone: Callable[[], bool] = lambda: False) -> Answer:
    """Statistics of [t0, t1) by track and name: the MAX_STATS rows with the most self time in it, or all rows as CSV.
    is_gone: whether the client closed the connection."""
    t0, t1 = read.window(params)
    tracks = read.tracks(timeline, params)
    check_choice("format", params.get("format") or "json", ("json", "csv"))
    if params.get("format") == "csv":
        everything = ViewTable(statistics(timeline, t0, t1, tracks, None, is_gone).table, "")
        return to_csv(everything, timeline.base_ns, TableQuery()), CSV
    found = statistics(timeline, t0, t1, tracks, MAX_STATS, is_gone)
    page = table_json("timeline.stats", ViewTable(found.table, ""), timeline.base_ns, TableQuery(limit=MAX_STATS))
    page["total"], page["sort"], page["desc"] = found.total, "clipped_self", True
    answer: StatsJson = {"table": page, "wall": t1 - t0, "slices": found.slices}
    return answer, JSON


def chain(timeline: Timeline, params: Params) -> Answer:
    """The slices that caused one slice."""
    return trace_back(timeline, read.slice_id(timeline, params)), JSON


def find(timeline: Timeline, params: Params) -> Answer:
    """The slice that belongs to a table row, by its name and time."""
    name = params.get("name", "")
    if not name:
        raise BadRequest(Message("error.no_parameter", name="name"), Message("hint.slice_name"))
    found = find_slice(timeline, name, read.integer(params, "at", 0))
    return {"id": None if found is None else timeline.first_slice + found}, JSON


#: (path below /api/timeline/, function)
ROUTES: tuple[tuple[str, Callable[[Timeline, Params], Answer]], ...] = (
    ("slices", slices),
    ("counter", counter),
    ("arrows", arrows),
    ("slice", slice_detail),
    ("flows", flows),
    ("chain", chain),
    ("find", find),
    ("search", search),
    ("stats", stats),
)
