"""The routes below /api/timeline. Each checks its parameters and queries the timeline once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain as chain_pieces
from itertools import islice
from typing import Any, Optional, TypedDict, TypeVar, Union

import numpy as np

from tb_npu_plugin.errors import BadRequest, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.kernel_meaning import meaning_of_slice
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.timeline_binary import Scale, encode
from tb_npu_plugin.server.timeline_params import Params
from tb_npu_plugin.store.timeline.chain import chain as trace_back
from tb_npu_plugin.store.timeline.contract import FlowsJson, SliceJson
from tb_npu_plugin.store.timeline.descent import descent as trace_down
from tb_npu_plugin.store.timeline.descent import is_host, neighbours, nested_table, queue_position, task_table
from tb_npu_plugin.store.timeline.export import ChromeTrace, ExportedRank
from tb_npu_plugin.store.timeline.matches import Placed, matching_bars
from tb_npu_plugin.store.timeline.members import MAX_ROW, SORTS, Members
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.repacked import Repacked
from tb_npu_plugin.store.timeline.stats import GROUPINGS, RangePart, Stats
from tb_npu_plugin.store.timeline.stats import find as find_slice
from tb_npu_plugin.store.timeline.stats import stats as statistics
from tb_npu_plugin.store.timeline.window import BUDGET, WindowBars, bars, shift_of
from tb_npu_plugin.tables import IntArray, Table
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery, parse_query
from tb_npu_plugin.views.tables_json import table_json, to_csv

#: (content, MIME type). Content: bytes, pieces of a download, or an object to encode as JSON.
Answer = tuple[Union[bytes, Iterator[bytes], Mapping[str, Any]], str]
#: Whether the client closed the connection.
IsGone = Callable[[], bool]

BINARY = "application/octet-stream"
JSON = "application/json"
CSV = "text/csv"
#: Maximum number of rows of a statistics table.
MAX_STATS = 2_000
#: Maximum number of rows of each table of /api/timeline/descent.
MAX_DESCENT = 2_000
#: Columns of /api/timeline/slices that are packed, see `encode`. The bar of one slice ends after its `dur`, all busy.
_PACKED = {
    "start": ("start",),
    "dur": (),
    "id": ("id",),
    "name": (),
    "count": (),
    "end": ("start", "dur"),
    "busy": ("dur",),
}


class StatsJson(TypedDict):
    """Answer of /api/timeline/stats."""

    table: TableJson
    """Rows with the most self time in the range; `total` counts all."""
    wall: int
    """Length of the range in ns."""
    slices: int
    """Number of slices that overlap the range."""
    parts: list[str]
    """Whether each `part` of the request is counted: "ready", "stale" (another version is read), "unread"; [] for a span."""


class CounterRangeJson(TypedDict):
    """One counter series in a range. Null: no value in the range."""

    track: int
    """Number of the track."""
    series: str
    """Name of the series."""
    min: Optional[float]
    """Least value."""
    mean: Optional[float]
    """Mean by time, from the first known value on."""
    max: Optional[float]
    """Largest value."""


class CountersJson(TypedDict):
    """Answer of /api/timeline/counters."""

    series: list[CounterRangeJson]
    """All series, in the order of their tracks."""


class DescentJson(TypedDict):
    """Answer of /api/timeline/descent: what a slice led to."""

    nested: TableJson
    """Slices nested in it on its thread, by start; of too many, those of the nearest levels. `total` counts all."""
    tasks: TableJson
    """Device tasks that it launched, or the tasks of a collective, by start; `total` counts all."""
    device_ns: int
    """Sum of the durations of all these tasks."""
    first: Optional[int]
    """Start of the first task."""
    last: Optional[int]
    """End of the last task."""
    is_collective: bool
    """Whether `tasks` are those of a collective."""
    is_host: bool
    """Whether it is a slice of the program or a CANN call: only these launch tasks."""
    queue: Optional[int]
    """Of a device task: tasks of its stream that were launched before it and had not begun at its launch. Null: unknown."""
    previous: Optional[int]
    """Slice of the track that starts before it."""
    next: Optional[int]
    """Slice of the track that starts after it."""


def slices(timeline: Timeline, params: Params, is_gone: IsGone = lambda: False, budget: int = BUDGET) -> Answer:
    """Bars of the rows in [t0, t1): of all slices, or of those that match a search. budget: compressed bytes."""
    t0, t1 = read.window(params)
    rows, px, text = read.rows(timeline, params), read.pixel(params), params.get("q", "")
    exact = read.flag(params, "exact")
    if text.strip():
        found = matching_bars(timeline, rows, t0, t1, px, text, budget, is_exact=exact, is_gone=is_gone)
    else:
        found = bars(timeline, rows, t0, t1, px, budget, is_exact=exact)
    scale = Scale(t0, t1, int(found.start.min()) if len(found.start) else t0)
    names, categories, name = _by_category(timeline, found)
    header = {
        "base": str(timeline.base_ns + scale.base),
        "unit": scale.unit,
        "names": names,
        "categories": categories,
        "meanings": [meaning_of_slice(*one) for one in zip(names, categories)],
        "rows": found.parts,
        "bin": found.bin,
        "far": scale.far(found.start, found.end),
    }
    columns = {
        "start": scale.times(found.start),
        "dur": scale.lengths(found.dur),
        "id": timeline.numbers_of(found.id),
        "name": name,
        "count": found.count,
        "end": scale.times(found.end),
        "busy": scale.lengths(found.busy),
    }
    return encode(header, {key: ("u32", values) for key, values in columns.items()}, _PACKED), BINARY


def _by_category(timeline: Timeline, found: WindowBars) -> tuple[list[str], list[str], IntArray]:
    """Distinct pairs of name and category ("": none) of the bars, and the number of the pair of each bar."""
    names = timeline.names.take(found.used)
    category = found.category.astype(np.int64)
    if not len(category) or category.max() < 0:
        return names, [""] * len(names), found.name
    count = int(category.max()) + 2
    pairs, number = np.unique(found.name * count + category + 1, return_inverse=True)
    name_of, category_of = ((pairs // count).tolist(), (pairs % count - 1).tolist())
    return [names[one] for one in name_of], [timeline.category_name(one) for one in category_of], number


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


def arrows(timeline: Timeline, params: Params, repacked: Sequence[Repacked] = ()) -> Answer:
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
        "from_row": read.row_numbers(timeline, found.source, repacked),
        "from_time": scale.times(starts),
        "to_row": read.row_numbers(timeline, found.target, repacked),
        "to_time": scale.times(ends),
        "count": found.count,
    }
    return encode(header, {key: ("u32", values) for key, values in columns.items()}), BINARY


def slice_detail(timeline: Timeline, params: Params, repacked: Sequence[Repacked] = ()) -> Answer:
    """Details of one slice, without the facts of the kernel table."""
    answer = timeline.detail(read.slice_id(timeline, params))
    for other in repacked:
        answer["previous"], answer["next"] = other.neighbours(answer["id"]) or (answer["previous"], answer["next"])
    return _place(answer, timeline, repacked), JSON


def flows(timeline: Timeline, params: Params, repacked: Sequence[Repacked] = ()) -> Answer:
    """Flows of one slice."""
    found = timeline.flows(read.slice_id(timeline, params))
    for flow in found:
        _place(flow["from"], timeline, repacked)
        _place(flow["to"], timeline, repacked)
    answer: FlowsJson = {"flows": found}
    return answer, JSON


_Slice = TypeVar("_Slice", bound=SliceJson)


def _place(answer: _Slice, timeline: Timeline, repacked: Sequence[Repacked]) -> _Slice:
    """Set track and depth of a slice to where the page shows it, and return it."""
    if repacked:
        number = int(read.row_numbers(timeline, np.array([answer["id"]]), repacked)[0])
        answer["track"], answer["depth"] = divmod(number, read.ROW_STEP)
    return answer


def is_csv(params: Params) -> bool:
    """Whether a download is asked for. Raises BadRequest for another format."""
    check_choice("format", params.get("format") or "json", ("json", "csv"))
    return params.get("format") == "csv"


def csv_of(head: Table, tables: Iterable[Table]) -> Iterator[bytes]:
    """Several tables with the columns of `head` as one CSV. Raises before the first piece."""
    parts = (to_csv(ViewTable(table), 0, TableQuery()) for table in tables)
    rows = (piece for part in parts for piece in islice(part, 1, None))  # without the header of each part
    return chain_pieces([next(to_csv(ViewTable(head), 0, TableQuery()))], rows)


def stats(timeline: Timeline, params: Params, is_gone: IsGone = lambda: False) -> Answer:
    """Statistics of [t0, t1) by name and row (GROUPINGS): the MAX_STATS rows with the most self time in it, or all rows as CSV.
    is_gone: whether the client closed the connection."""
    t0, t1 = read.window(params)
    found = stats_of([RangePart(timeline, t0, t1, read.tracks(timeline, params))], params, is_gone)
    columns = tuple(column for column in found.table.columns if column.key != "part")
    found.table = Table(columns, found.table.data)
    if is_csv(params):
        return to_csv(ViewTable(found.table), timeline.base_ns, TableQuery()), CSV
    return stats_json(found, params, []), JSON


def stats_of(parts: Sequence[RangePart], params: Params, is_gone: IsGone) -> Stats:
    """Statistics of a request: all rows for a CSV, else up to MAX_STATS."""
    by = params.get("by") or "name_row"
    check_choice("by", by, tuple(GROUPINGS))
    return statistics(parts, None if is_csv(params) else MAX_STATS, is_gone, by)


def stats_json(found: Stats, params: Params, parts: list[str]) -> StatsJson:
    """See StatsJson."""
    t0, t1 = read.window(params)
    page = table_json("timeline.stats", ViewTable(found.table), 0, TableQuery(limit=MAX_STATS))
    page["total"], page["sort"], page["desc"] = found.total, "clipped_self", True
    return {"table": page, "wall": t1 - t0, "slices": found.slices, "parts": parts}


def members(timeline: Timeline, params: Params, is_gone: IsGone = lambda: False) -> Answer:
    """Slices behind a row of the statistics: a page in the requested order, or all of them as CSV."""
    t0, t1 = read.window(params)
    found = Members(timeline, read.tracks(timeline, params), t0, t1, params.get("name", ""), is_gone=is_gone)
    if is_csv(params):
        return csv_of(found.page("start", False, 0, 0)[0], found.tables()), CSV
    query = parse_query({key: [value] for key, value in params.items()})
    sort = query.sort or "start"
    check_choice("sort", sort, SORTS)
    table, total = found.page(sort, query.desc, query.offset, query.limit)
    page = table_json("timeline.members", ViewTable(table), timeline.base_ns, TableQuery(limit=len(table)))
    return {**page, "offset": query.offset, "total": min(total, MAX_ROW), "sort": sort, "desc": query.desc}, JSON


def counters(timeline: Timeline, params: Params) -> Answer:
    """Least, mean and most of each counter in [t0, t1)."""
    t0, t1 = read.window(params)
    found: list[CounterRangeJson] = []
    for track in timeline.tracks_of("counter"):
        for series in timeline.tracks[track]["series"]:
            one = timeline.curves.summary(series, t0, t1)
            found.append({"track": track, "series": one.name, "min": one.least, "mean": one.mean, "max": one.most})
    answer: CountersJson = {"series": found}
    return answer, JSON


def export(timeline: Timeline, params: Params) -> Answer:
    """[t0, t1) as a Chrome trace: of some tracks, or of all."""
    t0, t1 = read.window(params)
    tracks = read.tracks(timeline, params, any_kind=True) if params.get("tracks") else None
    return ChromeTrace([ExportedRank(Placed(timeline, timeline.base_ns))], t0, t1, tracks).pieces(), JSON


def chain(timeline: Timeline, params: Params) -> Answer:
    """The slices that caused one slice."""
    return trace_back(timeline, read.slice_id(timeline, params)), JSON


def descent(timeline: Timeline, params: Params, is_gone: IsGone = lambda: False) -> Answer:
    """What a slice led to: the first MAX_DESCENT rows, or all its tasks as CSV."""
    chosen = read.slice_id(timeline, params)
    is_download = is_csv(params)
    found = trace_down(timeline, chosen, is_gone)
    if is_download:
        return to_csv(ViewTable(task_table(timeline, found)), timeline.base_ns, TableQuery()), CSV
    nested, nested_count = nested_table(timeline, chosen, found, MAX_DESCENT)
    previous, following = neighbours(timeline, chosen)
    rows, end = timeline.rows, timeline.rows.start[found.tasks] + timeline.rows.dur[found.tasks]
    answer: DescentJson = {
        "nested": _first_rows(timeline, "nested", nested, nested_count),
        "tasks": _first_rows(timeline, "tasks", task_table(timeline, found, MAX_DESCENT), len(found.tasks)),
        "device_ns": int(rows.dur[found.tasks].sum()),
        "first": int(rows.start[found.tasks[0]]) if len(end) else None,
        "last": int(end.max()) if len(end) else None,
        "is_collective": found.is_collective,
        "is_host": is_host(timeline, chosen),
        "queue": queue_position(timeline, chosen),
        "previous": previous,
        "next": following,
    }
    return answer, JSON


def _first_rows(timeline: Timeline, name: str, table: Table, total: int) -> TableJson:
    """The first rows of a table of `total` rows, which is sorted by start."""
    page = table_json(f"timeline.{name}", ViewTable(table), timeline.base_ns, TableQuery(limit=len(table)))
    return {**page, "total": total, "sort": "start"}


def find(timeline: Timeline, params: Params) -> Answer:
    """The slice that belongs to a table row, by its name and time."""
    name = params.get("name", "")
    if not name:
        raise BadRequest(Message("error.no_parameter", name="name"), Message("hint.slice_name"))
    found = find_slice(timeline, name, read.integer(params, "at", 0))
    return {"id": None if found is None else timeline.first_slice + found}, JSON


#: (path below /api/timeline/, function)
ROUTES: tuple[tuple[str, Callable[..., Answer]], ...] = (
    ("slices", slices),
    ("counter", counter),
    ("arrows", arrows),
    ("slice", slice_detail),
    ("flows", flows),
    ("chain", chain),
    ("counters", counters),
    ("descent", descent),
    ("export", export),
    ("members", members),
    ("find", find),
    ("stats", stats),
)
#: Routes that may take long: they also take `is_gone`, and raise ClientGone.
CANCELLABLE: frozenset[str] = frozenset(("descent", "members", "slices", "stats"))
#: Routes whose answers say where slices are: they also take the other rows that the page shows.
PLACING: frozenset[str] = frozenset(("arrows", "flows", "slice"))
