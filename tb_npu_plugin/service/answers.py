"""Builds and caches views, their tables and timelines by the tokens of their spans."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.errors import BadRequest, NotFound, NotReady, NpuPluginError, Stale, check_choice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import raise_if_refused
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.service import ranks
from tb_npu_plugin.service.catalog import job_progress
from tb_npu_plugin.service.layers import LAYERS, TRACE
from tb_npu_plugin.service.resolve import ResolvedRequest, resolve
from tb_npu_plugin.service.strips import RunStrips, StripCache
from tb_npu_plugin.store.cache.memory import OPEN_TIMELINES, LruCache, table_bytes
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import STAGES
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views.availability import missing_data
from tb_npu_plugin.views.base import ProgressJson, ReadState, View, ViewInput, ViewJson, ViewResult, ViewTable
from tb_npu_plugin.views.steps import in_period
from tb_npu_plugin.views.tables_json import inline_tables

logger = package_logger(__name__)

#: Limits of the cache of built views: bytes of their tables, and number of views.
RESULT_BYTES = 1 << 29
RESULT_COUNT = 16
_BUSY = ("waiting", "reading")
#: Number of slices and values of the layers that are kept, about 50 bytes each.
LAYER_SIZE = 1 << 24


class Service:
    """Answers about the spans of a library. Thread-safe; only `wait` waits for readers.

    Args:
        for_page: Read ahead what a page shows next, and leave large traces of a run unread until the user has them read.
        with_traces: Else views use tables alone; see resolve.
    """

    def __init__(self, library: Library, for_page: bool = True, with_traces: bool = True) -> None:
        self.library = library
        self._for_page = for_page
        self._with_traces = with_traces
        self._results: LruCache[tuple[Any, ...], Any] = LruCache(RESULT_BYTES, _result_bytes)
        self._layers: LruCache[tuple[str, str, str], Layer] = LruCache(
            LAYER_SIZE, lambda found: max(found.size, LAYER_SIZE // OPEN_TIMELINES)
        )
        self._strips = StripCache()

    def resolve(self, view_id: str, params: Mapping[str, str]) -> ResolvedRequest:
        """See service.resolve.resolve."""
        return resolve(self.library, view_id, params, self._for_page, self._with_traces)

    def view(self, view_id: str, params: Mapping[str, str], patience: float = 0.0) -> ViewJson:
        """Answer of /api/view. `state` and `problems` say why a view could not be built. patience: how long it may wait for
        the first data of what is being read, in seconds."""
        limit = time.monotonic() + patience
        while True:
            seen = self.library.pool.changes
            found = self.answer(view_id, params)[0]
            left = limit - time.monotonic()
            is_coming = found["data"] is None and any(item["state"] in _BUSY for item in found["progress"])
            if left <= 0 or not is_coming:
                return found
            self.library.pool.wait(seen, left)

    def answer(self, view_id: str, params: Mapping[str, str]) -> tuple[ViewJson, ViewResult | None]:
        """Answer of /api/view, and the built view; None where there is nothing to show yet."""
        return self._answer(self.resolve(view_id, params), view_id, params)

    def _answer(
        self, request: ResolvedRequest, view_id: str, params: Mapping[str, str]
    ) -> tuple[ViewJson, ViewResult | None]:
        state, problems, result = request.state, list(request.problems), None
        if state == "ready" or request.preview is not None:
            try:
                result = self.result(request)
            except NpuPluginError:
                raise
            except Exception as error:  # a defect of one view must not break the others
                raise_if_refused(error)
                logger.exception("building %s failed", request.view.id)
                if request.preview is not None:  # the complete data follow
                    return _view_json(request, state, problems, None), None
                state = "failed"
                problems.append(_defect(request.view, error))
        if request.preview is not None and request.preview.damaged:
            result = None  # a newer preview or the complete data replaced it meanwhile
        if any(span.damaged for span in (*request.ready, *chain.from_iterable(request.ranks))):
            request, result = self._read_again(request, view_id, params), None
            state = request.state if request.state != "ready" else "failed"
        return _view_json(request, state, problems, result), result

    def wait(
        self, view_id: str, params: Mapping[str, str], wait: Callable[[Sequence[ProgressJson]], None]
    ) -> tuple[ViewJson, ViewResult | None]:
        """The answer once nothing that it needs is being read. wait: called with the progress until then; it sleeps. Builds
        the view only once: a view of a run could be built from the ranks that are read so far."""
        while True:
            request = self.resolve(view_id, params)
            if not _is_busy(request.state, request.progress):
                found, result = self._answer(request, view_id, params)
                if not _is_busy(found["state"], found["progress"]):
                    return found, result
            wait(request.progress)
            for progress in _live_progress(request):  # resolving many ranks again takes time from the readers
                wait(progress)

    def _read_again(self, request: ResolvedRequest, view_id: str, params: Mapping[str, str]) -> ResolvedRequest:
        """Drop a cache entry that proved damaged while the view was built, and queue its stage again."""
        self._results.drop(request.key)
        for place in (*request.places, *request.others):
            self.library.open(place)  # drops damaged entries
        return self.resolve(view_id, params)

    def result(self, request: ResolvedRequest) -> ViewResult:
        """The built view, from the cache if possible."""
        spans = [request.preview] if request.preview is not None else request.ready
        peers = () if request.preview is not None else request.ranks

        def build() -> ViewResult:
            found = request.view.build(ViewInput(spans, request.params, peers))
            return replace(found, tables={name: in_period(table, spans) for name, table in found.tables.items()})

        built: ViewResult = self._results.get(request.key, build)
        return built

    def table(self, view_id: str, name: str, params: Mapping[str, str]) -> tuple[ViewTable, int]:
        """A table of a view, and the origin of its times in ns since the epoch.

        Raises:
            NotFound: No such view, span or table, or the span lacks what the view needs.
            NotReady: The span is still being read.
        """
        request = self.resolve(view_id, params)
        if request.state == "reading":
            raise NotReady(Message("error.view_not_ready", view=view_id), Message("hint.view_reason", view=view_id))
        if request.state != "ready":
            raise NotFound(Message("error.view_empty", view=view_id), Message("hint.view_reason", view=view_id))
        build_extra = request.view.extra_tables.get(name)
        if build_extra is not None:
            source = ViewInput(request.ready, request.params)
            base_ns = min(span.base_ns for span in request.ready)
            return self._results.get(
                (*request.key, name), lambda: in_period(build_extra(source), source.spans)
            ), base_ns
        result = self.result(request)
        if name not in result.tables:
            known = ", ".join(sorted({*result.tables, *request.view.extra_tables}))
            raise NotFound(
                Message("error.no_table", view=view_id, table=repr(name[:80])), Message("hint.tables", tables=known)
            )
        return result.tables[name], result.base_ns

    def timeline(self, span: str, version: str = "") -> Timeline:
        """The timeline of a span, or that of the trace's beginning while the trace is read. Queues the trace.

        Args:
            version: Only this version, unless it is empty.

        Raises:
            NotFound: No such span, or its trace cannot be read.
            NotReady: Nothing can be shown yet.
            Stale: There is another version than the one requested.
        """
        place = self.library.place(span)
        statuses = self.library.request(place, ["trace"])
        opened = self.library.open(place, statuses)
        if version and version != opened.trace_version:
            raise Stale(Message("error.stale"), Message("hint.trace_again"))
        found = opened.timeline
        if found is not None:
            return found
        if statuses and statuses[0].state in ("waiting", "reading", "cancelled"):
            raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        raise NotFound(Message("error.unreadable_trace"), Message("hint.trace_reason"))

    def read_trace(self, span: str) -> Span | None:
        """A span whose trace is read; else None. Queues nothing. Raises NotFound if there is no such span."""
        place = self.library.place(span)
        opened = self.library.open(place, [self.library.status(place, "trace")], with_preview=False)
        return opened if opened.timeline is not None else None

    def whole(self, span: str, version: str = "") -> tuple[Timeline, Span]:
        """The timeline of a span whose trace and tables are read. Queues them. Raises as `timeline` does; NotReady also while
        something of the span is read."""
        timeline = self.timeline(span, version)
        place = self.library.place(span)
        statuses = self.library.request(place, FORMATS[place.span.format].stages)
        is_reading = any(status.state in ("waiting", "reading", "new") for status in statuses)
        if timeline.partial is not None or is_reading:
            raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        return timeline, self.library.open(place)

    def layer(self, span: str, layer: str, version: str = "") -> Layer:
        """The rows of a layer (LAYERS) of a trace, made once. Raises BadRequest for another layer, and as `timeline` does; NotReady also
        while something that the layer needs is read."""
        if layer == TRACE:
            return Layer(self.timeline(span, version))
        check_choice("layer", layer, (TRACE, *LAYERS))
        kind = LAYERS[layer]
        if kind.needs_tables:
            timeline, opened = self.whole(span, version)
        else:
            timeline, opened = self.timeline(span, version), self.library.open(self.library.place(span))
            if timeline.partial is not None:
                raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        key = layer, opened.trace_version, opened.tables_version if kind.needs_tables else ""
        return self._layers.get(key, lambda: kind.build(timeline, opened))

    def strips(self, spans: Sequence[str]) -> dict[str, RunStrips]:
        """What the ranks of the run of each of `spans` (tokens) that are read do over time. Queues `spans`. Raises
        NotFound."""
        found: dict[str, RunStrips] = {}
        runs: dict[tuple[str, str], RunStrips] = {}
        for token in spans:
            place = self.library.place(token)
            self.library.request(place, FORMATS[place.span.format].stages)
        for token in spans:
            place = self.library.place(token)
            run = place.run.token, place.worker.role
            if run not in runs:
                places = ranks.first_spans(self.library.run_places(place.run.token), token)
                read = [one for place in places if (one := ranks.open_read(self.library, place)) is not None]
                runs[run] = self._strips.get(read)
            found[token] = runs[run]
        return found

    def control_reading(self, spans: Sequence[str], run: str, stage: str, do: str) -> list[Place]:
        """Cancel or resume the reading of spans, or of all ranks of a run, or queue them ("read"). Raises NotFound,
        BadRequest."""
        check_choice("stage", stage, (*STAGES, "all"))
        check_choice("do", do, ("cancel", "resume", "read"))
        if not spans and not run:
            raise BadRequest(Message("error.no_parameter", name="span"), Message("hint.catalog"))
        places = self.library.run_places(run) if run else [self.library.place(span) for span in spans]
        stages: list[Stage] = [one for one in STAGES if stage in (one, "all")]
        if do == "cancel":
            self.library.cancel(places, stages)
        else:
            self.library.resume(places, stages)
        if do == "read":
            for place in places:
                self.library.request(place, stages, urgent=False)
        return places


def _live_progress(request: ResolvedRequest) -> Iterator[list[ProgressJson]]:
    """The progress of the stages of a request, again and again until none is waiting or being read."""
    statuses = [status for found in request.statuses.values() for status in found]
    jobs = {(status.job.span, status.stage): status.job for status in statuses if status.job is not None}
    others = [item for item in request.progress if (item["span"], item["stage"]) not in jobs]
    while any(job.state in _BUSY for job in jobs.values()):
        yield [*others, *map(job_progress, jobs.values())]


def _is_busy(state: str, progress: Sequence[ProgressJson]) -> bool:
    """Whether something is being read, or was when the request was resolved."""
    return state == "reading" or any(item["state"] in _BUSY for item in progress)


def _view_json(
    request: ResolvedRequest, state: ReadState, problems: Sequence[Problem], result: ViewResult | None
) -> ViewJson:
    data = dict(result.data) if result is not None else None
    if data is not None and request.view.scope == "run":
        shown = {span.token for span in request.ready}
        examines, statuses = request.view.examines, request.statuses
        if not examines:  # then a trace that is not queued says nothing about a rank
            statuses = {
                token: [one for one in found if one.state != "new"] or found for token, found in statuses.items()
            }
        others = [
            place
            for place in request.places
            if place.span.token not in shown or (examines and not request.is_complete(place))
        ]
        data["ranks"] = [*data.get("ranks", []), *ranks.states(others, statuses)]
        if examines:
            unread = {place.span.token for place in others}
            data["ranks"] += ranks.partly_read([span for span in request.ready if span.token not in unread])
    return {
        "view": request.view.id,
        "state": state,
        "preliminary": request.is_preliminary,
        "fingerprint": request.version,
        "base_ns": str(result.base_ns if result else 0),
        "data": data,
        "tables": inline_tables(request.view.id, result) if result is not None else {},
        "problems": [problem.as_json() for problem in problems],  # type: ignore[misc]
        "missing": missing_data(request.facts, request.view.id),
        "progress": request.progress,
    }


def _result_bytes(built: ViewResult | ViewTable) -> int:
    """Size of a built view in the cache: its tables, and at least the share that holds RESULT_COUNT views."""
    tables = built.tables.values() if isinstance(built, ViewResult) else (built,)
    return max(sum(table_bytes(source.table) for source in tables), RESULT_BYTES // RESULT_COUNT)


def _defect(view: View, error: Exception) -> Problem:
    """The problem of a view that could not be built. The text of an OSError holds a path, which must not leak."""
    text = error.strerror if isinstance(error, OSError) else error
    found = f"{type(error).__name__}: {text}"[:200]
    return problem_of("view_defect", found=found)
