"""The routes /api/timeline/search and /api/timeline/hits: one search in the timelines of several spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Union

import numpy as np
from werkzeug.datastructures import MultiDict

from tb_npu_plugin.errors import BadRequest, NotFound, NotReady, Stale, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.timeline_api import IsGone, csv_of, is_csv
from tb_npu_plugin.server.timeline_params import Params
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.timeline.contract import SearchedJson, SearchJson
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.matches import search as search_slices
from tb_npu_plugin.store.timeline.slice_list import LIST_SORTS, SliceList, list_hits
from tb_npu_plugin.tables import Column, IntArray, Kind, StringColumn, Table, column_texts
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery, parse_query
from tb_npu_plugin.views.tables_json import table_json

#: Maximum number of ranks of a search, and of hits in its answer.
MAX_PARTS, MAX_HITS = 64, 10_000
_PART = re.compile(r"([^:]+):([^:]*):(-?\d{1,19})(?::([\d,]*))?")
#: Columns of the CSV before those of the slices.
_PLACE_COLUMNS = (
    Column("run", Kind.TEXT, *column_texts("run"), "identity"),
    Column("worker", Kind.TEXT, *column_texts("worker"), "identity"),
)


@dataclass(frozen=True)
class Part:
    """One rank of a request. placed: None unless `state` is "ready". tracks: of a range. See SearchedJson."""

    state: Literal["ready", "stale", "unread"]
    span: str = ""
    version: str = ""
    placed: Placed | None = None
    run: str = ""
    worker: str = ""
    tracks: str = ""


def asked(service: Service, params: MultiDict[str, str]) -> list[Part]:
    """The ranks of a request, `part` as "span:version:zero" or, of a range, "span:version:zero:tracks". Without a version, the trace must be read to its end; it is not
    queued. zero: ns since the epoch by the clock of the rank where the common time axis begins."""
    texts = params.getlist("part")
    if not 1 <= len(texts) <= MAX_PARTS:
        raise BadRequest(Message("error.count", name="part", count=len(texts)), Message("hint.limit", most=MAX_PARTS))
    return [_part(service, text) for text in texts]


def _part(service: Service, text: str) -> Part:
    match = _PART.fullmatch(text)
    if not match or abs(int(match[3])) >= 1 << 62:
        form = "span:version:zero"
        raise BadRequest(Message("error.part", value=repr(text[:80]), form=form), Message("hint.search_part"))
    span, version, zero, tracks = match.groups(default="")
    try:
        if version:
            timeline = service.timeline(span, version)
        else:
            opened = service.read_trace(span)
            if opened is None or opened.timeline is None:
                return Part("unread", span)
            timeline, version = opened.timeline, opened.trace_version
        place = service.library.place(span)
        return Part("ready", span, version, Placed(timeline, int(zero)), place.run.label, place.worker.label, tracks)
    except Stale:
        return Part("stale", span)
    except (NotReady, NotFound):
        return Part("unread", span)


def search(parts: Sequence[Part], params: Params, is_gone: IsGone = lambda: False) -> SearchJson:
    """Slices by name, duration and arguments."""
    text, limit = _text(params), read.integer(params, "limit", 200)
    if not 1 <= limit <= MAX_HITS:
        raise BadRequest(Message("error.limit", limit=limit), Message("hint.limit", most=MAX_HITS))
    placed = ready(parts)
    found = search_slices(placed, text, limit, read.integer(params, "near", 0), is_gone)
    part = in_request(parts, found.part)
    columns = (found.id, found.start, found.dur, found.track, found.depth, found.name, part)
    totals, marks = iter(found.totals), iter(found.marks)
    ranks: list[SearchedJson] = [
        {"state": one.state, "version": one.version, "total": next(totals), "marks": next(marks).tolist()}
        if one.placed
        else {"state": one.state, "version": "", "total": None, "marks": []}
        for one in parts
    ]
    return {
        "total": sum(found.totals),
        "first": found.first,
        "names": found.names,
        "hits": list(zip(*(column.tolist() for column in columns))),
        "parts": ranks,
    }


def hits(
    parts: Sequence[Part], params: MultiDict[str, str], is_gone: IsGone = lambda: False
) -> Union[TableJson, Iterator[bytes]]:
    """The hits of a search as a list: a page in the requested order, or all of them as CSV."""
    return listed(parts, list_hits(ready(parts), _text(params), is_gone), params, "timeline.hits")


def listed(
    parts: Sequence[Part], found: SliceList, params: MultiDict[str, str], table_id: str
) -> Union[TableJson, Iterator[bytes]]:
    """A list of the slices of the ranks that are ready: a page in the requested order, or all of them as CSV."""
    if is_csv(params):
        ranks = [one for one in parts if one.placed]
        tables = (with_place(ranks, table) for table in found.tables())
        return csv_of(with_place([Part("ready")], found.page("start", False, 0, 0)[0]), tables)
    query = parse_query(params.to_dict(flat=False))
    sort = query.sort or "start"
    check_choice("sort", sort, LIST_SORTS)
    table, total = found.page(sort, query.desc, query.offset, query.limit)
    shown = Table(table.columns, {**table.data, "part": in_request(parts, table.ints("part"))})
    page = table_json(table_id, ViewTable(shown), 0, TableQuery(limit=len(shown)))
    return {**page, "offset": query.offset, "total": total, "sort": sort, "desc": query.desc}


def _text(params: Params) -> str:
    text = params.get("q", "")
    if not text.strip():
        raise BadRequest(Message("error.no_parameter", name="q"), Message("hint.search"))
    return text


def ready(parts: Sequence[Part]) -> list[Placed]:
    """The timelines that are read."""
    return [part.placed for part in parts if part.placed]


def in_request(parts: Sequence[Part], part: IntArray) -> IntArray:
    """The numbers of ranks in the request, for numbers among those that are ready."""
    return np.flatnonzero([one.placed is not None for one in parts])[part]


def with_place(parts: Sequence[Part], table: Table) -> Table:
    """The table with the run and the worker of each row, for a file. parts: what its column "part" numbers; a table without it is
    of the only one."""
    code = table.ints("part") if table.has("part") else np.zeros(len(table), dtype=np.int64)
    runs, workers = [part.run for part in parts], [part.worker for part in parts]
    place = {key: StringColumn(code.astype(np.int32), texts) for key, texts in (("run", runs), ("worker", workers))}
    return Table(
        (*_PLACE_COLUMNS, *(column for column in table.columns if column.key != "part")), {**table.data, **place}
    )
