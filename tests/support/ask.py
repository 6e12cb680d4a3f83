"""Questions about timelines without a server: what /api/timeline/<question> answers for opened timelines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Optional

from tb_npu_plugin.errors import NotReady
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.registry import answer, parse
from tb_npu_plugin.store.timeline.layer import Layer
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.trace import decode

#: Rows of a source: all of the first thousand tracks.
EVERY_ROW = [[track, 0, 4095] for track in range(1000)]


class Timelines:
    """A service over timelines by name; None: not read. layers: others than the trace's, by id, of the first one."""

    def __init__(
        self, timelines: Mapping[str, Optional[Timeline]], layers: Optional[Mapping[str, Layer]] = None
    ) -> None:
        self._timelines, self._layers = timelines, layers or {}
        span = SimpleNamespace(table=lambda name: None, source=lambda name: "")
        self.library = SimpleNamespace(place=self._place, open=lambda place: span)

    def layer(self, span: str, layer: str, version: str = "") -> Layer:
        found = self._timelines[span]
        if found is None:
            raise NotReady(Message("error.trace_reading"), Message("hint.progress"))
        return self._layers[layer] if layer in self._layers else Layer(found)

    def read_trace(self, span: str) -> Any:
        return SimpleNamespace(trace_version="1") if self._timelines[span] is not None else None

    def _place(self, span: str) -> Any:
        name = SimpleNamespace(label=span, token=span)
        return SimpleNamespace(run=SimpleNamespace(label="run", token="run"), worker=name)


def ask_service(service: Any, ask: str, sources: Sequence[Mapping[str, Any]], **fields: Any) -> Any:
    """The answer to a question; of a file, its text."""
    found = answer(service, parse(ask, json.dumps({"sources": sources, **fields})))
    return b"".join(found.pieces).decode() if hasattr(found, "pieces") else found


def ask(timeline: Timeline, question: str, layers: Optional[Mapping[str, Layer]] = None, **fields: Any) -> Any:
    """The same for one timeline. Fields of the source are given beside those of the question."""
    names = ("layer", "rows", "counters", "tracks", "zero", "version")
    source = {"span": "s", **{name: fields.pop(name) for name in names if name in fields}}
    return ask_service(Timelines({"s": timeline}, layers), question, [source], **fields)


def bars(timeline: Timeline, rows: Any = EVERY_ROW, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and columns of the bars of rows."""
    return part(ask(timeline, "rows", rows=rows, **fields), "0")


def part(answer: bytes, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and columns of one part of an answer to "rows"."""
    return decode(decode(answer)[1][name].tobytes())
