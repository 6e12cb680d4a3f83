"""The route /api/timeline/strips: what several ranks do in a window, for all strips in sight at once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.run.strips import PARTS, part_times
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.timeline_binary import Scale, encode
from tb_npu_plugin.server.timeline_params import Params
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.strips import Strip
from tb_npu_plugin.tables import IntArray

#: Maximum number of strips and of bins of a request.
MAX_STRIPS, MAX_BINS = 64, 4096
#: Waits that an answer names: at most so many of a strip, each at least this share of the window.
_WAITS, _LEAST_WAIT = 16, 1 / 50
_EPOCH = re.compile(r"\d{1,19}")


def strips(service: Service, params: Params) -> bytes:
    """Time of each of PARTS in each bin, for each span: see docs/http_api.md."""
    t0, t1 = read.window(params)
    bins = read.integer(params, "bins")
    tokens = [one for one in params.get("spans", "").split(",") if one]
    for name, count, most in (("bins", bins, MAX_BINS), ("spans", len(tokens), MAX_STRIPS)):
        if not 1 <= count <= most:
            raise BadRequest(Message("error.count", name=name, count=count), Message("hint.limit", most=most))
    bases = [_epoch(text) for text in _list(params, "bases", len(tokens))]
    shifts = [read.integer({"shifts": text}, "shifts") for text in _list(params, "shifts", len(tokens))]
    runs = service.strips(tokens)
    edges = edges_of(t0, t1, bins)
    scale = Scale(0, (t1 - t0) // bins + 1, 0)
    header: list[dict[str, Any]] = []
    columns: dict[str, tuple[str, Any]] = {}
    for token, base, shift in zip(tokens, bases, shifts):
        run = runs[token]
        strip = run.of(token) if run.has(token) else None
        state = "reading" if not run.has(token) else "none" if strip is None else "ready"
        one: dict[str, Any] = {"span": token, "state": state, "waits": []}
        if strip is not None:
            own = edges - shift + base
            columns[token] = ("u32", scale.lengths(part_times(strip.times, strip.waiting, own)).ravel())
            one["waits"] = [[a + shift - base, b + shift - base, rank] for a, b, rank in _waits(strip, own)]
        header.append(one)
    window = {"t0": t0, "t1": t1, "bins": bins, "unit": scale.unit}
    return encode({**window, "parts": PARTS, "strips": header}, columns)


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
