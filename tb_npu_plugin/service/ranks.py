"""The ranks of a run: the span that represents each, and its reading status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tb_npu_plugin.discovery.model import FoundWorker, Place
from tb_npu_plugin.messages import Message, messages_of
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.service.choice import fullest_worker
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import StageState, files_of
from tb_npu_plugin.views.base import ReadState
from tb_npu_plugin.views.distributed import RankStateJson

#: Code of the reason of ranks that are shown without their trace.
TRACE_UNREAD = "reason.trace_unread"
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


def open_read(library: Library, place: Place) -> Span | None:
    """A rank whose tables are read; else None."""
    statuses = [library.status(place, stage) for stage in FORMATS[place.span.format].stages]
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


def _state_json(place: Place, state: ReadState, reason: str) -> RankStateJson:
    return {
        "span": place.span.token,
        "worker": place.worker.label,
        "rank": place.worker.rank,
        "pipeline_stage": None,
        "state": state,
        "reason": reason,
        "texts": messages_of({"reason": reason}),
    }


def _first_unread(statuses: Sequence[StageStatus]) -> StageStatus:
    """Status of the first stage that is not read, else of the last."""
    return next((status for status in statuses if status.state != "ready"), statuses[-1])


def _rank_state(state: StageState) -> ReadState:
    if state == "new" or state == "waiting":
        return "reading"
    return "missing" if state == "cancelled" else state


def _reason(status: StageStatus) -> str:
    if status.state == "cancelled":
        return Message("reason.cancelled")
    if status.job is not None:
        return status.job.message
    return Message("reason.no_tables") if status.state == "ready" else ""
