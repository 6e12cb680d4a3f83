"""Other rows of a timeline: Python threads without frames, merged streams."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.service.layers import LAYERS
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.repacked import HIDDEN, Repacked, places_of
from tests.support.ask import ask, bars
from tests.support.trace import decode, event, flow, metadata, open_trace

PACKINGS = ("streams", "frames")
Raw = tuple[str, int, int]


def _nested(random_: random.Random, low: int, high: int, depth: int, tid: int) -> list[dict[str, Any]]:
    """Frames and operators nested in each other in [low, high) us."""
    if depth == 0 or high - low < 4:
        return []
    cuts = sorted(random_.sample(range(low, high), 2))
    kind = random_.choice(["python_function", "cpu_op"])
    own = event(f"{kind}{random_.randrange(5)}", cuts[0], cuts[1] - cuts[0], tid, cat=kind, args={"n": cuts[0] % 3})
    return [
        own,
        *_nested(random_, cuts[0], cuts[1], depth - 1, tid),
        *_nested(random_, cuts[1], high, depth - 1, tid),
    ]


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """Threads 1 to 3 of the host (the third without frames), streams 1 and 2 of device 9, stream 1 of device 10."""
    random_ = random.Random(7)
    events = [metadata("process_name", pid, name=name) for pid, name in ((1, "Python"), (9, "NPU"), (10, "NPU"))]
    for tid in (1, 2):
        events += _nested(random_, 0, 4_000, 9, tid)
    events += [event(f"cpu_op{at % 3}", 10 * at, 9, 3, cat="cpu_op") for at in range(50)]
    for pid, tid in ((9, 1), (9, 2), (10, 1)):
        events.append(metadata("thread_name", pid, tid, name=f"Stream {tid}"))
        events += [event(f"task{at % 4}", 7 * at + tid, random_.randrange(1, 7), tid, pid) for at in range(300)]
    events += [event("launch", 5_000, 50, 1), event("frame", 4_990, 100, 1, cat="python_function")]
    events += [event(f"late{at}", 6_000 + 10 * at, 5, 2, 9) for at in range(3)]
    events += [flow("s", 1, 5_001, 1), {**flow("f", 1, 6_010, 2, bp="e"), "pid": 9}]
    return open_trace(events, tmp_path_factory.mktemp("repacked"))[0]


def _shown(timeline: Timeline, name: str) -> Repacked:
    found = LAYERS[name].build(timeline, None)  # type: ignore[arg-type]
    assert isinstance(found, Repacked)
    return found


def _answer(other: Repacked, px: float = 1, **more: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return bars(other.timeline, layers={"packed": other}, layer="packed", t0=0, t1=10**9, px=px, **more)


@pytest.mark.parametrize("name, tracks", [("frames", [[0], [1]]), ("streams", [[3, 4]])])
def test_the_rows_hold_each_chosen_slice_once_with_its_own_number(
    timeline: Timeline, name: str, tracks: list[list[int]]
) -> None:
    other = _shown(timeline, name)
    assert [one["tracks"] for one in other.replaced_json()] == tracks
    header, columns = _answer(other)
    wanted = [
        number
        for number in range(timeline.slice_count)
        if any(timeline.place(number)[0] in group for group in tracks)
        and timeline.category_of(number) != "python_function"
    ]
    assert set(columns["count"].tolist()) == {1}
    assert sorted(columns["id"].tolist()) == wanted
    base = int(header["base"]) - timeline.base_ns
    assert (columns["start"] + base).tolist() == timeline.rows.start[columns["id"]].tolist()
    assert (columns["dur"]).tolist() == timeline.rows.dur[columns["id"]].tolist()
    texts = [timeline.names[int(code)] for code in timeline.name[columns["id"]]]
    assert [header["names"][at] for at in columns["name"]] == texts


@pytest.mark.parametrize("name", ["frames", "streams"])
def test_rows_are_as_few_as_the_slices_allow_and_those_of_a_row_do_not_overlap(timeline: Timeline, name: str) -> None:
    other = _shown(timeline, name)
    header, columns = _answer(other)
    rows = defaultdict(int)
    for track, _, first, count in header["rows"]:
        start, end = (columns[key][first : first + count].tolist() for key in ("start", "end"))
        assert all(before <= after for before, after in zip(end, start[1:]))
        rows[track] += 1
    for one in other.replaced_json():
        group = next(group for group in other.groups if group.tracks == one["tracks"])
        edges = [(int(timeline.rows.start[at]), 1) for at in group.ids]
        edges += [(int(timeline.rows.start[at] + timeline.rows.dur[at]), -1) for at in group.ids]
        open_now = most = 0
        for _, step in sorted(edges):
            open_now += step
            most = max(most, open_now)
        assert (rows[one["tracks"][0]], one["rows"], one["slices"]) == (most, most, len(group.ids))


def test_the_page_is_told_where_a_slice_is_shown(timeline: Timeline) -> None:
    """The answers of routes that place slices are the rows of the bars; a hidden slice is beyond the last row."""
    repacked = [_shown(timeline, "streams"), _shown(timeline, "frames")]
    places = {}
    for other in repacked:
        header, columns = _answer(other)
        for track, depth, first, count in header["rows"]:
            places.update(dict.fromkeys(columns["id"][first : first + count].tolist(), (track, depth)))
    everything = np.arange(timeline.slice_count)
    for number, *place in zip(
        everything.tolist(), *(one.tolist() for one in places_of(timeline, everything, repacked))
    ):
        track, depth = timeline.place(number)
        is_hidden = timeline.category_of(number) == "python_function"
        assert tuple(place) == ((track, HIDDEN) if is_hidden else places.get(number, (track, depth)))
    layers = dict(zip(PACKINGS, repacked))

    def shown(question: str, **fields: Any) -> Any:
        return ask(timeline, question, layers, shown=PACKINGS, **fields)

    launch = next(one for one in range(timeline.slice_count) if timeline.brief(one)["name"] == "launch")
    detail = shown("slice", id=int(launch))
    assert (timeline.place(launch)[1], detail["track"], detail["depth"]) == (1, 0, 0)
    (found,) = shown("flows", id=int(launch))["flows"]
    assert (timeline.place(found["to"]["id"])[0], found["to"]["track"]) == (4, 3)
    row = [one for one, place in places.items() if place == (found["to"]["track"], found["to"]["depth"])]
    row.sort(key=lambda one: int(timeline.rows.start[one]))
    beside = shown("slice", id=int(found["to"]["id"]))
    at = row.index(found["to"]["id"])
    assert (beside["previous"], beside["next"]) == (row[at - 1], row[at + 1])
    first = shown("slice", id=int(row[0]))
    assert (first["previous"], first["next"]) == (None, row[1])
    of_all = int(repacked[0].packed.ids[0])
    assert repacked[0].neighbours(of_all) is not None
    _, columns = decode(shown("arrows", kind=0, t0=0, t1=10**9, px=1))
    ends = [tuple(int(columns[f"{end}_{key}"][0]) for key in ("track", "depth")) for end in ("from", "to")]
    assert ends == [(0, 0), places[found["to"]["id"]]]


def test_a_search_and_wide_bins_count_the_same_slices(timeline: Timeline) -> None:
    other = _shown(timeline, "frames")
    _, wide = _answer(other, px=1e6)
    assert int(wide["count"].sum()) == len(other.packed.ids) and len(wide["count"]) < len(other.packed.ids)
    for text in ("1 dur>=2us", "arg:n=2"):
        _, in_trace = bars(timeline, t0=0, t1=10**9, px=1, q=text)
        _, hits = _answer(other, q=text)
        wanted = sorted(set(in_trace["id"].tolist()) & set(other.packed.ids.tolist()))
        assert sorted(hits["id"].tolist()) == wanted and wanted != sorted(in_trace["id"].tolist())


def test_a_trace_without_frames_and_with_single_streams_has_no_other_rows(tmp_path: Path) -> None:
    timeline, _ = open_trace([event("a", 0, 1), metadata("thread_name", 1, 1, name="Stream 1")], tmp_path)
    assert [_shown(timeline, name).replaced_json() for name in PACKINGS] == [[], []]
