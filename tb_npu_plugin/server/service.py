"""A view asked for by ids: finds its spans, has them read, builds it, keeps what was built. For server and CLI."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.errors import BadRequest, NotFound, NotReady, NpuPluginError, Stale, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS, Format
from tb_npu_plugin.server import catalog, ranks
from tb_npu_plugin.store.cache.memory import Kept, table_bytes
from tb_npu_plugin.store.library import Library, Stand
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import STAGES, stages_of
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views.availability import SpanFacts, facts_of_span, is_available, missing
from tb_npu_plugin.views.base import MissingJson, ProgressJson, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.contract import ViewJson
from tb_npu_plugin.views.registry import find_view, view_params
from tb_npu_plugin.views.tables_json import inline_tables

logger = logging.getLogger(__name__)

#: Bytes of the tables of built views that are kept, and how many views at most.
RESULT_BYTES = 1 << 29
KEPT_RESULTS = 16
TRACE_ALONE = (("trace",),)


@dataclass(frozen=True)
class Asked:
    """A view, its parameters, and its spans as far as they are read. `state` is that of ViewJson; stands: how far the
    stages of each span were, by its token."""

    view: View
    params: dict[str, str]
    places: Sequence[Place]
    ready: Sequence[Span]
    state: str
    facts: SpanFacts
    problems: Sequence[Problem]
    fingerprint: str
    progress: list[ProgressJson]
    stands: Mapping[str, Sequence[Stand]]
    preview: Span | None = None  # what is shown while the rest is read

    @property
    def key(self) -> tuple[Any, ...]:
        """What a built result depends on."""
        return (self.view.id, tuple(sorted(self.params.items())), self.fingerprint)


class Service:
    """Views and their tables over a library. Thread-safe. `ahead`: read the rest of a span too once one of its views
    was asked for, since the next ones will be."""

    def __init__(self, library: Library, ahead: bool = True) -> None:
        self.library = library
        self._ahead = ahead
        self._built: Kept[tuple[Any, ...], Any] = Kept(RESULT_BYTES, _result_bytes)

    def ask(self, view_id: str, params: Mapping[str, str]) -> Asked:
        """Find the view's spans and have them read. Raises NotFound, BadRequest."""
        view = find_view(view_id)
        places = self._places(view, params)
        stands = {place.span.token: self._want(view, place) for place in places}
        ends = ("ready", "failed") if view.examines else ("ready",)
        done = [place for place in places if all(stand.state in ends for stand in stands[place.span.token])]
        failed = [
            place
            for place in places
            if not view.examines and any(stand.state == "failed" for stand in stands[place.span.token])
        ]
        ready = [self.library.open(place, stands[place.span.token]) for place in done]
        usable = [span for span in ready if _satisfied(view, span)]
        others = ready + [self.library.open(place, stands[place.span.token]) for place in failed]
        problems = [_told(problem, span, view, len(places)) for span in others for problem in span.problems]
        facts = self._facts(places)
        if view.scope == "run" and usable:
            state, ready = "ready", usable
        elif failed:
            state = "failed"
        elif len(done) < len(places):
            state = "reading"
        elif len(usable) == len(places):
            state = "ready"
        else:
            state = "missing" if not is_available(view, facts) else "failed"
        preview = self._preview(view, places, stands) if state == "reading" else None
        read = ".".join(self._read(view, span.place, stands[span.token]) for span in ready)
        if preview is not None:
            read = preview.tables_version if view.early else preview.trace_version
        if view.examines:  # it shows files that nothing reads, too
            read = ".".join([read, *(span.place.span.beside for span in ready)])
        progress = [
            item for place in places for item in catalog.span_progress(self.library, place, stands[place.span.token])
        ]
        return Asked(
            view, view_params(view, params), places, ready, state, facts, problems, read, progress, stands, preview
        )

    def view(self, view_id: str, params: Mapping[str, str]) -> ViewJson:
        """Answer of /api/view. A view that cannot be built says so in `state` and `problems`."""
        return self.answer(view_id, params)[0]

    def answer(self, view_id: str, params: Mapping[str, str]) -> tuple[ViewJson, ViewResult | None]:
        """Answer of /api/view, and what it was made of where it is ready."""
        asked = self.ask(view_id, params)
        state, problems, result = asked.state, list(asked.problems), None
        if state == "ready" or asked.preview is not None:
            try:
                result = self.result(asked)
            except NpuPluginError:
                raise
            except Exception as error:  # a defect of one view must not take the others with it
                logger.exception("building %s failed", asked.view.id)
                if asked.preview is not None:
                    return self._view_json(asked, state, problems, None), None  # another one follows
                state = "failed"
                problems.append(_defect(asked.view, error))
        if asked.preview is not None and asked.preview.damaged:
            result = None  # it went while the view was built: there is something better
        if any(span.damaged for span in asked.ready):
            asked, result = self._again(asked, view_id, params), None
            state = asked.state if asked.state != "ready" else "failed"
        return self._view_json(asked, state, problems, result), result

    def _again(self, asked: Asked, view_id: str, params: Mapping[str, str]) -> Asked:
        """A cache entry turned out to be damaged while the view was built: drop it and have it read once more."""
        self._built.drop(asked.key)
        for place in asked.places:
            self.library.open(place)  # drops what is damaged
        return self.ask(view_id, params)

    def result(self, asked: Asked) -> ViewResult:
        """The built view, from what is kept if it is there."""
        spans = [asked.preview] if asked.preview is not None else asked.ready
        made: ViewResult = self._built.get(asked.key, lambda: asked.view.build(ViewInput(spans, asked.params)))
        return made

    def table(self, view_id: str, name: str, params: Mapping[str, str]) -> tuple[ViewTable, int]:
        """A table of a view and the origin of its times. Raises NotFound, BadRequest, NotReady."""
        asked = self.ask(view_id, params)
        if asked.state == "reading":
            raise NotReady(Message("error.view_not_ready", view=view_id), Message("hint.view_reason", view=view_id))
        if asked.state != "ready":
            raise NotFound(Message("error.view_empty", view=view_id), Message("hint.view_reason", view=view_id))
        if name in asked.view.extra_tables:
            source = ViewInput(asked.ready, asked.params)
            made = self._built.get((*asked.key, name), lambda: asked.view.extra_tables[name](source))
            return made, asked.ready[0].base_ns
        result = self.result(asked)
        if name not in result.tables:
            known = ", ".join(sorted({*result.tables, *asked.view.extra_tables}))
            raise NotFound(
                Message("error.no_table", view=view_id, table=repr(name[:80])), Message("hint.tables", tables=known)
            )
        return result.tables[name], result.base_ns

    def timeline(self, span: str, version: str = "") -> Timeline:
        """The timeline of a span, which is read if it is not; where a version is given, none but that one. While it is
        read, that of its beginning. Raises NotFound, Stale, NotReady."""
        place = self.library.place(span)
        stands = self.library.want(place, ["trace"])
        opened = self.library.open(place, stands)
        found = opened.timeline
        if version and version != opened.trace_version:
            raise Stale(Message("error.stale"), Message("hint.trace_again"))
        if found is not None:
            return found
        if stands and stands[0].state in ("waiting", "reading", "cancelled"):
            raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        raise NotFound(Message("error.unreadable_trace"), Message("hint.trace_reason"))

    def reading(self, spans: Sequence[str], run: str, stage: str, do: str) -> list[Place]:
        """Cancel or resume the reading of spans, or of all ranks of a run. Raises NotFound, BadRequest."""
        check_choice("stage", stage, (*STAGES, "all"))
        check_choice("do", do, ("cancel", "resume"))
        if not spans and not run:
            raise BadRequest(Message("error.no_parameter", name="span"), Message("hint.catalog"))
        places = self.library.run_places(run) if run else [self.library.place(span) for span in spans]
        act = self.library.cancel if do == "cancel" else self.library.resume
        act(places, [one for one in STAGES if stage in (one, "all")])
        return places

    def _places(self, view: View, params: Mapping[str, str]) -> list[Place]:
        if view.scope == "run":
            return ranks.first_spans(self.library.run_places(_required(params, "run")), params.get("span", ""))
        names = ("baseline", "experimental") if view.scope == "diff" else ("span",)
        return [self.library.place(_required(params, name)) for name in names]

    def _want(self, view: View, place: Place) -> list[Stand]:
        """Have read what the view needs of a span; and then, without hurry, the rest of what is looked at."""
        urgent = view.scope != "run"
        format = FORMATS[place.span.format]
        stages: set[Stage] = {"trace"} if view.needs == TRACE_ALONE else set(format.stages)
        if view.examines:
            stages = set(stages_of(place.span))
        stands = self.library.want(place, sorted(stages, key=STAGES.index), urgent)
        tables = next((stand.entry for stand in stands if stand.stage == "tables"), None)
        groups = (*view.needs, *((table,) for table in view.from_trace))
        if tables is not None and any(self._in_trace(group, tables.meta["rows"], format) for group in groups):
            stands += self.library.want(place, ["trace"], urgent)
        if urgent and self._ahead and not self._is_cancelled(place):
            self.library.want(place, STAGES, urgent=False)
        return stands

    def _is_cancelled(self, place: Place) -> bool:
        """The user does not want the rest of it read."""
        return any(self.library.stand(place, stage).state == "cancelled" for stage in stages_of(place.span))

    def _preview(self, view: View, places: Sequence[Place], stands: Mapping[str, Sequence[Stand]]) -> Span | None:
        """What a view can show before everything is read: of the trace alone its beginning, of others the first look."""
        if view.early:
            tables = next((stand for stand in stands[places[0].span.token] if stand.stage == "tables"), None)
            return self.library.first_look(places[0], tables) if tables is not None else None
        if view.needs != TRACE_ALONE:
            return None
        span = self.library.open(places[0])
        return span if span.timeline is not None else None

    @staticmethod
    def _in_trace(group: Sequence[str], read: Mapping[str, int], format: Format) -> bool:
        """No table of the group was there to be read, but the trace is one or may have one."""
        return not any(table in read for table in group) and bool({"trace", *format.from_trace}.intersection(group))

    def _read(self, view: View, place: Place, stands: Sequence[Stand]) -> str:
        """Which readings a view of a span shows. Their names change with the files; not with stages that the view
        does not use, so that it need not be drawn again when those are done."""
        used = {stand.stage: stand.entry for stand in stands}
        tables = used.get("tables")
        missing = FORMATS[place.span.format].from_trace.difference(tables.meta["rows"] if tables is not None else ())
        if tables is not None and (missing or view.with_trace) and "trace" in stages_of(place.span):
            used["trace"] = self.library.stand(place, "trace").entry  # they may come from there
        return "-".join([place.span.token[:8], *(entry.folder.name[:12] for entry in used.values() if entry)])

    def _facts(self, places: Sequence[Place]) -> SpanFacts:
        """What all the spans have."""
        each = [catalog.span_facts(self.library, place) for place in places]
        if len(each) == 1:
            return each[0]
        tables = frozenset.intersection(*(facts.tables for facts in each))
        lost = {table: name for facts in each for table, name in facts.unusable.items()}
        return SpanFacts(tables, unusable=lost, format=each[0].format)

    def _view_json(self, asked: Asked, state: str, problems: Sequence[Problem], result: ViewResult | None) -> ViewJson:
        lacking: list[MissingJson] = missing(asked.facts, asked.view.id)
        data = dict(result.data) if result is not None else None
        if data is not None and asked.view.scope == "run":
            there = {span.token for span in asked.ready}
            others = [place for place in asked.places if place.span.token not in there]
            data["ranks"] = [*data.get("ranks", []), *ranks.states(others, asked.stands)]
        return {
            "view": asked.view.id,
            "state": state,  # type: ignore[typeddict-item]
            "fingerprint": asked.fingerprint,
            "base_ns": str(result.base_ns if result else 0),
            "data": data,
            "tables": inline_tables(asked.view.id, result) if result is not None else {},
            "problems": [problem.as_json() for problem in problems],  # type: ignore[misc]
            "missing": lacking,
            "progress": asked.progress,
        }


def _result_bytes(made: ViewResult | ViewTable) -> int:
    """About what a built view takes; a part of the limit that lets through as many views as may be kept."""
    tables = made.tables.values() if isinstance(made, ViewResult) else (made,)
    return max(sum(table_bytes(source.table) for source in tables), RESULT_BYTES // KEPT_RESULTS)


def _satisfied(view: View, span: Span) -> bool:
    """Every group of needs has a member that was really read."""
    have = facts_of_span(span).tables
    if any("trace" in group for group in view.needs) and span.timeline is None:
        have -= {"trace"}
    return all(have.intersection(group) for group in view.needs)


def _told(problem: Problem, span: Span, view: View, places: int) -> Problem:
    """The problem as a view tells it: one of several spans says whose file it is."""
    if places == 1:
        return problem
    whose = span.worker_label if view.scope == "run" else f"{span.run_label} · {span.worker_label}"
    return dataclasses.replace(problem, file=f"{whose}: {problem.file}" if problem.file else whose)


def _required(params: Mapping[str, str], name: str) -> str:
    value = params.get(name, "")
    if not value:
        raise BadRequest(Message("error.no_parameter", name=name), Message("hint.catalog"))
    return value


def _defect(view: View, error: Exception) -> Problem:
    # The text of an OSError has the path, which is nobody's business.
    text = error.strerror if isinstance(error, OSError) else error
    found = f"{type(error).__name__}: {text}"[:200]
    return Problem(
        "view_defect",
        "",
        "",
        Message("expected.view_data"),
        found,
        Message("lost.view"),
        Message("action.report_log"),
    )
