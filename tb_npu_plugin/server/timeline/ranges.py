"""Questions about many slices of all sources: searches, statistics of a range, exports. Times are ns after time 0."""

from __future__ import annotations

from typing import Annotated, Optional, TypedDict

import msgspec

from tb_npu_plugin.errors import BadRequest, NotReady, Stale, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.ask import Answer, Ask, Download, Format, IsGone, Page, Window, csv_of, page_of
from tb_npu_plugin.server.timeline.sources import Sources, slice_tracks
from tb_npu_plugin.store.timeline.contract import SearchedJson, SearchJson, SourceState, TrackKind
from tb_npu_plugin.store.timeline.export import ChromeTrace, ExportedRank
from tb_npu_plugin.store.timeline.matches import search
from tb_npu_plugin.store.timeline.members import Members as SliceMembers
from tb_npu_plugin.store.timeline.slice_list import LIST_SORTS, SliceList, list_hits
from tb_npu_plugin.store.timeline.stats import GROUPINGS, RangePart, stats
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import to_csv

#: Maximum number of rows of a statistics table, and of hits of a search.
MAX_STATS, MAX_HITS = 2_000, 10_000


class StatsJson(TypedDict):
    """Answer to "stats"."""

    table: TableJson
    """Rows with the most self time in the range; `total` counts all."""
    wall: int
    """Length of the range in ns."""
    slices: int
    """Number of slices that overlap the range."""
    parts: list[SourceState]
    """State of each source; those that are not ready are not counted."""


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
    """Answer to "counters"."""

    series: list[CounterRangeJson]
    """All series, in the order of their tracks."""


class Search(Ask, frozen=True, kw_only=True):
    """Slices by name, duration and arguments: `limit` hits around the first that starts at `near` or later."""

    q: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_HITS)] = 200
    near: int = 0

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        hits = search(found.ready, _checked(self.q), self.limit, self.near, is_gone)
        columns = (hits.id, hits.start, hits.dur, hits.track, hits.depth, hits.name, found.numbers(hits.part))
        totals, marks = iter(hits.totals), iter(hits.marks)
        parts: list[SearchedJson] = [
            {"state": one.state, "version": one.version, "total": next(totals), "marks": next(marks).tolist()}
            if one.placed
            else {"state": one.state, "version": "", "total": None, "marks": []}
            for one in found.all
        ]
        answer: SearchJson = {
            "total": sum(hits.totals),
            "first": hits.first,
            "names": hits.names,
            "hits": list(zip(*(column.tolist() for column in columns))),
            "kinds": [{"kind": kind, "total": total} for kind, total in hits.by_kind.items()],
            "parts": parts,
        }
        return answer


class Hits(Ask, frozen=True, kw_only=True):
    """The hits of a search as a list. kind: only those in tracks of this kind."""

    q: str
    kind: Optional[TrackKind] = None
    page: Page = Page()
    format: Format = "json"

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        return _list(self, found, list_hits(found.ready, _checked(self.q), self.kind or "", is_gone), "timeline.hits")


class Members(Window, frozen=True, kw_only=True):
    """The slices behind a row of the statistics. name: theirs; "": any."""

    name: str = ""
    page: Page = Page()
    format: Format = "json"

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        parts = _range_parts(self, found)
        members = [SliceMembers(one.timeline, one.tracks, one.t0, one.t1, self.name, is_gone=is_gone) for one in parts]
        return _list(self, found, SliceList(found.ready, members), "timeline.members")


def _list(ask: Hits | Members, found: Sources, slices: SliceList, table_id: str) -> Answer:
    """A list of the slices of the sources that are ready."""
    if ask.format == "csv":
        head = slices.page("start", False, 0, 0)[0]
        return csv_of(found.with_place(head), map(found.with_place, slices.tables()))
    page, sort = ask.page, ask.page.sort or "start"
    check_choice("sort", sort, LIST_SORTS)
    table, total = slices.page(sort, page.desc, page.offset, page.limit)
    shown = Table(table.columns, {**table.data, "part": found.numbers(table.ints("part"))})
    return page_of(table_id, shown, 0, offset=page.offset, total=total, sort=sort, desc=page.desc)


class Stats(Window, frozen=True, kw_only=True):
    """Statistics of a range: the MAX_STATS rows with the most self time in it, or all rows as CSV. by: see GROUPINGS."""

    by: str = "name_row"
    format: Format = "json"

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        check_choice("by", self.by, tuple(GROUPINGS))
        is_csv = self.format == "csv"
        figures = stats(_range_parts(self, found), None if is_csv else MAX_STATS, is_gone, self.by)
        table, has_part = figures.table, figures.table.has("part")
        if is_csv:
            return Download(to_csv(ViewTable(found.with_place(table) if has_part else table), 0, TableQuery()))
        if has_part:
            table = Table(table.columns, {**table.data, "part": found.numbers(table.ints("part"))})
        answer: StatsJson = {
            "table": page_of("timeline.stats", table, 0, total=figures.total, sort="clipped_self", desc=True),
            "wall": self.t1 - self.t0,
            "slices": figures.slices,
            "parts": [one.state for one in found.all],
        }
        return answer


def _range_parts(ask: Window, found: Sources) -> list[RangePart]:
    """The range by the clock of each source that is ready."""
    placed = ((one.ref, one.placed) for one in found.all if one.placed)
    return [
        RangePart(one.timeline, ask.t0 - one.offset, ask.t1 - one.offset, slice_tracks(one.timeline, ref))
        for ref, one in placed
    ]


class Counters(Window, frozen=True, kw_only=True):
    """Least, mean and most of each counter of the first source."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        placed, series = found[0], list[CounterRangeJson]()
        timeline, t0, t1 = placed.timeline, self.t0 - placed.offset, self.t1 - placed.offset
        for track in timeline.tracks_of("counter"):
            for number in timeline.tracks[track]["series"]:
                one = timeline.curves.summary(number, t0, t1)
                series.append({"track": track, "series": one.name, "min": one.least, "mean": one.mean, "max": one.most})
        answer: CountersJson = {"series": series}
        return answer


class Export(Window, frozen=True, kw_only=True):
    """A Chrome trace with the rows of all sources whose traces are read. It names the others."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        if len(found.refs) == 1:
            placed, ref = found[0], found.refs[0]  # waits for it
            tracks = None if ref.tracks is None else slice_tracks(placed.timeline, ref, kind="")
            return Download(ChromeTrace([ExportedRank(placed)], self.t0, self.t1, tracks).pieces(), "json")
        if any(one.state == "stale" for one in found.all):
            raise Stale(Message("error.stale"), Message("hint.trace_again"))
        places = [found.service.library.place(ref.span) for ref in found.refs]
        has_runs = len({place.run.token for place in places}) > 1
        names = [f"{place.run.label} · {place.worker.label}" if has_runs else place.worker.label for place in places]
        ranks = [ExportedRank(one.placed, name) for one, name in zip(found.all, names) if one.placed]
        missing = [
            f"{name} · not exported: its trace is not read" for one, name in zip(found.all, names) if not one.placed
        ]
        if not ranks:
            raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        return Download(ChromeTrace(ranks, self.t0, self.t1, missing=missing).pieces(), "json")


def _checked(text: str) -> str:
    """A search. Raises BadRequest if it is blank."""
    if not text.strip():
        raise BadRequest(Message("error.no_parameter", name="q"), Message("hint.search"))
    return text
