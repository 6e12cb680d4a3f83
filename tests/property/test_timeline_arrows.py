"""All arrows of a kind of flow in a window, against brute force over all flows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.store.timeline import arrows as timeline_arrows
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.ask import ask
from tests.support.trace import decode, event, flow, open_trace

ENDS = st.tuples(st.integers(0, 40) | st.integers(0, 2000), st.integers(1, 3))
PAIRS = st.lists(st.tuples(ENDS, ENDS, st.sampled_from(["k", "k", "other"])), min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_arrows, "SHIFTS", (2, 4, 7))


def build(pairs: list[tuple[tuple[int, int], tuple[int, int], str]], folder: Path) -> Timeline:
    """Slices of 1 ns at every end, and arrows between them. Ends at one place are ends of one slice."""
    places = sorted({end for one, other, _ in pairs for end in (one, other)})
    events = [event("a", 1000 + time / 1000, 0.001, tid) for time, tid in places]
    for number, ((from_time, from_tid), (to_time, to_tid), kind) in enumerate(pairs):
        events.append(flow("s", number, 1000 + from_time / 1000, from_tid, kind))
        events.append(flow("f", number, 1000 + to_time / 1000, to_tid, kind, bp="e"))
    return open_trace(events, folder)[0]


@given(pairs=PAIRS, t0=st.integers(-50, 2100), width=st.integers(1, 2500), px=st.sampled_from([0.5, 1, 3, 20, 200]))
def test_every_arrow_of_the_window_is_counted_once(
    pairs: list[tuple[tuple[int, int], tuple[int, int], str]], t0: int, width: int, px: float, tmp_path: Path
) -> None:
    timeline = build(pairs, tmp_path)
    size = 1 << max(0, int(px).bit_length() - 1)
    low, high = t0 // size * size, -(-(t0 + width) // size) * size
    origin = min(time for one, other, _ in pairs for time, _ in (one, other))
    track_of = {track["tid"]: number for number, track in enumerate(timeline.tracks)}
    for kind, word in enumerate(timeline.flow_kinds):
        wanted: dict[tuple[int, int, int, int], int] = {}
        for (from_time, from_tid), (to_time, to_tid), own in pairs:
            begin, end = from_time - origin, to_time - origin
            if own == word and (low <= begin < high or low <= end < high):
                key = (track_of[str(from_tid)], begin // size, track_of[str(to_tid)], end // size)
                wanted[key] = wanted.get(key, 0) + 1
        header, columns = decode(ask(timeline, "arrows", kind=kind, t0=t0, t1=t0 + width, px=px))
        base = int(header["base"]) - timeline.base_ns
        assert (header["unit"], header["bin"], header["left_out"]) == (1, size, 0)
        keys = zip(
            columns["from_track"].tolist(),
            [(int(time) + base) // size for time in columns["from_time"]],
            columns["to_track"].tolist(),
            [(int(time) + base) // size for time in columns["to_time"]],
        )
        assert dict(zip(keys, columns["count"].tolist())) == wanted
        assert len(columns["count"]) == len(wanted)


@given(pairs=PAIRS, most=st.integers(1, 6))
def test_an_answer_is_bounded(
    pairs: list[tuple[tuple[int, int], tuple[int, int], str]], most: int, tmp_path: Path
) -> None:
    timeline = build(pairs, tmp_path)
    for kind, word in enumerate(timeline.flow_kinds):
        found = timeline.arrows.arrows(timeline.rows, kind, -10, 5000, 0, most)
        assert len(found.source) <= most
        assert int(found.count.sum()) + found.left_out == sum(own == word for *_, own in pairs)
        assert found.left_out == 0 or found.bin == 2**62
        shared = timeline.rows.start[np.stack([found.source, found.target])] // found.bin
        rows = timeline.rows.row_of(np.stack([found.source, found.target]))
        assert len({*zip(*rows.tolist(), *shared.tolist())}) == len(found.source)


def test_levels_are_kept_where_they_save_arrows(tmp_path: Path) -> None:
    dense = build([((n, 1), (n + 1, 2), "k") for n in range(200)], tmp_path)
    sparse = build([((n * 300, 1), (n * 300, 2), "k") for n in range(20)], tmp_path)
    assert [list(timeline.arrows._levels[0]) for timeline in (dense, sparse)] == [[0, 2, 4, 7], [0]]


def test_ends_that_are_far_away_are_told_to_be(tmp_path: Path) -> None:
    pairs = [((0, 1), (50, 2), "k"), ((50, 1), (10**13, 2), "k")]
    timeline = build(pairs, tmp_path)
    header, columns = decode(ask(timeline, "arrows", kind=0, t0=40, t1=60, px=1))
    base = int(header["base"]) - timeline.base_ns
    assert [int(time) + base for time in columns["from_time"]] == [0, 50]
    assert (int(columns["to_time"][0]) + base, int(columns["to_time"][1])) == (50, 2**32 - 1)
