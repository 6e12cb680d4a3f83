"""Which ranks of a large run are shown first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tb_npu_plugin.analysis.findings.representatives import representatives_of
from tb_npu_plugin.analysis.ranks.world import numbers_in_groups
from tb_npu_plugin.model import Capture
from tests.support.span import TestSpan


def spans_of(count: int, per_host: int, per_stage: int) -> list[Any]:
    out = []
    for rank in range(count):
        groups = {"p": {"group_name": "pp", "group_rank": rank // per_stage}}
        capture = Capture(rank=rank, host=f"h{rank // per_host}", groups=groups)
        out.append(TestSpan(capture=capture, token=f"s{rank}"))
    return out


def ledger(span: Any, waits: dict[int, int]) -> Any:
    return SimpleNamespace(span=span, ends_at=lambda rank: waits.get(rank, 0))


def test_stragglers_who_waits_longest_for_them_and_one_of_each_stage_and_host() -> None:
    spans = spans_of(96, 8, 24)
    ledgers = [ledger(span, {37: {40: 5, 41: 9, 90: 7, 91: 6}.get(at, 0)}) for at, span in enumerate(spans)]
    found = representatives_of(spans, ledgers, ["s37"])
    firsts = {f"s{rank}" for rank in (*range(0, 96, 8), *range(0, 96, 24))}
    assert set(found) == firsts | {"s37", "s41", "s90", "s91"}
    assert found == sorted(found, key=lambda token: int(token[1:]))


def test_there_are_at_most_64() -> None:
    spans = spans_of(200, 1, 100)
    found = representatives_of(spans, [], ["s199"])
    assert len(found) == 64 and {"s199", "s0", "s100"} <= set(found)


def test_numbers_in_the_groups_of_parallelism() -> None:
    groups = {
        name: {"group_name": name, "group_rank": number}
        for number, name in enumerate(("default_group", "tp", "pp", "dp", "dp_cp"))
    }
    assert numbers_in_groups(Capture(groups=groups)) == ["dp 3", "tp 1"]
