"""The route /api/timeline/rows: rows of the timelines of several spans in one answer."""

from __future__ import annotations

import numpy as np
from werkzeug.datastructures import MultiDict

from tb_npu_plugin.errors import BadRequest, NotFound, NotReady, Stale
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_api
from tb_npu_plugin.server.timeline_binary import encode
from tb_npu_plugin.server.timeline_params import Params, flag, is_derived, packing_of
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.window import BUDGET, ONE_ROW_FACTOR

#: Maximum number of parts of a request.
MAX_PARTS = 256
_FIELDS = ("span", "version", "t0", "t1")


def rows(service: Service, params: MultiDict[str, str]) -> bytes:
    """The answers of /api/timeline/slices and counter for the parts of a request: see docs/http_api.md."""
    common = {name: params.get(name, "") for name in ("px", "exact", "q")}
    slices = [_part(text, "rows") for text in params.getlist("slices")]
    counters = [_part(text, "track") for text in params.getlist("counter")]
    count = len(slices) + len(counters)
    if not 1 <= count <= MAX_PARTS:
        raise BadRequest(
            Message("error.count", name="slices, counter", count=count), Message("hint.limit", most=MAX_PARTS)
        )
    # An answer with `exact` holds fewer rows instead of wider bins, so it may be larger, as for a single row.
    budget = min(BUDGET, BUDGET * (ONE_ROW_FACTOR if flag(common, "exact") else 1) // max(len(slices), 1))
    states: list[str] = []
    columns = {}
    for number, part in enumerate((*slices, *counters)):
        timeline = _timeline(service, part)
        if isinstance(timeline, Timeline):
            query = {**common, **part}
            try:
                if number < len(slices):
                    content = timeline_api.slices(timeline, query, budget=budget)[0]
                else:
                    content = timeline_api.counter(timeline, query)[0]
            except OSError:  # the files of a preview were removed meanwhile: now its version is stale
                timeline = _timeline(service, part)
                if isinstance(timeline, Timeline):
                    raise
            else:
                assert isinstance(content, bytes)
                columns[str(number)] = ("u32", np.frombuffer(content, "<u4"))
        states.append(timeline if isinstance(timeline, str) else "ready")
    return encode({"parts": states}, columns)


def _part(text: str, last: str) -> dict[str, str]:
    """Parameters of one part: "span:version:t0:t1:rows"."""
    values = text.split(":")
    if len(values) != len(_FIELDS) + 1:
        form = "span:version:t0:t1:rows"
        raise BadRequest(Message("error.part", value=repr(text[:80]), form=form), Message("hint.part"))
    return dict(zip((*_FIELDS, last), values))


def _timeline(service: Service, part: Params) -> Timeline | str:
    """The timeline with the rows of a part, or the state that prevents it."""
    try:
        if is_derived(part):
            return service.derived(part["span"], part["version"]).timeline
        if packing := packing_of(part):
            return service.repacked(part["span"], packing, part["version"]).timeline
        return service.timeline(part["span"], part["version"])
    except Stale:
        return "stale"
    except NotReady:
        return "reading"
    except NotFound:
        return "none"
