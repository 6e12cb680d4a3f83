"""The routes /api/timeline/strips and ranks: what several ranks do in a window, for all of them at once."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, Optional, TypedDict

import numpy as np

from tb_npu_plugin.analysis.run.strips import PARTS, part_times
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.timeline_binary import Scale, encode
from tb_npu_plugin.server.timeline_params import Params
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.strips import RunStrips, Strip
from tb_npu_plugin.tables import IntArray

#: Maximum number of strips and of bins of a request.
MAX_STRIPS, MAX_BINS = 64, 4096
#: Waits that an answer names: at most so many of a strip, each at least this share of the window.
_WAITS, _LEAST_WAIT = 16, 1 / 50
_EPOCH = re.compile(r"\d{1,19}")


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
    """Answer of /api/timeline/ranks."""

    parts: list[str]
    """Ids of the parts of a step."""
    ranks: list[RankRangeJson]
    """In the order of `spans`."""


@dataclass(frozen=True)
class _Lane:
    """A span of a request. origin: added to the times of the request, it gives ns since the epoch by the clock of the span."""

    token: str
    origin: int
    run: RunStrips

    @property
    def strip(self) -> Strip | None:
        return self.run.of(self.token) if self.run.has(self.token) else None

    def state(self, strip: Strip | None) -> Literal["ready", "reading", "none"]:
        return "reading" if not self.run.has(self.token) else "none" if strip is None else "ready"


def strips(service: Service, params: Params) -> bytes:
    """Time of each of PARTS in each bin, for each span: see docs/http_api.md."""
    t0, t1 = read.window(params)
    bins = read.integer(params, "bins")
    _check_count("bins", bins, MAX_BINS)
    edges = edges_of(t0, t1, bins)
    scale = Scale(0, (t1 - t0) // bins + 1, 0)
    header: list[dict[str, Any]] = []
    columns: dict[str, tuple[str, Any]] = {}
    for lane in _lanes(service, params):
        strip = lane.strip
        one: dict[str, Any] = {"span": lane.token, "state": lane.state(strip), "waits": []}
        if strip is not None:
            own = edges + lane.origin
            columns[lane.token] = ("u32", scale.lengths(part_times(strip.times, strip.waiting, own)).ravel())
            one["waits"] = [[a - lane.origin, b - lane.origin, rank] for a, b, rank in _waits(strip, own)]
        header.append(one)
    window = {"t0": t0, "t1": t1, "bins": bins, "unit": scale.unit}
    return encode({**window, "parts": PARTS, "strips": header}, columns)


def rank_ranges(service: Service, params: Params) -> RankRangesJson:
    """What several ranks did in [t0, t1)."""
    t0, t1 = read.window(params)
    found: list[RankRangeJson] = []
    for lane in _lanes(service, params):
        strip, start, end = lane.strip, t0 + lane.origin, t1 + lane.origin
        one: RankRangeJson = {
            "span": lane.token,
            "state": lane.state(strip),
            "times": [],
            "waits_for": None,
            "kernels": None,
            "p50": None,
            "p95": None,
            "longest": None,
        }
        if strip is not None:
            times = part_times(strip.times, strip.waiting, np.array([start, end], dtype=np.int64))
            one["times"], one["waits_for"] = times[:, 0].tolist(), _waited_for(strip, start, end)
            figures = lane.run.kernels(lane.token, start, end)
            if figures is not None:
                one["kernels"], one["longest"] = figures.count, figures.longest
                one["p50"], one["p95"] = figures.p50, figures.p95
        found.append(one)
    return {"parts": list(PARTS), "ranks": found}


def _lanes(service: Service, params: Params) -> list[_Lane]:
    """The spans of a request with their clocks."""
    tokens = [one for one in params.get("spans", "").split(",") if one]
    _check_count("spans", len(tokens), MAX_STRIPS)
    bases = [_epoch(text) for text in _list(params, "bases", len(tokens))]
    shifts = [read.integer({"shifts": text}, "shifts") for text in _list(params, "shifts", len(tokens))]
    runs = service.strips(tokens)
    return [_Lane(token, base - shift, runs[token]) for token, base, shift in zip(tokens, bases, shifts)]


def _check_count(name: str, count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise BadRequest(Message("error.count", name=name, count=count), Message("hint.limit", most=most))


def _waited_for(strip: Strip, start: int, end: int) -> str | None:
    """The rank that the strip waits for longest in [start, end), ns since the epoch."""
    times: Counter[str | None] = Counter()
    for wait in strip.waits:
        times[wait.rank] += max(0, min(wait.end, end) - max(wait.start, start))
    ((rank, time),) = times.most_common(1) or [(None, 0)]
    return rank if time else None


def edges_of(t0: int, t1: int, bins: int) -> IntArray:
    """The bins + 1 edges: t0 + (t1 - t0) * i / bins, rounded down."""
    return np.array([t0 + (t1 - t0) * at // bins for at in range(bins + 1)], dtype=np.int64)


def _waits(strip: Strip, edges: IntArray) -> list[tuple[int, int, str | None]]:
    """(start, end, late rank) of the longest waits that overlap the window, ns since the epoch."""
    start, end = int(edges[0]), int(edges[-1])
    found: list[tuple[int, int, str | None]] = []
    for wait in strip.waits:  # the longest first
        if wait.end - wait.start < (end - start) * _LEAST_WAIT or len(found) == _WAITS:
            break
        if wait.end > start and wait.start < end:
            found.append((wait.start, wait.end, wait.rank))
    return found


def _epoch(text: str) -> int:
    if not _EPOCH.fullmatch(text) or int(text) >= 1 << 62:
        raise BadRequest(Message("error.no_integer", name="bases", value=repr(text[:80])), Message("hint.time_digits"))
    return int(text)


def _list(params: Params, name: str, count: int) -> list[str]:
    """The items of a comma list, one for each span."""
    texts = params.get(name, "").split(",")
    if len(texts) != count:
        raise BadRequest(Message("error.count", name=name, count=len(texts)), Message("hint.shifts", count=count))
    return texts
