"""The route /api/timeline/collective: the tasks of one collective on all ranks that run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Optional, TypedDict, Union

from werkzeug.datastructures import MultiDict

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.search_api import Part, asked, with_place
from tb_npu_plugin.server.timeline_api import MAX_DESCENT, IsGone, csv_of, is_csv
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.collective import collective_tasks, find_collective
from tb_npu_plugin.store.timeline.descent import COLLECTIVE_COLUMNS, Index, collective_table, descent
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.tables import empty
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import table_json


class CollectiveRankJson(TypedDict):
    """A rank of the request."""

    state: Literal["ready", "unread", "stale", "absent"]
    """ "unread": its trace or its tables are not read. "absent": it does not run the collective, or its trace lacks it."""
    slice: Optional[int]
    """The collective on this rank; null unless ready."""
    tasks: int
    """Number of its tasks."""


class CollectiveJson(TypedDict):
    """Answer of /api/timeline/collective."""

    ranks: list[CollectiveRankJson]
    """In the order of `part`."""
    is_matched: bool
    """Whether the tables of the ranks match the collective. If not, only the rank of the slice is "ready"."""
    tasks: TableJson
    """Tasks of all ready ranks, by start on the common axis; `total` counts all."""


def collective(
    service: Service, params: MultiDict[str, str], is_gone: IsGone = lambda: False
) -> Union[CollectiveJson, Iterator[bytes]]:
    """The tasks of a collective (`span`, `version`, `id`) on the ranks of `part`, which include its own: see `asked`. CSV: all
    tasks, starts in ns since the epoch by the clock of each rank."""
    span, parts = params.get("span", ""), asked(service, params)
    timeline = service.timeline(span, params.get("version", ""))
    chosen = read.slice_id(timeline, params)
    if not descent(timeline, chosen, is_gone).is_collective:
        raise BadRequest(Message("error.no_collective"), Message("hint.collective"))
    name, run = timeline.names[int(timeline.name[chosen])], service.strips([span])[span]
    starts = run.starts_of(span, name, timeline.base_ns + int(timeline.rows.start[chosen]))
    slices = [chosen if one.span == span else _slice(one, name, starts.get(one.span)) for one in parts]
    tasks: list[tuple[int, Placed, Index]] = [
        (number, part.placed, descent(part.placed.timeline, one, is_gone).tasks)
        for number, (part, one) in enumerate(zip(parts, slices))
        if part.placed and one is not None
    ]
    if is_csv(params):
        tables = (with_place([parts[number]], collective_table(one.timeline, ids)) for number, one, ids in tasks)
        return csv_of(with_place([Part("ready")], empty(COLLECTIVE_COLUMNS)), tables)
    count = {number: len(ids) for number, _, ids in tasks}
    ranks: list[CollectiveRankJson] = [
        {
            "state": "ready" if number in count else _state(part, starts, run.has(part.span)),
            "slice": one,
            "tasks": count.get(number, 0),
        }
        for number, (part, one) in enumerate(zip(parts, slices))
    ]
    table = collective_tasks(tasks, MAX_DESCENT)
    page = table_json("timeline.collective", ViewTable(table), 0, TableQuery(limit=len(table)))
    return {
        "ranks": ranks,
        "is_matched": bool(starts),
        "tasks": {**page, "total": sum(count.values()), "sort": "start"},
    }


def _slice(part: Part, name: str, start: Optional[int]) -> Optional[int]:
    """The collective on a rank; None if it is not known there. start: ns since the epoch."""
    return find_collective(part.placed.timeline, name, start) if part.placed and start is not None else None


def _state(part: Part, starts: Mapping[str, int], has_tables: bool) -> Literal["unread", "stale", "absent"]:
    """State of a rank without the collective."""
    if part.state != "ready" and (part.span in starts or not has_tables):
        return part.state
    return "absent" if has_tables or not starts else "unread"
