"""The routes /api/timeline/stats and /api/timeline/members for several ranks: a range of the common time axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

from werkzeug.datastructures import MultiDict

from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.search_api import Part, in_request, listed, ready, with_place
from tb_npu_plugin.server.timeline_api import IsGone, StatsJson, is_csv, stats_json, stats_of
from tb_npu_plugin.store.timeline.members import Members
from tb_npu_plugin.store.timeline.slice_list import SliceList
from tb_npu_plugin.store.timeline.stats import RangePart
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import to_csv


def stats(
    parts: Sequence[Part], params: MultiDict[str, str], is_gone: IsGone = lambda: False
) -> Union[StatsJson, Iterator[bytes]]:
    """Statistics of the slices of all ranks that are ready: see timeline_api.stats."""
    found = stats_of(_ranges(parts, params), params, is_gone)
    if is_csv(params):
        ranks = [part for part in parts if part.placed]
        table = with_place(ranks, found.table) if found.table.has("part") else found.table
        return to_csv(ViewTable(table), 0, TableQuery())
    if found.table.has("part"):
        number = in_request(parts, found.table.ints("part"))
        found.table = Table(found.table.columns, {**found.table.data, "part": number})
    return stats_json(found, params, [one.state for one in parts])


def members(
    parts: Sequence[Part], params: MultiDict[str, str], is_gone: IsGone = lambda: False
) -> Union[TableJson, Iterator[bytes]]:
    """Slices behind a row of the statistics: a page in the requested order, or all of them as CSV."""
    name = params.get("name", "")
    found = [Members(one.timeline, one.tracks, one.t0, one.t1, name, is_gone=is_gone) for one in _ranges(parts, params)]
    return listed(parts, SliceList(ready(parts), found), params, "timeline.members")


def _ranges(parts: Sequence[Part], params: MultiDict[str, str]) -> list[RangePart]:
    """The range by the clock of each rank that is ready."""
    t0, t1 = read.window(params)
    return [
        RangePart(
            part.placed.timeline,
            t0 - part.placed.offset,
            t1 - part.placed.offset,
            read.tracks(part.placed.timeline, {"tracks": part.tracks}),
        )
        for part in parts
        if part.placed
    ]
