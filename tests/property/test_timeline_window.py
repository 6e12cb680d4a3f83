"""What a window shows, against brute force over all slices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.server.timeline.binary import Scale
from tb_npu_plugin.store.timeline import levels as timeline_levels
from tb_npu_plugin.store.timeline import matches as timeline_matches
from tb_npu_plugin.store.timeline import quantiles
from tb_npu_plugin.store.timeline import stats as timeline_stats
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.window import BAR_BYTES, ONE_ROW_FACTOR, bars
from tests.support.ask import ask
from tests.support.ask import bars as asked_bars
from tests.support.trace import event, open_trace

SLICES = st.lists(
    st.tuples(
        st.integers(0, 3000) | st.integers(100, 160),
        st.sampled_from([0, 1, 2, 5, 20, 900]),
        st.integers(1, 2),
        st.sampled_from(["a", "b", "c", "EVENT_WAIT"]),
    ),
    min_size=1,
    max_size=60,
    unique_by=lambda one: one if one[1] else object(),  # a slice that a thread holds twice counts once
)

#: More than an answer holds, and several tiles.
REGULAR = [(10 * n, 20 if n % 3 else 40, 1, "abc"[n % 3]) for n in range(30)]
#: As many that two levels of _small_levels are stored, the coarser one with values.
LEVELLED = [(3 * n, n % 4, 1 + n % 2, ("a", "b", "Notify_Wait")[n % 3]) for n in range(900)]


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of detail that small traces reach, with and without values."""
    monkeypatch.setattr(timeline_levels, "SHIFTS", (2, 3, 5, 8))
    monkeypatch.setattr(timeline_levels, "VALUES_FROM", 9)


def build(items: list[tuple[int, int, int, str]], folder: Path) -> Timeline:
    events = [event(name, 1000 + start / 1000, dur / 1000, tid) for start, dur, tid, name in items]
    return open_trace(events, folder)[0]


@given(items=SLICES, t0=st.integers(-50, 3500), width=st.integers(1, 4000), px=st.sampled_from([0.5, 1, 5, 32, 300]))
@example(items=LEVELLED, t0=500, width=900, px=64)
@example(items=LEVELLED, t0=500, width=900, px=300)
@example(items=LEVELLED, t0=500, width=900, px=600)
def test_every_slice_is_in_exactly_one_bar(
    items: list[tuple[int, int, int, str]], t0: int, width: int, px: float, tmp_path: Path
) -> None:
    timeline = build(items, tmp_path)
    t1 = t0 + width
    header, columns = asked_bars(timeline, t0=t0, t1=t1, px=px)
    size = 1 << max(0, int(px).bit_length() - 1)
    base = int(header["base"]) - timeline.base_ns
    starts, durs = timeline.rows.start, timeline.rows.dur
    assert header["unit"] == 1
    shown = set()
    for track, depth, first, count in header["rows"]:
        row = timeline.row_number(track, depth)
        low, high = timeline.rows.bounds(row)
        bins: dict[int, list[int]] = {}
        for one in range(low, high):
            bins.setdefault(int(starts[one]) // size, []).append(one)
        inside = [
            one for one in range(low, high) if starts[one] < t1 and (starts[one] + durs[one] > t0 or starts[one] >= t0)
        ]
        wanted = sorted({int(starts[one]) // size for one in inside})
        bars = range(first, first + count)
        longest = [max(bins[key], key=lambda one: (durs[one], -one)) for key in wanted]
        assert columns["id"][bars].tolist() == longest
        assert columns["count"][bars].tolist() == [len(bins[key]) for key in wanted]
        assert columns["dur"][bars].tolist() == [int(durs[one]) for one in longest]
        assert columns["start"][bars].tolist() == [max(0, int(starts[bins[key][0]]) - base) for key in wanted]
        assert columns["end"][bars].tolist() == [
            max(0, int(starts[bins[key][-1]] + durs[bins[key][-1]]) - base) for key in wanted
        ]
        assert columns["busy"][bars].tolist() == [int(durs[bins[key]].sum()) for key in wanted]
        name_of = [timeline.names[code] for code in timeline.name.tolist()]
        assert [header["names"][code] for code in columns["name"][bars]] == [name_of[one] for one in longest]
        waits = [[one for one in bins[key] if name_of[one].endswith(("WAIT", "Wait"))] for key in wanted]
        works = [sorted({*bins[key]} - {*wait}) or bins[key] for key, wait in zip(wanted, waits)]
        work = [name_of[max(members, key=lambda one: (durs[one], -one))] for members in works]
        told = dict(zip(columns["waiting"].tolist(), zip(columns["wait"].tolist(), columns["work"].tolist())))
        wait = [int(durs[members].sum()) for members in waits]
        assert [told.get(bar, (0,))[0] for bar in bars] == wait
        assert all(header["names"][told[bar][1]] == name for bar, name in zip(bars, work) if bar in told)
        assert {one for one in inside if durs[one] > px} <= set(longest)
        shown |= {one for key in wanted for one in bins[key]}
    every = [one for one in range(timeline.slice_count) if starts[one] < t1 and starts[one] + max(durs[one], 1) > t0]
    assert set(every) <= shown


@given(items=SLICES, t0=st.integers(-50, 3500), width=st.integers(1, 4000), most=st.integers(4, 20))
@example(items=REGULAR, t0=0, width=400, most=16)
def test_an_answer_is_bounded(
    items: list[tuple[int, int, int, str]], t0: int, width: int, most: int, tmp_path: Path
) -> None:
    timeline = build(items, tmp_path)
    rows = range(len(timeline.rows.first) - 1)
    found = bars(timeline, rows, t0, t0 + width, 1, most * BAR_BYTES)
    assert len(found.id) <= max(most, len(rows))
    starts = timeline.rows.start
    for row, first, count in found.parts:
        low, high = timeline.rows.overlapping(row, t0, t0 + width)
        bins = [int(starts[one]) // found.bin for one in found.id[first : first + count].tolist()]
        assert bins == sorted({int(starts[one]) // found.bin for one in range(low, high)})
        begin, end = timeline.rows.bounds(row)
        every = [int(starts[one]) // found.bin for one in range(begin, end)]
        assert found.count[first : first + count].tolist() == [every.count(one) for one in bins]
    coarser = [1 << shift for shift in (*timeline_levels.SHIFTS, 62)]
    assert found.bin in (1, *coarser)


@given(items=SLICES, t0=st.integers(-50, 3500), width=st.integers(1, 4000), most=st.integers(1, 20))
def test_an_exact_answer_has_fewer_rows_instead_of_wider_bins(
    items: list[tuple[int, int, int, str]], t0: int, width: int, most: int, tmp_path: Path
) -> None:
    timeline = build(items, tmp_path)
    wanted = [*range(len(timeline.rows.first) - 1)]
    seen: list[int] = []
    while wanted:
        found = bars(timeline, wanted, t0, t0 + width, 4, most * BAR_BYTES, is_exact=True)
        answered = wanted[: len(found.parts)]
        assert answered and [number for number, *_ in found.parts] == answered
        assert found.bin == 4 or (len(answered) == 1 and len(found.id) <= ONE_ROW_FACTOR * most)
        assert len(found.id) <= max(most, 1) or len(answered) == 1
        seen += answered
        wanted = wanted[len(answered) :]
    assert seen == sorted(set(seen))


@given(
    items=SLICES,
    t0=st.integers(-50, 3500),
    width=st.integers(1, 4000),
    px=st.sampled_from([1, 32, 300]),
    chunk=st.integers(1, 9),
    text=st.sampled_from(["a", "B", "c a", "zz"]),
)
def test_bars_of_a_search_hold_all_hits_and_nothing_else(
    items: list[tuple[int, int, int, str]], t0: int, width: int, px: int, chunk: int, text: str, tmp_path: Path
) -> None:
    timeline = build(items, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_matches, "_CHUNK", chunk)
        header, columns = asked_bars(timeline, t0=t0, t1=t0 + width, px=px, q=text)
    starts, durs, base = timeline.rows.start, timeline.rows.dur, int(header["base"]) - timeline.base_ns
    for track, depth, first, count in header["rows"]:
        low, high = timeline.rows.overlapping(timeline.row_number(track, depth), t0, t0 + width)
        groups: dict[int, list[int]] = {}
        for one in range(low, high):
            name = timeline.names[int(timeline.name[one])]
            if all(word in name.casefold() for word in text.casefold().split()):
                groups.setdefault(int(starts[one]) // header["bin"], []).append(one)
        bars = slice(first, first + count)
        members = list(groups.values())
        assert columns["count"][bars].tolist() == [len(group) for group in members]
        assert columns["busy"][bars].tolist() == [int(durs[group].sum()) for group in members]
        assert columns["id"][bars].tolist() == [max(group, key=lambda one: (durs[one], -one)) for group in members]
        waits = [[one for one in group if timeline.names[int(timeline.name[one])] == "EVENT_WAIT"] for group in members]
        told = dict(zip(columns["waiting"].tolist(), columns["wait"].tolist()))
        assert [told.get(bar, 0) for bar in range(first, first + count)] == [int(durs[group].sum()) for group in waits]
        ends = [max(0, int(starts[group[-1]] + durs[group[-1]]) - base) for group in members]
        assert columns["end"][bars].tolist() == ends


@given(
    items=SLICES,
    t0=st.integers(-50, 3500),
    width=st.integers(1, 4000),
    tile=st.sampled_from([1, 7, 1 << 17]),
)
@example(items=REGULAR, t0=0, width=300, tile=7)
def test_statistics_are_those_of_the_raw_slices(
    items: list[tuple[int, int, int, str]], t0: int, width: int, tile: int, tmp_path: Path
) -> None:
    timeline = build(items, tmp_path)
    t1 = t0 + width
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_stats, "TILE", tile)
        patch.setattr(quantiles, "COUNTERS", tile)
        answer = ask(timeline, "stats", t0=t0, t1=t1)
    data = answer["table"]["data"]  # type: ignore[index, call-overload]
    origin = min(start for start, *_ in items)
    wanted: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for start, dur, tid, name in items:
        start -= origin
        if start < t1 and (start + dur > t0 or start >= t0):
            wanted.setdefault((f"tid {tid}", name), []).append((start, dur))
    found = {key: row for row, key in enumerate(zip(data["thread"], data["name"]))}
    assert set(found) == set(wanted)
    for key, members in wanted.items():
        row = found[key]
        durs = [dur for _, dur in members]
        assert data["count"][row] == len(durs)
        assert data["total"][row] == sum(durs)
        assert (data["min"][row], data["max"][row]) == (min(durs), max(durs))
        assert data["avg"][row] == round(sum(durs) / len(durs))
        at_percent = [sorted(durs)[-(-len(durs) * percent // 100) - 1] for percent in (50, 95)]
        assert [data["p50"][row], data["p95"][row]] == at_percent
        assert data["clipped"][row] == sum(max(0, min(s + d, t1) - max(s, t0)) for s, d in members)
    _own_times_are_exact(timeline, data, t0, t1)
    assert answer["slices"] == sum(map(len, wanted.values()))  # type: ignore[index, call-overload]


def _own_times_are_exact(timeline: Timeline, data: dict[str, list[Any]], t0: int, t1: int) -> None:
    """Moment by moment: a slice's own are those in the range that none directly inside it covers."""
    start, parent = timeline.rows.start.tolist(), timeline.parent.tolist()
    moments = [set(range(max(one, t0), min(one + dur, t1))) for one, dur in zip(start, timeline.rows.dur.tolist())]
    wanted: dict[tuple[str, str], int] = {}
    for one, whole in enumerate(moments):
        inner = [moments[child] for child, above in enumerate(parent) if above == one]
        track = int(timeline.rows.track_of_row(timeline.rows.row_of(np.array([one])))[0])
        key = (timeline.tracks[track]["name"], timeline.names[int(timeline.name[one])])
        wanted[key] = wanted.get(key, 0) + len(whole.difference(*inner))
    found = dict(zip(zip(data["thread"], data["name"]), data["clipped_self"]))
    assert all(wanted[key] == own for key, own in found.items())
    assert data["clipped_self"] == sorted(found.values(), reverse=True)
    whole = sum(wanted.values())
    assert data["share"] == [own / whole if whole else None for own in data["clipped_self"]]


@given(t0=st.integers(0, 2**50), window=st.integers(1, 2**50), before=st.integers(0, 2**50), inside=st.floats(0, 1))
def test_times_of_a_window_are_told_within_one_unit(t0: int, window: int, before: int, inside: float) -> None:
    scale = Scale(t0, t0 + window, t0 - before)
    assert scale.unit == 1 or window > 2**32 - 1
    assert scale.base <= t0
    moment = t0 + int(window * inside)
    told = scale.base + int(scale.times(np.array([moment]))[0]) * scale.unit
    assert 0 <= moment - told < scale.unit
    early = scale.base + int(scale.times(np.array([t0 - before]))[0]) * scale.unit
    assert early <= t0


def test_levels_are_kept_where_they_save_bars(tmp_path: Path) -> None:
    dense = build([(start, 1, 1, "a") for start in range(0, 3000, 2)], tmp_path)
    sparse = build([(start, 1, 1, "a") for start in range(0, 30000, 1000)], tmp_path)
    assert [list(timeline.levels._levels) for timeline in (dense, sparse)] == [[2, 3, 5, 8], []]
