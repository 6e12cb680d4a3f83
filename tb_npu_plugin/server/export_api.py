"""The route /api/timeline/export for several ranks: one Chrome trace with the rows of all of them."""

from __future__ import annotations

from collections.abc import Iterator

from werkzeug.datastructures import MultiDict

from tb_npu_plugin.errors import NotReady, Stale
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server import timeline_params as read
from tb_npu_plugin.server.search_api import asked
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.timeline.export import ChromeTrace, ExportedRank


def export_ranks(service: Service, params: MultiDict[str, str]) -> Iterator[bytes]:
    """[t0, t1) of the common axis, of the ranks of `part` (see `asked`) whose traces are read. The file names the others."""
    t0, t1 = read.window(params)
    parts = asked(service, params)
    if any(part.state == "stale" for part in parts):
        raise Stale(Message("error.stale"), Message("hint.trace_again"))
    places = [service.library.place(part.span) for part in parts]
    has_runs = len({place.run.token for place in places}) > 1
    names = [f"{place.run.label} · {place.worker.label}" if has_runs else place.worker.label for place in places]
    ranks = [ExportedRank(part.placed, name) for part, name in zip(parts, names) if part.placed]
    missing = [f"{name} · not exported: its trace is not read" for part, name in zip(parts, names) if not part.placed]
    if not ranks:
        raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
    return ChromeTrace(ranks, t0, t1, missing=missing).pieces()
