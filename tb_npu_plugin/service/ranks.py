"""The ranks of a run: the span that represents each, and its reading status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Optional, TypedDict

from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.step_trace import StepTimes
from tb_npu_plugin.discovery.model import FoundWorker, Place
from tb_npu_plugin.messages import Message, messages_of
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.service.choice import fullest_worker
from tb_npu_plugin.store.library import Library, StageState, StageStatus
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import files_of
from tb_npu_plugin.views.distributed import RankStateJson
from tb_npu_plugin.views.step_trace import mean_course
from tb_npu_plugin.views.steps import MOST_STEPS, StepJson, step_json


class RankStepJson(TypedDict):
    """Step times of one rank of a run."""

    span: str
    """Token of the span."""
    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job; null where no file has it."""
    pipeline_stage: Optional[int]
    """From 1; null where not recorded, or while the rank is not read."""
    state: Literal["ready", "reading", "failed", "missing"]
    """ "missing": neither read nor requested."""
    steps: list[StepJson]
    """Its steps, at most the first MOST_STEPS."""
    course: Optional[StepTimes]
    """The mean step, where the files hold step points instead of step times."""


class RanksJson(TypedDict):
    """Answer of /api/ranks."""

    ranks: list[RankStepJson]
    """One for each worker of the run."""


#: Code of the reason of ranks that are shown without their trace.
TRACE_UNREAD = "reason.trace_unread"
RankState = Literal["ready", "reading", "failed", "missing"]
#: Runs with more ranks, or more bytes in these stages, are read only when a view of theirs is requested; their traces when
#: the user has them read.
READ_RANKS = 64
READ_BYTES = 1 << 30


def first_spans(places: Sequence[Place], span: str = "") -> list[Place]:
    """One span per worker of one role: those recorded together with `span`, else the first ones. Workers without such a span are
    omitted. The role is that of `span`, else the first: ranks are numbered in each role."""
    if not places:
        return []
    chosen = next((place for place in places if place.span.token == span), places[0])
    peers = [place for place in places if place.worker.role == chosen.worker.role]
    fullest = fullest_worker(place.worker for place in peers)
    number = _number(chosen, fullest) if chosen.span.token == span else 0
    own = {chosen.worker.token: chosen} if chosen.span.token == span else {}
    for place in peers:
        if place.worker.token not in own and _number(place, fullest) == number:
            own[place.worker.token] = place
    return [place for place in peers if own.get(place.worker.token) is place]


def _number(place: Place, fullest: FoundWorker) -> int:
    """Which recording of the run a span belongs to. Clocks of hosts may differ, so times count only where spans are missing."""
    spans, time = place.worker.spans, place.span.identity.time
    times = [one.identity.time for one in fullest.spans if one.identity.time is not None]
    if time is not None and len(spans) < len(times) == len(fullest.spans):
        apart = [abs(one - time) for one in times]
        return apart.index(min(apart))
    return spans.index(place.span)


def steps(library: Library, run: str) -> list[RankStepJson]:
    """Steps of the ranks of a run that are read. Queues the others at low priority if the run is small enough. Raises
    NotFound."""
    places = first_spans(library.run_places(run))
    if are_small(places, ["tables"]):
        for place in places:
            library.request(place, FORMATS[place.span.format].stages, urgent=False)
    out: list[RankStepJson] = []
    for place in places:
        statuses = _statuses(library, place)
        state = _first_unread(statuses).state
        span = library.open(place, statuses) if state == "ready" else None
        found = [step_json(step, {}) for step in steps_and_source(span)[0][:MOST_STEPS]] if span is not None else []
        out.append(
            {
                "span": place.span.token,
                "worker": place.worker.label,
                "rank": place.worker.rank,
                "pipeline_stage": pipeline_stage(span.capture) if span is not None else None,
                "state": "missing" if state == "new" else _rank_state(state),
                "steps": found,
                "course": mean_course(span)[0] if span is not None and not found else None,
            }
        )
    return out


def open_read(library: Library, place: Place) -> Span | None:
    """A rank whose tables are read; else None."""
    statuses = _statuses(library, place)
    is_read = all(status.state == "ready" for status in statuses)
    return library.open(place, statuses, with_preview=False) if is_read else None


def are_small(places: Sequence[Place], stages: Iterable[Stage]) -> bool:
    """Whether these stages of all ranks may be read before the user asks for them."""
    size = sum(file.size for place in places for stage in stages for file in files_of(place.span, stage))
    return len(places) <= READ_RANKS and size <= READ_BYTES


def states(places: Sequence[Place], statuses: Mapping[str, Sequence[StageStatus]]) -> list[RankStateJson]:
    """Ranks that a view of the run omits, or shows without their trace, and why. statuses: those at the time of the
    request; a rank read since then is still reported as "reading", so that the page requests it again."""
    out: list[RankStateJson] = []
    for place in places:
        status = _first_unread(statuses[place.span.token])
        is_left = status.state == "new" and status.stage not in FORMATS[place.span.format].stages
        reason = Message("reason.trace_unread") if is_left else _reason(status)
        state = "missing" if is_left or status.state == "ready" else _rank_state(status.state)
        out.append(_state_json(place, state, reason))
    return out


def partly_read(spans: Sequence[Span]) -> list[RankStateJson]:
    """Ranks that a view of the run shows without all of their data, and the files that could not be read completely."""
    lost = [(span, {one.file: None for one in span.problems if one.severity == "error"}) for span in spans]
    return [
        _state_json(span.place, "ready", Message("reason.partly_read", files=", ".join(files)))
        for span, files in lost
        if files
    ]


def _state_json(place: Place, state: RankState, reason: str) -> RankStateJson:
    return {
        "span": place.span.token,
        "worker": place.worker.label,
        "rank": place.worker.rank,
        "pipeline_stage": None,
        "state": state,
        "reason": reason,
        "texts": messages_of({"reason": reason}),
    }


def _statuses(library: Library, place: Place) -> list[StageStatus]:
    """Statuses of the stages that supply the tables of a rank."""
    return [library.status(place, stage) for stage in FORMATS[place.span.format].stages]


def _first_unread(statuses: Sequence[StageStatus]) -> StageStatus:
    """Status of the first stage that is not read, else of the last."""
    return next((status for status in statuses if status.state != "ready"), statuses[-1])


def _rank_state(state: StageState) -> RankState:
    if state == "new" or state == "waiting":
        return "reading"
    return "missing" if state == "cancelled" else state


def _reason(status: StageStatus) -> str:
    if status.state == "cancelled":
        return Message("reason.cancelled")
    if status.job is not None:
        return status.job.message
    return Message("reason.no_tables") if status.state == "ready" else ""
