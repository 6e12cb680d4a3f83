"""What several ranks do in a window, for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import numpy as np

from tb_npu_plugin.analysis.findings.explain import NOTHING
from tb_npu_plugin.analysis.run.strips import PARTS, Strip, Wait, longest_awaited, part_times
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.ask import Answer, IsGone, Window
from tb_npu_plugin.server.timeline.binary import Scale, encode
from tb_npu_plugin.server.timeline.sources import Sources
from tb_npu_plugin.service.strips import RunStrips
from tb_npu_plugin.tables import IntArray
from tb_npu_plugin.views.explain import explain_json

#: Maximum number of strips and of bins of a request.
MAX_STRIPS, MAX_BINS = 128, 4096
#: Waits that an answer names: at most so many of a strip, each at least this share of the window.
_WAITS, _LEAST_WAIT = 32, 1 / 200


class RankRangeJson(TypedDict):
    """What a rank did in a range."""

    span: str
    """Token of the span."""
    state: Literal["ready", "reading", "none"]
    """ "none": it has no times, or several devices."""
    times: list[int]
    """Time of each of `parts`, ns; empty unless ready."""
    waits_for: Optional[str]
    """Late rank that it waited for longest: "5", or "local 5" for a number inside the group; null if unknown."""
    kernels: Optional[int]
    """Number of computing kernels that overlap the range; null if none is recorded."""
    p50: Optional[int]
    """Median of their durations, ns."""
    p95: Optional[int]
    """95th percentile of their durations, ns."""
    longest: Optional[str]
    """Name of the longest."""


class RankRangesJson(TypedDict):
    """Answer to "ranks"."""

    parts: list[str]
    """Ids of the parts of a step."""
    ranks: list[RankRangeJson]
    """In the order of the sources."""


class Strips(Window, frozen=True, kw_only=True):
    """Time of each of PARTS in each of `bins` equal parts of the window, for each source: see docs/http_api.md."""

    bins: Annotated[int, msgspec.Meta(ge=1, le=MAX_BINS)]

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        edges = edges_of(self.t0, self.t1, self.bins)
        scale = Scale(0, (self.t1 - self.t0) // self.bins + 1, 0)
        header: list[dict[str, Any]] = []
        columns: dict[str, tuple[str, Any]] = {}
        for lane in _lanes(found):
            one: dict[str, Any] = {"span": lane.token, "state": lane.state, "waits": []}
            if lane.strip is not None:
                own = edges + lane.zero
                columns[lane.token] = (
                    "u32",
                    scale.lengths(part_times(lane.strip.times, lane.strip.waiting, own)).ravel(),
                )
                one["waits"] = [
                    [wait.start - lane.zero, wait.end - lane.zero, wait.rank, wait.via]
                    for wait in _waits(lane.strip, own)
                ]
            header.append(one)
        window = {"t0": self.t0, "t1": self.t1, "bins": self.bins, "unit": scale.unit}
        return encode({**window, "parts": PARTS, "strips": header}, columns)


class Ranks(Window, frozen=True, kw_only=True):
    """What the rank of each source did in [t0, t1)."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        answer: RankRangesJson = {"parts": list(PARTS), "ranks": [self._of(lane) for lane in _lanes(found)]}
        return answer

    def _of(self, lane: _Lane) -> RankRangeJson:
        start, end = self.t0 + lane.zero, self.t1 + lane.zero
        one: RankRangeJson = {
            "span": lane.token,
            "state": lane.state,
            "times": [],
            "waits_for": None,
            "kernels": None,
            "p50": None,
            "p95": None,
            "longest": None,
        }
        if lane.strip is not None:
            times = part_times(lane.strip.times, lane.strip.waiting, np.array([start, end], dtype=np.int64))
            one["times"], one["waits_for"] = times[:, 0].tolist(), longest_awaited(lane.strip.waits, start, end)
            figures = lane.run.kernels(lane.token, start, end)
            if figures is not None:
                one["kernels"], one["longest"] = figures.count, figures.longest
                one["p50"], one["p95"] = figures.p50, figures.p95
        return one


class Explain(Window, frozen=True, kw_only=True):
    """What stands out in [t0, t1) of the sources that are read."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        lanes = [lane for lane in _lanes(found) if lane.strip is not None]
        if not lanes:
            return explain_json(NOTHING)
        # Several runs may be shown: the first one is explained.
        run = lanes[0].run
        return explain_json(
            run.explain({one.token: (self.t0 + one.zero, self.t1 + one.zero) for one in lanes if one.run is run})
        )


@dataclass(frozen=True)
class _Lane:
    """A source. zero: added to the times of the question, it gives ns since the epoch by the clock of the span. strip: None unless
    ready."""

    token: str
    zero: int
    run: RunStrips
    strip: Strip | None

    @property
    def state(self) -> Literal["ready", "reading", "none"]:
        """See RankRangeJson."""
        return "reading" if not self.run.has(self.token) else "none" if self.strip is None else "ready"


def _lanes(found: Sources) -> list[_Lane]:
    """The sources with their clocks. Queues them."""
    if len(found.refs) > MAX_STRIPS:
        raise BadRequest(
            Message("error.count", name="sources", count=len(found.refs)), Message("hint.limit", most=MAX_STRIPS)
        )
    runs = found.service.strips([ref.span for ref in found.refs])
    lanes = []
    for ref in found.refs:
        run = runs[ref.span]
        lanes.append(_Lane(ref.span, int(ref.zero or 0), run, run.of(ref.span) if run.has(ref.span) else None))
    return lanes


def edges_of(t0: int, t1: int, bins: int) -> IntArray:
    """The bins + 1 edges: t0 + (t1 - t0) * i / bins, rounded down."""
    return np.array([t0 + (t1 - t0) * at // bins for at in range(bins + 1)], dtype=np.int64)


def _waits(strip: Strip, edges: IntArray) -> list[Wait]:
    """The longest waits that overlap the window."""
    start, end = int(edges[0]), int(edges[-1])
    found: list[Wait] = []
    for wait in strip.waits:  # the longest first
        if wait.end - wait.start < (end - start) * _LEAST_WAIT or len(found) == _WAITS:
            break
        if wait.end > start and wait.start < end:
            found.append(wait)
    return found
