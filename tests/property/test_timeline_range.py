"""The range panel against brute force over all slices and points: groupings, the slices behind a row, counters."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tb_npu_plugin.store.timeline import curves as timeline_curves
from tb_npu_plugin.store.timeline import stats as timeline_stats
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import GROUPINGS
from tests.property.test_timeline_window import REGULAR, SLICES, build
from tests.support.ask import Timelines, ask, ask_service
from tests.support.trace import event, open_trace

Raw = list[tuple[int, int, int, str]]
RANGE = {"t0": st.integers(-50, 3500), "width": st.integers(1, 4000)}


def _overlapping(items: Raw, t0: int, t1: int) -> Raw:
    """(start, duration, thread, name) of the slices that overlap a range, or start in it; start from the first slice."""
    origin = min(start for start, *_ in items)
    moved = [(start - origin, *rest) for start, *rest in items]
    return [one for one in moved if one[0] < t1 and (one[0] + one[1] > t0 or one[0] >= t0)]  # type: ignore[misc]


@settings(max_examples=30)
@given(items=SLICES, tile=st.sampled_from([1, 7, 1 << 17]), by=st.sampled_from(["name", "row"]), **RANGE)
def test_statistics_by_name_or_row(items: Raw, tile: int, by: str, t0: int, width: int, tmp_path: Path) -> None:
    timeline, t1 = build(items, tmp_path), t0 + width
    wanted: dict[str, list[int]] = {}
    for _, dur, thread, name in _overlapping(items, t0, t1):
        wanted.setdefault(name if by == "name" else f"tid {thread}", []).append(dur)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_stats, "TILE", tile)
        data, each = (ask(timeline, "stats", t0=t0, t1=t1, by=one)["table"]["data"] for one in (by, "name_row"))
    keys = data["name" if by == "name" else "thread"]
    assert sorted(keys) == sorted(wanted)
    for row, key in enumerate(keys):
        durs = sorted(wanted[key])
        assert (data["count"][row], data["total"][row]) == (len(durs), sum(durs))
        assert [data["p50"][row], data["p95"][row]] == [durs[-(-len(durs) * p // 100) - 1] for p in (50, 95)]
        same = [one for one, of in enumerate(each["name" if by == "name" else "thread"]) if of == key]
        for column in ("self", "clipped", "clipped_self"):
            assert data[column][row] == sum(each[column][one] for one in same)
    assert sum(data["clipped_self"]) == 0 or sum(data["share"]) == pytest.approx(1)


@settings(max_examples=30)
@given(
    ranks=st.lists(st.tuples(SLICES, st.integers(-2000, 2000)), min_size=1, max_size=3),
    tile=st.sampled_from([2, 1 << 17]),
    by=st.sampled_from(["name", "row", "rank", "name_row"]),
    **RANGE,
)
def test_statistics_and_slices_of_several_ranks(
    ranks: list[tuple[Raw, int]], tile: int, by: str, t0: int, width: int, tmp_path: Path
) -> None:
    """Each rank has its offset on the common axis; one is not read."""
    timelines: dict[str, Optional[Timeline]] = {"unread": None}
    sources, wanted = [{"span": "unread", "version": "1"}], dict[tuple[Any, ...], list[int]]()
    for number, (items, offset) in enumerate(ranks, 1):
        timeline = build(items, tmp_path)
        timelines[f"w{number}"] = timeline
        sources.append({"span": f"w{number}", "zero": str(timeline.base_ns - offset)})
        for _, dur, thread, name in _overlapping(items, t0 - offset, t0 - offset + width):
            keys = {"part": number, "name": name, "thread": f"tid {thread}"}
            wanted.setdefault(tuple(keys[key] for key in keys if key in GROUPINGS[by]), []).append(dur)
    service, window = Timelines(timelines), {"t0": t0, "t1": t0 + width}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_stats, "TILE", tile)
        found = ask_service(service, "stats", sources, by=by, **window)
        listed = ask_service(service, "members", sources, page={"sort": "dur", "limit": 9999}, **window)
        text = ask_service(service, "members", sources, format="csv", **window)
    data = found["table"]["data"]
    groups = list(zip(*(data[key] for key in ("part", "name", "thread") if key in data)))
    assert sorted(groups) == sorted(wanted) and found["parts"] == ["unread", *["ready"] * len(ranks)]
    for row, group in enumerate(groups):
        durs = sorted(wanted[group])
        assert (data["count"][row], data["total"][row], data["max"][row]) == (len(durs), sum(durs), durs[-1])
        assert [data["p50"][row], data["p95"][row]] == [durs[-(-len(durs) * p // 100) - 1] for p in (50, 95)]
    everything = sorted(dur for durs in wanted.values() for dur in durs)
    assert (found["slices"], listed["data"]["dur"]) == (len(everything), everything)
    assert sorted(int(row["dur_ns"]) for row in csv.DictReader(text.splitlines())) == everything


@settings(max_examples=30)
@given(
    items=SLICES,
    sort=st.sampled_from(["start", "dur", "clipped", "name"]),
    desc=st.booleans(),
    offset=st.integers(0, 20),
    name=st.sampled_from(["", "a", "no such name"]),
    **RANGE,
)
@example(items=REGULAR, sort="dur", desc=True, offset=2, name="", t0=0, width=300)
def test_slices_behind_a_row(
    items: Raw, sort: str, desc: bool, offset: int, name: str, t0: int, width: int, tmp_path: Path
) -> None:
    timeline, t1 = build(items, tmp_path), t0 + width
    wanted = [one for one in _overlapping(items, t0, t1) if name in ("", one[3])]
    params = {"t0": t0, "t1": t1, "name": name}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_stats, "TILE", 3)
        asked = {"sort": sort, "desc": desc, "limit": 5, "offset": offset}
        page = ask(timeline, "members", page=asked, **params)
        text = ask(timeline, "members", format="csv", **params)
    value: dict[str, Any] = {
        "name": lambda one: one[3],
        "start": lambda one: one[0],
        "dur": lambda one: one[1],
        "clipped": lambda one: max(0, min(one[0] + one[1], t1) - max(one[0], t0)),
    }
    expected = sorted(map(value[sort], wanted), reverse=desc)
    assert (page["total"], page["data"][sort]) == (len(wanted), expected[offset : offset + 5])
    rows = list(csv.DictReader(text.splitlines()))
    found = sorted((int(row["start_ns"]) - timeline.base_ns, int(row["dur_ns"]), row["name"]) for row in rows)
    assert found == sorted((start, dur, name) for start, dur, _, name in wanted)


@settings(max_examples=30)
@given(
    points=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(-9, 9)), min_size=1, max_size=20, unique_by=lambda p: p[0]
    ),
    piece=st.sampled_from([1, 3, 1 << 17]),
    **RANGE,
)
def test_counters_hold_until_the_next_point(
    points: list[tuple[int, int]], piece: int, t0: int, width: int, tmp_path: Path
) -> None:
    t1 = t0 + width
    events = [
        {"ph": "C", "name": "mem", "pid": 1, "ts": f"{time / 1000:.3f}", "args": {"figure": v}} for time, v in points
    ]
    timeline, _ = open_trace([event("a", 0, 1), *events], tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_curves, "PIECE", piece)
        (found,) = ask(timeline, "counters", t0=t0, t1=t1)["series"]
    points = sorted(points)
    held = [
        (value, max(time, t0), min(until, t1))
        for (time, value), (until, _) in zip(points, [*points[1:], (10**9, 0)])
        if time < t1 and until > t0
    ]
    values = [value for value, *_ in held]
    area = sum(value * (end - begin) for value, begin, end in held)
    mean = float(Fraction(area, t1 - held[0][1])) if held else None
    assert (found["min"], found["max"]) == (min(values, default=None), max(values, default=None))
    assert found["mean"] == (None if mean is None else pytest.approx(mean))
