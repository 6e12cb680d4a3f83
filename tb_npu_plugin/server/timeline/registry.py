"""All questions. A new one is a class with its fields and `answer`, and a name here."""

from __future__ import annotations

from typing import Union

import msgspec

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.ask import Answer, Ask, IsGone
from tb_npu_plugin.server.timeline.layers import Layer, Steps
from tb_npu_plugin.server.timeline.ranges import Counters, Export, Hits, Members, Search, Stats
from tb_npu_plugin.server.timeline.ranks import Ranks, Strips
from tb_npu_plugin.server.timeline.rows import Arrows, Rows
from tb_npu_plugin.server.timeline.slices import Chain, Collective, Descent, Find, Flows, Slice
from tb_npu_plugin.server.timeline.sources import Sources
from tb_npu_plugin.service.answers import Service

_ASKS = msgspec.json.Decoder(
    Union[
        Union[Rows, Arrows],
        Union[Slice, Flows, Chain, Descent, Collective, Find],
        Union[Search, Hits, Stats, Members, Counters, Export],
        Union[Strips, Ranks],
        Union[Layer, Steps],
    ]
)


def parse(text: str) -> Ask:
    """The question in JSON. Raises BadRequest."""
    try:
        found: Ask = _ASKS.decode(text)
    except msgspec.DecodeError as error:
        raise BadRequest(Message("error.ask", reason=str(error)), Message("hint.ask")) from error
    return found


def answer(service: Service, ask: Ask, is_gone: IsGone = lambda: False) -> Answer:
    """The answer. Raises ClientGone, and NpuPluginError."""
    try:
        return ask.answer(Sources(service, ask.sources), is_gone)
    except OSError:  # the files of a preview were removed meanwhile: now its version is stale
        return ask.answer(Sources(service, ask.sources), is_gone)
