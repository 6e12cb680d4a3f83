from __future__ import annotations

import pytest

from tb_npu_plugin.capture.simulation.faults import FAULTS, parse_faults
from tb_npu_plugin.errors import BadRequest


def test_faults_of_the_command_line() -> None:
    ranks = ("slow-rank:3", "slow-rank:1:2.5", "slow-rank:0:1.0", "slow-link:5-2:8", "gc-pause:1:3.5", "slow-loader")
    faults = parse_faults([*ranks, "memory-leak:2", "ai-cpu", "dynamic-shapes", "fragmentation"], 8)
    assert faults.slow_ranks == {3: 1.5, 1: 2.5, 0: 1.0}
    assert faults.slow_links == {(2, 5): 8.0}
    assert (faults.gc, faults.loader, faults.leak) == ({1: 3_500_000}, {0: 150_000_000}, 2 << 20)
    assert faults.ai_cpu and faults.dynamic and faults.fragmentation
    words = {text.partition(":")[0] for text in (*ranks, "memory-leak", "ai-cpu", "dynamic-shapes", "fragmentation")}
    assert set(faults.as_json()) == words
    every = [
        f"{word}:0-1" if fault.strikes == "link" else f"{word}:0" if fault.strikes == "rank" else word
        for word, fault in FAULTS.items()
    ]
    assert set(parse_faults(every, 2).as_json()) == set(FAULTS)
    assert parse_faults(["slow-rank:0:1.0"], 1).as_json() == {"slow-rank": [{"rank": 0, "factor": 1.0}]}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("fire", "Unknown fault 'fire'"),
        ("slow-rank", "not understood"),
        ("slow-rank:0:1.5:7", "not understood"),
        ("slow-link:1", "not understood"),
        ("gc-pause:0:fast", "not understood"),
        ("fragmentation:3", "not understood"),
        ("slow-rank:8", "no rank 8"),
        ("slow-link:1-9", "no rank 9"),
        ("slow-link:3-3", "no link"),
        ("slow-rank:0:0", "no factor"),
        ("slow-rank:0:nan", "no factor"),
        ("slow-loader:0:1e300", "no number of ms"),
        ("memory-leak:-3", "no number of MB"),
        ("slow-rank:1 slow-rank:1:3", "twice"),
        ("slow-link:0-1 slow-link:1-0:8", "twice"),
        ("gc-pause gc-pause:0:3", "twice"),
        ("ai-cpu ai-cpu", "twice"),
    ],
)
def test_invalid_faults_are_refused_with_a_hint(texts: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message) as caught:
        parse_faults(texts.split(), 8)
    assert caught.value.hint
