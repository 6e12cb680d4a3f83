"""Curves of counters in a window, against brute force over all points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.store.timeline import curves as timeline_curves
from tests.support.ask import ask, part
from tests.support.trace import open_trace

POINTS = st.lists(
    st.tuples(st.integers(0, 60) | st.integers(0, 3000), st.integers(-9, 9), st.sampled_from("ab")),
    min_size=1,
    max_size=60,
)


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_curves, "SHIFTS", (2, 3, 5, 8))


def point(time: int, value: int, key: str) -> dict[str, Any]:
    return {"ph": "C", "name": "c", "pid": 1, "ts": f"{1000 + time / 1000:.3f}", "args": {key: value}}


def brute(points: list[tuple[int, int]], t0: int, t1: int, size: int) -> list[tuple[int, int, int, int]]:
    """(time, min, max, last) per bin, the value in force first. points: by time."""
    before = [one for one in points if one[0] <= t0]
    groups = [[before[-1]]] if before else []
    bins: dict[int, list[tuple[int, int]]] = {}
    for time, value in points:
        if t0 < time < t1 or (time == t0 and not before):
            bins.setdefault(time // size, []).append((time, value))
    groups += bins.values()
    return [(own[0][0], min(v for _, v in own), max(v for _, v in own), own[-1][1]) for own in groups]


@given(points=POINTS, t0=st.integers(-50, 3500), width=st.integers(1, 4000), px=st.sampled_from([0.5, 1, 5, 32, 300]))
def test_bins_are_those_of_the_raw_points(
    points: list[tuple[int, int, str]], t0: int, width: int, px: float, tmp_path: Path
) -> None:
    timeline, _ = open_trace([point(*one) for one in points], tmp_path)
    size = 1 << max(0, int(px).bit_length() - 1)
    header, columns = part(ask(timeline, "rows", counters=[0], t0=t0, t1=t0 + width, px=px), "0.0")
    base = int(header["base"]) - timeline.base_ns
    origin = min(time for time, *_ in points)
    assert header["bin"] == size
    assert sorted(header["series"]) == sorted({key for *_, key in points})
    for number, key in enumerate(header["series"]):
        own = sorted(((time - origin, value) for time, value, of in points if of == key), key=lambda one: one[0])
        wanted = brute(own, t0, t0 + width, size)
        assert [max(time, base) for time, *_ in wanted] == [int(time) + base for time in columns[f"t{number}"]]
        for place, name in enumerate(("min", "max", "last"), start=1):
            assert columns[f"{name}{number}"].tolist() == [one[place] for one in wanted], name


@given(points=POINTS, most=st.integers(3, 9))
def test_an_answer_is_bounded(points: list[tuple[int, int, str]], most: int, tmp_path: Path) -> None:
    timeline, _ = open_trace([point(*one) for one in points], tmp_path)
    (track,) = timeline.tracks
    found, shift = timeline.curves.curves(track["series"], -5, 4000, 0, most)
    origin = min(time for time, *_ in points)
    for curve in found:
        own = sorted(((time - origin, value) for time, value, of in points if of == curve.name), key=lambda one: one[0])
        wanted = brute(own, -5, 4000, 1 << shift)
        assert list(zip(curve.time, curve.low, curve.high, curve.last)) == wanted
        assert len(curve.time) <= most
