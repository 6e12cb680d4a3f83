"""Resolves the parameters of a request to the data that its view can be built from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.service import catalog, ranks
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import STAGES, stages_of
from tb_npu_plugin.store.tables.index import only_in_trace, stored_in
from tb_npu_plugin.views.availability import SpanFacts, facts_of_span, is_available
from tb_npu_plugin.views.base import ProgressJson, ReadState, View
from tb_npu_plugin.views.registry import find_view, view_params

#: Stage statuses of each span, by the span's token.
Statuses = Mapping[str, Sequence[StageStatus]]
TRACE_ONLY = (("trace",),)
#: Most captures that Diff compares.
MOST_CAPTURES = 8


@dataclass(frozen=True)
class ResolvedRequest:
    """A view, its parameters, its spans and how far they are read.

    Attributes:
        places: All spans of the request.
        ready: The spans that the view is built from.
        state: As in ViewJson.
        version: Changes when a cache entry that the view shows changes.
        is_preliminary: See ViewJson.
        statuses: Stage statuses at the time of the request.
        others: Other ranks of their runs that the view shows.
        ranks: For each of `ready`, the ranks of its run that are read, itself included; none unless the view is `with_ranks`.
        preview: Shown while the spans are read; None where there is nothing to show yet.
    """

    view: View
    params: dict[str, str]
    places: Sequence[Place]
    ready: Sequence[Span]
    state: ReadState
    facts: SpanFacts
    problems: Sequence[Problem]
    version: str
    progress: list[ProgressJson]
    statuses: Statuses
    is_preliminary: bool
    others: Sequence[Place] = ()
    ranks: Sequence[Sequence[Span]] = ()
    preview: Span | None = None

    def is_complete(self, place: Place) -> bool:
        """Whether all requested stages of a span are read."""
        return all(status.state == "ready" for status in self.statuses[place.span.token])

    @property
    def key(self) -> tuple[Any, ...]:
        """What a built result depends on."""
        places = tuple(
            place.span.token for place in self.places
        )  # another rank of a run may be a capture of Diff, or beside it
        return (self.view.id, tuple(sorted(self.params.items())), places, self.version)


def resolve(
    library: Library, view_id: str, params: Mapping[str, str], for_page: bool, with_traces: bool = True
) -> ResolvedRequest:
    """Find the spans of a view, queue what must be read for it, and open what is read. Never waits. Stages that the view does not
    use are as if they were not read: its answer does not depend on what others had read.

    Args:
        params: `run`, `span`, `baseline`, `captures`, `experimental`, and the parameters of the view.
        for_page: Queue the other stages of a span, too, at low priority; leave large traces of a run unread until the user
            has them read. Else queue all that the view shows.
        with_traces: Else use a trace only where it is the only file of a result.

    Raises:
        NotFound: No such view, run or span.
        BadRequest: A parameter is missing or not a valid value.
    """
    view = find_view(view_id)
    places = _find_places(library, view, params)
    statuses: dict[str, list[StageStatus]] = {}
    if view.scope == "run":
        queues_traces = not for_page or (view.examines and ranks.are_small(places, STAGES))
        for place in places:
            statuses[place.span.token] = _request_rank(library, view, place, queues_traces, with_traces)
    else:
        for place in places:
            statuses[place.span.token] = _request_stages(library, view, params, place, for_page, with_traces)
    others = _request_others(library, view, places, statuses, for_page, with_traces) if view.with_ranks else []
    used = statuses
    if not (
        for_page and view.needs == TRACE_ONLY
    ):  # there, the origin of times is that of the tables once they are read
        used = {place.span.token: _with_unused(place, statuses[place.span.token]) for place in (*places, *others)}
    read, failed = _split_by_state(view, places, statuses)
    # Figures of a run are never of the beginning of a trace: they would depend on when it was cancelled.
    with_preview = view.scope != "run"
    opened = [library.open(place, used[place.span.token], with_preview) for place in read]
    also_opened = [library.open(place, used[place.span.token], with_preview) for place in failed]
    listed = statuses if for_page else used  # a page also tells what the other stages met
    facts = _common_facts(library, places, listed)
    usable = [span for span in opened if _meets_needs(view, span)]
    state: ReadState
    if view.scope == "run" and usable:
        state, opened = "ready", usable
    elif failed:
        state = "failed"
    elif len(read) < len(places):
        state = "reading"
    elif len(usable) == len(places):
        state = "ready"
    else:
        state = "failed" if is_available(view, facts) else "missing"
    preview = _open_preview(library, view, places[0], statuses) if state == "reading" else None
    found = [library.open(place, used[place.span.token], False) for place in _split_by_state(view, others, statuses)[0]]
    of_run = [_with_others(library, own, [*found, *opened]) for own in opened] if view.with_ranks else []
    return ResolvedRequest(
        view,
        view_params(view, params),
        places,
        opened,
        state,
        facts,
        [_with_owner(problem, span, view, len(places)) for span in opened + also_opened for problem in span.problems],
        _version(view, [*opened, *found], preview, statuses),
        [
            item
            for place in (*places, *(others if state == "ready" or not for_page else ()))
            for item in catalog.span_progress(library, place, listed[place.span.token])
        ],
        statuses,
        preview is not None
        or any(status.state not in ("ready", "failed") for found in statuses.values() for status in found),
        others,
        of_run,
        preview,
    )


def _find_places(library: Library, view: View, params: Mapping[str, str]) -> list[Place]:
    if view.scope == "run":
        return ranks.first_spans(library.run_places(_required_param(params, "run")), params.get("span", ""))
    if view.scope == "span":
        return [library.place(_required_param(params, "span"))]
    first, last = (_required_param(params, name) for name in ("baseline", "experimental"))
    captures = [first, *filter(None, params.get("captures", "").split(",")), last]
    if len(captures) > MOST_CAPTURES:
        raise BadRequest(Message("error.captures", count=len(captures)), Message("hint.captures", most=MOST_CAPTURES))
    return [library.place(one) for one in captures]


def _required_param(params: Mapping[str, str], name: str) -> str:
    value = params.get(name, "")
    if not value:
        raise BadRequest(Message("error.no_parameter", name=name), Message("hint.catalog"))
    return value


def _request_stages(
    library: Library, view: View, params: Mapping[str, str], place: Place, for_page: bool, with_traces: bool
) -> list[StageStatus]:
    """Queue the stages that a view of spans needs of one, and return the statuses of those that it shows."""
    own: tuple[Stage, ...] = FORMATS[place.span.format].stages
    stages: set[Stage] = {"trace"} if for_page and view.needs == TRACE_ONLY else set(own)
    shows_trace = view.with_trace or view.needs == TRACE_ONLY
    if view.examines or (shows_trace and not for_page) or any(params.get(name) for name in view.trace_params):
        stages.update(stages_of(place.span))
    if not with_traces:
        stages.intersection_update(own)
    statuses = library.request(place, sorted(stages, key=STAGES.index))
    if with_traces and "trace" not in stages and _needs_trace(view, place, statuses):
        statuses += library.request(place, ["trace"])
    cancelled = any(library.status(place, stage).state == "cancelled" for stage in stages_of(place.span))
    if for_page and not cancelled:
        library.request(place, STAGES, urgent=False)
    return statuses + _status_of_trace(library, view, place, statuses, with_traces)


def _request_others(
    library: Library,
    view: View,
    places: Sequence[Place],
    statuses: dict[str, list[StageStatus]],
    for_page: bool,
    with_traces: bool,
) -> list[Place]:
    """The other ranks of the runs of `places`. Queues them as `_request_rank` does, for a page only those of small runs, and
    adds their statuses."""
    out = []
    for place in places:
        members = ranks.first_spans(library.run_places(place.run.token), place.span.token)
        is_queued = not for_page or ranks.are_small(members, ["tables"])
        queues_traces = not for_page or (view.examines and ranks.are_small(members, STAGES))
        for one in members:
            if one.span.token in statuses:
                continue
            if is_queued:
                found = _request_rank(library, view, one, queues_traces, with_traces)
            else:
                found = [library.status(one, stage) for stage in FORMATS[one.span.format].stages]
            statuses[one.span.token] = found
            out.append(one)
    return out


def _with_others(library: Library, own: Span, read: Sequence[Span]) -> list[Span]:
    """A span and the other ranks of its run among `read`."""
    members = ranks.first_spans(library.run_places(own.place.run.token), own.token)
    tokens = {place.span.token for place in members} - {own.token}
    return [own, *{one.token: one for one in read if one.token in tokens}.values()]


def _request_rank(
    library: Library, view: View, place: Place, queues_traces: bool, with_traces: bool
) -> list[StageStatus]:
    """Queue the stages that a view of a run needs of one rank, and return the statuses of those that it shows."""
    stages = FORMATS[place.span.format].stages
    statuses = library.request(place, stages, urgent=False)
    is_shown = (view.with_trace and queues_traces) or _needs_trace(view, place, statuses)
    if with_traces and is_shown and "trace" not in stages:
        statuses += library.request(place, ["trace"], urgent=False)
    return statuses + _status_of_trace(library, view, place, statuses, with_traces)


def _status_of_trace(
    library: Library, view: View, place: Place, statuses: Sequence[StageStatus], with_traces: bool
) -> list[StageStatus]:
    """Status of a trace that a view shows if it is read, but does not queue; [] for other views and traces."""
    if not view.with_trace or any(status.stage == "trace" for status in statuses):
        return []
    present = [stage for stage in stages_of(place.span) if stage == "trace"]
    return [library.status(place, stage) if with_traces else StageStatus(stage, "new", "") for stage in present]


def _with_unused(place: Place, statuses: Sequence[StageStatus]) -> list[StageStatus]:
    """The statuses, and those of all other stages of a span as if they were not read."""
    known = {status.stage for status in statuses}
    return [*statuses, *(StageStatus(stage, "new", "") for stage in stages_of(place.span) if stage not in known)]


def _needs_trace(view: View, place: Place, statuses: Sequence[StageStatus]) -> bool:
    """Whether the tables are read, and lack a table that the trace can hold."""
    tables = _tables_entry(statuses)
    of_trace = {"trace", *only_in_trace(FORMATS[place.span.format], tables)}
    lacking = (group for group in (*view.needs, *view.from_trace) if stored_in(tables).keys().isdisjoint(group))
    return tables is not None and any(not of_trace.isdisjoint(group) for group in lacking)


def _tables_entry(statuses: Sequence[StageStatus]) -> Entry | None:
    return next((status.entry for status in statuses if status.stage == "tables"), None)


def _split_by_state(view: View, places: Sequence[Place], statuses: Statuses) -> tuple[list[Place], list[Place]]:
    """Spans that are read, and spans that failed. A view that examines files shows failed spans like read ones. A view that shows
    more with the trace does not need it, unless only the trace holds a table."""
    read: list[Place] = []
    failed: list[Place] = []
    for place in places:
        found = statuses[place.span.token]
        needed = _needed_stages(view, place, found)
        states = {status.state for status in found if status.stage in needed}
        if states <= ({"ready", "failed"} if view.examines else {"ready"}):
            read.append(place)
        elif "failed" in states and not view.examines:
            failed.append(place)
    return read, failed


def _needed_stages(view: View, place: Place, statuses: Sequence[StageStatus]) -> Sequence[Stage]:
    if view.needs == TRACE_ONLY:
        return ("trace",)
    is_optional = view.with_trace and not _needs_trace(view, place, statuses)
    return FORMATS[place.span.format].stages if is_optional else STAGES


def _common_facts(library: Library, places: Sequence[Place], statuses: Statuses) -> SpanFacts:
    """Facts that hold for all of the spans."""
    each = [catalog.span_facts(library, place, statuses[place.span.token]) for place in places]
    if len(each) == 1:
        return each[0]
    tables = frozenset.intersection(*(facts.tables for facts in each))
    unusable = {table: name for facts in each for table, name in facts.unusable.items()}
    return SpanFacts(tables, unusable=unusable, format=each[0].format)


def _meets_needs(view: View, span: Span) -> bool:
    """Whether each group of the view's needs has a member that was read."""
    have = facts_of_span(span).tables
    if any("trace" in group for group in view.needs) and span.timeline is None:
        have -= {"trace"}
    return all(have.intersection(group) for group in view.needs)


def _open_preview(library: Library, view: View, place: Place, statuses: Statuses) -> Span | None:
    """What a view can show before everything is read: the first tables, or the beginning of the trace."""
    if view.early:
        tables = next((status for status in statuses[place.span.token] if status.stage == "tables"), None)
        return library.first_look(place, tables) if tables is not None else None
    if view.needs != TRACE_ONLY:
        return None
    span = library.open(place)
    return span if span.timeline is not None else None


def _version(view: View, ready: Sequence[Span], preview: Span | None, statuses: Statuses) -> str:
    """Names of the cache entries that the view shows. Stages that the view does not use do not change it."""
    version = ".".join(_span_version(view, span, statuses[span.token]) for span in ready)
    if preview is not None:
        version = preview.tables_version if view.early else preview.trace_version
    if view.examines:  # it also lists files that no reader opens
        version = ".".join([version, *(span.place.span.unread_fingerprint for span in ready)])
    return version


def _span_version(view: View, span: Span, statuses: Sequence[StageStatus]) -> str:
    """Names of the entries that the span was opened with: a stage may have been read since."""
    used = {status.stage for status in statuses}
    lacks = only_in_trace(FORMATS[span.format], _tables_entry(statuses))
    if view.with_trace or lacks or span.rows("engine_iterations"):
        used.add("trace")  # it may hold the missing tables, or the steps
    return "-".join([span.token[:8], *(name[:12] for stage, name in span.entries.items() if stage in used)])


def _with_owner(problem: Problem, span: Span, view: View, places: int) -> Problem:
    """The problem with the name of its span, where the view shows several."""
    if places == 1:
        return problem
    owner = span.worker_label if view.scope == "run" else f"{span.run_label} · {span.worker_label}"
    return dataclasses.replace(problem, file=f"{owner}: {problem.file}" if problem.file else owner)
