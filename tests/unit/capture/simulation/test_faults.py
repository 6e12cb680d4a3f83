from __future__ import annotations

import pytest

from tb_npu_plugin.capture.simulation.faults import FAULTS, parse_faults
from tb_npu_plugin.errors import BadRequest


def test_words_of_the_command_line() -> None:
    faults = parse_faults(
        ["slow-rank:3", "slow-rank:1:2.5", "slow-link:5-2:8", "gc-pause:1:3.5", "slow-loader", "memory-leak:2", "ai-cpu",
         "dynamic-shapes", "fragmentation"],
        8,
    )  # fmt: skip
    assert faults.slow_ranks == {3: 1.5, 1: 2.5}
    assert faults.slow_links == {(2, 5): 8.0}
    assert (faults.gc, faults.loader, faults.leak) == ({1: 3_500_000}, {0: 150_000_000}, 2 << 20)
    assert faults.ai_cpu and faults.dynamic and faults.fragmentation
    assert set(faults.as_json()) == set(FAULTS)


@pytest.mark.parametrize(
    "text", ["slow-rank", "slow-rank:8", "slow-rank:x", "slow-link:1", "slow-link:1-9", "gc-pause:0:fast", "fire"]
)
def test_what_is_no_fault_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_faults([text], 8)
    assert caught.value.hint
