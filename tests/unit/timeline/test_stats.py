"""Statistics of a whole trace take as much memory as those of a part of it."""

from __future__ import annotations

import tracemalloc

import pytest

from tb_npu_plugin.store.timeline import stats as timeline_stats
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import stats
from tests.support.trace import event, open_trace

SLICES = 40_000


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    events = [event(f"op{number % 50}", number * 2, 1, number % 8) for number in range(SLICES)]
    return open_trace(events, tmp_path_factory.mktemp("stats"))[0]


def test_memory_does_not_grow_with_the_range(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_stats, "TILE", 2_000)
    small, large = _peak(timeline, SLICES // 10), _peak(timeline, SLICES)
    assert large < 1.3 * small + 50_000 < 96 * SLICES / 4


def _peak(timeline: Timeline, slices: int) -> int:
    """Bytes at most for the statistics of the first slices."""
    tracemalloc.start()
    try:
        assert stats(timeline, 0, 2000 * slices, range(8)).slices == slices
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
