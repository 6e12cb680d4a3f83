"""All questions. A new one is a class with its fields and `answer`, and a name here."""

from __future__ import annotations

import msgspec

from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.ask import Answer, Ask, IsGone
from tb_npu_plugin.server.timeline.layers import Layer, Steps
from tb_npu_plugin.server.timeline.ranges import Counters, Export, Hits, Members, Search, Stats
from tb_npu_plugin.server.timeline.ranks import Explain, Ranks, Strips
from tb_npu_plugin.server.timeline.rows import Arrows, Rows
from tb_npu_plugin.server.timeline.slices import Chain, Collective, Descent, Find, Flows, Slice
from tb_npu_plugin.server.timeline.sources import Sources
from tb_npu_plugin.service.answers import Service

_ASKS: tuple[type[Ask], ...] = (
    *(Rows, Arrows),
    *(Slice, Flows, Chain, Descent, Collective, Find),
    *(Search, Hits, Stats, Members, Counters, Export),
    *(Strips, Ranks, Explain),
    *(Layer, Steps),
)
_DECODERS = {ask.__name__.lower(): msgspec.json.Decoder(ask) for ask in _ASKS}


def parse(name: str, text: str) -> Ask:
    """The question of this name with its fields in JSON. Raises NotFound, BadRequest."""
    if name not in _DECODERS:
        raise NotFound(Message("error.route"), Message("hint.routes"))
    try:
        return _DECODERS[name].decode(text)
    except msgspec.DecodeError as error:
        raise BadRequest(Message("error.query", reason=str(error)), Message("hint.query")) from error


def answer(service: Service, ask: Ask, is_gone: IsGone = lambda: False) -> Answer:
    """The answer. Raises ClientGone, and NpuPluginError."""
    try:
        return ask.answer(Sources(service, ask.sources), is_gone)
    except OSError:  # the files of a preview were removed meanwhile: now its version is stale
        return ask.answer(Sources(service, ask.sources), is_gone)
