"""Which ranks of a large run to show first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.model import SpanData

#: Most ranks to show, and those of them that wait for one straggler.
_MOST, _MOST_WAITING = 64, 3


def representatives_of(
    spans: Sequence[SpanData], ledgers: Sequence[RankLedger], stragglers: Sequence[str]
) -> list[str]:
    """Tokens of the stragglers, of the ranks that wait longest for each, of the first rank of each pipeline stage, then of each
    host; in the order of `spans`."""
    chosen: dict[str, None] = dict.fromkeys(stragglers)
    for token in (*_waiting(spans, ledgers, stragglers), *_firsts(spans)):
        if len(chosen) < _MOST:
            chosen[token] = None
    return [span.token for span in spans if span.token in chosen]


def _waiting(spans: Sequence[SpanData], ledgers: Sequence[RankLedger], stragglers: Sequence[str]) -> Iterator[str]:
    """Tokens of the ranks that wait longest for each straggler."""
    ranks = {span.token: span.capture.rank for span in spans}
    for token in stragglers:
        times = [(one.ends_at(ranks.get(token)), one.span.token) for one in ledgers if one.span.token != token]
        longest = sorted(times, key=lambda one: -one[0])[:_MOST_WAITING]
        yield from (waiting for time, waiting in longest if time > 0)


def _firsts(spans: Sequence[SpanData]) -> list[str]:
    """Tokens of the first rank of each pipeline stage, then of each host."""
    stages: dict[Any, str] = {}
    hosts: dict[Any, str] = {}
    for span in spans:
        stages.setdefault(pipeline_stage(span.capture), span.token)
        hosts.setdefault(span.capture.host, span.token)
    return [*stages.values(), *hosts.values()]
