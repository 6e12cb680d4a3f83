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
from tb_npu_plugin.store.timeline.hit_list import HIT_SORTS, HitList
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.matches import search as search_slices
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery, parse_query
from tb_npu_plugin.views.tables_json import table_json

#: Maximum number of ranks of a search, and of hits in its answer.
MAX_PARTS, MAX_HITS = 64, 10_000
_PART = re.compile(r"([^:]+):([^:]*):(-?\d{1,19})")
#: Columns of the CSV before those of the slices.
_PLACE_COLUMNS = (
    Column("run", Kind.TEXT, "Run", "Name of the run.", "identity"),
    Column("worker", Kind.TEXT, "Worker", "Name of the worker.", "identity"),
)


@dataclass(frozen=True)
class Part:
    """One rank of a request. placed: None unless `state` is "ready". See SearchedJson."""

    state: Literal["ready", "stale", "unread"]
    span: str = ""
    version: str = ""
    placed: Placed | None = None
    run: str = ""
    worker: str = ""


def asked(service: Service, params: MultiDict[str, str]) -> list[Part]:
    """The ranks of a request, `part` as "span:version:zero". Without a version, the trace must be read to its end; it is not
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
    span, version, zero = match.groups()
    try:
        if version:
            timeline = service.timeline(span, version)
        else:
            opened = service.read_trace(span)
            if opened is None or opened.timeline is None:
                return Part("unread", span)
            timeline, version = opened.timeline, opened.trace_version
        place = service.library.place(span)
        return Part("ready", span, version, Placed(timeline, int(zero)), place.run.label, place.worker.label)
    except Stale:
        return Part("stale", span)
    except (NotReady, NotFound):
        return Part("unread", span)


def search(parts: Sequence[Part], params: Params, is_gone: IsGone = lambda: False) -> SearchJson:
    """Slices by name, duration and arguments."""
    text, limit = _text(params), read.integer(params, "limit", 200)
    if not 1 <= limit <= MAX_HITS:
        raise BadRequest(Message("error.limit", limit=limit), Message("hint.limit", most=MAX_HITS))
    placed, number = _ready(parts)
    found = search_slices(placed, text, limit, read.integer(params, "near", 0), is_gone)
    part = np.array(number, dtype=np.int64)[found.part]
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
    placed, number = _ready(parts)
    found = HitList(placed, _text(params), is_gone)
    if is_csv(params):
        ready = [one for one in parts if one.placed]
        tables = (with_place(ready[at], table) for at, table in found.tables())
        return csv_of(with_place(Part("ready"), found.page("start", False, 0, 0)[0]), tables)
    query = parse_query(params.to_dict(flat=False))
    sort = query.sort or "start"
    check_choice("sort", sort, HIT_SORTS)
    table, total = found.page(sort, query.desc, query.offset, query.limit)
    in_request = np.array(number, dtype=np.int64)[table.ints("part")]
    shown = Table(table.columns, {**table.data, "part": in_request})
    page = table_json("timeline.hits", ViewTable(shown), 0, TableQuery(limit=len(shown)))
    return {**page, "offset": query.offset, "total": total, "sort": sort, "desc": query.desc}


def _text(params: Params) -> str:
    text = params.get("q", "")
    if not text.strip():
        raise BadRequest(Message("error.no_parameter", name="q"), Message("hint.search"))
    return text


def _ready(parts: Sequence[Part]) -> tuple[list[Placed], list[int]]:
    """The timelines that can be searched, and the number of each in the request."""
    ready = [(part.placed, number) for number, part in enumerate(parts) if part.placed]
    return [placed for placed, _ in ready], [number for _, number in ready]


def with_place(part: Part, table: Table) -> Table:
    """The table with the run and the worker, for a file."""
    codes = np.zeros(len(table), dtype=np.int32)
    data = {**table.data, "run": StringColumn(codes, [part.run]), "worker": StringColumn(codes, [part.worker])}
    return Table((*_PLACE_COLUMNS, *(column for column in table.columns if column.key != "part")), data)
