from __future__ import annotations

import pytest

from tb_npu_plugin.capture.simulation.faults import FAULTS, parse_faults
from tb_npu_plugin.errors import BadRequest


def test_faults_of_the_command_line() -> None:
    faults = parse_faults(
        [
            "slow-rank:3",
            "slow-rank:1:2.5",
            "slow-link:5-2:8",
            "gc-pause:1:3.5",
            "slow-loader",
            "memory-leak:2",
            "ai-cpu",
            "dynamic-shapes",
            "fragmentation",
        ],
        8,
    )
    assert faults.slow_ranks == {3: 1.5, 1: 2.5}
    assert faults.slow_links == {(2, 5): 8.0}
    assert (faults.gc, faults.loader, faults.leak) == ({1: 3_500_000}, {0: 150_000_000}, 2 << 20)
    assert faults.ai_cpu and faults.dynamic and faults.fragmentation
    assert set(faults.as_json()) == set(FAULTS)


@pytest.mark.parametrize(
    "text",
    [
        "slow-rank",
        "slow-rank:8",
        "slow-rank:x",
        "slow-link:1",
        "slow-link:1-9",
        "slow-link:1-2-3",
        "slow-link:3-3",
        "gc-pause:0:fast",
        "fire",
        "slow-rank:0:0",
        "slow-rank:0:-2",
        "slow-rank:0:nan",
        "slow-rank:0:inf",
        "slow-rank:0:1.5:7",
        "slow-link:0-1:0",
        "gc-pause:0:-5",
        "slow-loader:0:1e300",
        "memory-leak:-3",
        "memory-leak:nan",
        "memory-leak:1:2",
        "ai-cpu:3",
    ],
)
def test_invalid_faults_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_faults([text], 8)
    assert caught.value.hint


@pytest.mark.parametrize(
    "texts",
    [
        ("slow-rank:1", "slow-rank:1:3"),
        ("slow-link:0-1", "slow-link:1-0:8"),
        ("gc-pause", "gc-pause:0:3"),
        ("memory-leak:1", "memory-leak"),
        ("ai-cpu", "ai-cpu"),
        ("fragmentation", "fragmentation"),
    ],
    ids=" ".join,
)
def test_the_same_fault_twice_is_refused(texts: tuple[str, str]) -> None:
    with pytest.raises(BadRequest, match="twice"):
        parse_faults(texts, 8)


def test_a_factor_of_one_is_in_the_truth() -> None:
    faults = parse_faults(["slow-rank:0:1.0"], 1)
    assert faults.as_json() == {"slow-rank": [{"rank": 0, "factor": 1.0}]}
