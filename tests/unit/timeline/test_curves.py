"""Levels of detail of counters on small curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.store.timeline import curves as timeline_curves
from tests.support.trace import open_trace


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_curves, "SHIFTS", (2, 3, 5, 8))


def point(time: int, value: int, key: str) -> dict[str, Any]:
    return {"ph": "C", "name": "c", "pid": 1, "ts": f"{1000 + time / 1000:.3f}", "args": {key: value}}


def test_series_share_no_bin(tmp_path: Path) -> None:
    points = [(n, n, "a") for n in range(300)] + [(n, 1000 + n, "b") for n in range(299, 600)]
    timeline, _ = open_trace([point(*one) for one in sorted(points)], tmp_path)
    low, high = timeline.curves.curves(timeline.tracks[0]["series"], -5, 4000, 0, 4)[0]
    assert max(low.high) == 299 and min(high.low) == 1299


def test_levels_are_kept_where_they_save_points(tmp_path: Path) -> None:
    dense = open_trace([point(n, n, "a") for n in range(300)], tmp_path)[0]
    sparse = open_trace([point(n * 1000, n, "a") for n in range(30)], tmp_path)[0]
    assert [list(timeline.curves._levels) for timeline in (dense, sparse)] == [[2, 3, 5, 8], []]


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_the_mean_of_a_range_is_by_time_whatever_the_pieces(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [0, 10, 30, 60, 100, 150, 210, 280, 360, 450]
    timeline, _ = open_trace([point(time, number, "a") for number, time in enumerate(times)], tmp_path)
    monkeypatch.setattr(timeline_curves, "PIECE", piece)
    (series,) = timeline.tracks[0]["series"]
    for t0, t1 in ((0, 450), (5, 300), (35, 55), (440, 500)):
        held = [max(number for number, time in enumerate(times) if time <= at) for at in range(t0, t1)]
        found = timeline.curves.summary(series, t0, t1)
        assert (found.least, found.most, found.mean) == (min(held), max(held), pytest.approx(sum(held) / len(held)))
