"""Search for slices: names, regular expressions, durations, arguments; against a plain loop over the slices."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional, cast

import numpy as np
import pytest

from tb_npu_plugin.errors import BadRequest, ClientGone, NotFound
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.store.timeline import args_search, matches
from tb_npu_plugin.store.timeline.members import Members
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.slice_list import list_hits
from tb_npu_plugin.store.timeline.slice_query import MAX_TEXT, SliceQuery, parse_slice_query
from tb_npu_plugin.texts import natural_key
from tests.support.ask import ask
from tests.support.trace import event, metadata, open_trace

NAMES = ("aten::mm", "MatMul_v1", "MatMul_v2", "矩阵 mul", "copy")


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    random = np.random.default_rng(4)
    found = []
    for number in range(400):
        at, tid = int(random.integers(0, 5000)), int(random.integers(0, 4))
        args: dict[str, Any] = {"stream": number % 13, "Shape": f'[[{number % 5},"Ä\n2"]]', "list": [number % 3, 5]}
        found.append(event(NAMES[number % 5], at, int(random.integers(0, 9)), tid, args=args))
    return found


@pytest.fixture(scope="module")
def timeline(events: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    path = tmp_path_factory.mktemp("search")
    return open_trace([metadata("process_name", 1, name="Python"), *events], path)[0]


def around(timeline: Timeline, text: str, limit: int, near: int = 0, **more: Any) -> matches.Hits:
    """Hits in one timeline at its own times."""
    return matches.search([matches.Placed(timeline, timeline.base_ns)], text, limit, near, **more)


def test_a_search_is_parsed_into_terms() -> None:
    found = parse_slice_query('mat /a b/ dur>1.5us dur<=2ms arg:x arg:"k 1"="a b"')
    assert found == SliceQuery(("mat",), ("a b",), 1501, 2_000_000, (("", "x"), ("k 1", "a b")))
    assert parse_slice_query("dur>=0.4ns dur<0.4ns") == SliceQuery((), (), 1, 0)
    assert parse_slice_query("a/b /usr") == SliceQuery(("a/b", "/usr")), "slashes of a path are no expression"
    for text in ("dur>x", "dur>1h", "arg:", 'arg:"a', "x" * 1001):
        with pytest.raises(BadRequest):
            parse_slice_query(text)


@pytest.mark.parametrize(
    ("term", "least", "most"),
    [
        ("dur>=2ns", 2, None),
        ("dur>2", 3, None),
        ("dur<=1.5us", None, 1500),
        ("dur<1.5µs", None, 1499),
        ("dur<1.5μs", None, 1499),
        ("dur>=2ms dur>=1us", 2 * 10**6, None),
        ("dur<=1s dur<2s", None, 10**9),
    ],
)
def test_bounds_of_a_duration_are_in_whole_ns(term: str, least: Optional[int], most: Optional[int]) -> None:
    assert parse_slice_query(term) == SliceQuery(least=least, most=most)


def test_a_search_has_a_largest_length() -> None:
    assert parse_slice_query("x" * MAX_TEXT).words == ("x" * MAX_TEXT,)
    with pytest.raises(BadRequest):
        parse_slice_query("x" * (MAX_TEXT + 1))


@pytest.mark.parametrize(
    ("text", "matches_event"),
    [
        ("MAT v2", lambda name, dur, args: name == "MatMul_v2"),
        ("/^mat.*[13]$/", lambda name, dur, args: name == "MatMul_v1"),
        ("矩阵", lambda name, dur, args: name == "矩阵 mul"),
        ("dur>=3us dur<5us", lambda name, dur, args: 3 <= dur < 5),
        ("dur<=3us", lambda name, dur, args: dur <= 3),
        ("arg:STREAM=3 mm", lambda name, dur, args: name == "aten::mm" and args["stream"] == 3),
        ("arg:3", lambda name, dur, args: args["stream"] == 3 or "3" in args["Shape"]),
        ("arg:stream=1", lambda name, dur, args: args["stream"] == 1),
        ("arg:[[4", lambda name, dur, args: args["Shape"].startswith("[[4")),
        ('arg:Shape="Ä\n2"', lambda name, dur, args: True),
        ("arg:stream=Ä", lambda name, dur, args: False),
        ("arg:stream=", lambda name, dur, args: False),
        ("arg:list=2, arg:stream=1", lambda name, dur, args: args["list"][0] == 2 and args["stream"] == 1),
    ],
)
def test_a_search_finds_what_a_loop_finds(
    timeline: Timeline, events: list[dict[str, Any]], text: str, matches_event: Any
) -> None:
    wanted = sorted(
        (one["name"], round(float(one["ts"]) * 1000), one["dur"] * 1000)
        for one in events
        if matches_event(one["name"], one["dur"], one["args"])
    )
    answer = ask(timeline, "search", q=text, limit=1000)
    hits = [(answer["names"][hit[5]], hit[1] + timeline.base_ns, hit[2]) for hit in answer["hits"]]
    assert sorted(hits) == wanted
    assert answer["total"] == len(wanted)
    page, total = Members(timeline, range(4), 0, 10**9, search=text).page("dur", True, 0, 5)
    assert total == len(wanted)
    assert page.ints("dur").tolist() == sorted((dur for _, _, dur in wanted), reverse=True)[:5]


@pytest.mark.parametrize("near", [0, 1_000_000, 2_500_000, 10**9])
def test_the_hits_around_a_time_do_not_depend_on_the_pieces(
    timeline: Timeline, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = around(timeline, "m", 17, near)
    starts = np.sort(timeline.rows.start[matches.matcher(timeline, "m").ids(0, timeline.slice_count)])
    assert timeline.rows.start[whole.id].tolist() == starts[whole.first : whole.first + 17].tolist()
    place = int(starts.searchsorted(near))
    assert whole.first == max(0, min(place - 8, len(starts) - 17))
    monkeypatch.setattr(matches, "_CHUNK", 3)
    small = around(timeline, "m", 17, near)
    assert (small.id.tolist(), small.totals, small.marks[0].tolist()) == (
        whole.id.tolist(),
        [240 + 80],
        whole.marks[0].tolist(),
    )


def test_marks_are_the_first_hits_of_equal_parts(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "MAX_MARKS", 7)
    begin, end = timeline.slice_bounds or (0, 0)
    starts = np.sort(timeline.rows.start[matches.matcher(timeline, "m").ids(0, timeline.slice_count)]).tolist()
    width = -(-(end - begin) // 7)
    first = {(start - begin) // width: start for start in reversed(starts)}
    assert around(timeline, "m", 1).marks[0].tolist() == sorted(first.values()) and len(first) == 7
    monkeypatch.setattr(matches, "MAX_ALL_MARKS", 4)
    two = matches.search([matches.Placed(timeline, timeline.base_ns)] * 2, "m", 1)
    assert [len(marks) for marks in two.marks] == [2, 2], "timelines share them"


def test_hostile_expressions_end_soon(timeline: Timeline) -> None:
    started = time.process_time()
    for pattern in ("(a+)+$", "(.*)*" * 20 + "z", r"(\w+\s?)*z"):
        around(timeline, f"/{pattern}/", 1)
    assert time.process_time() - started < 2
    for pattern in ("(", "(x{1000}){1000}", r"(a)\1"):
        with pytest.raises(BadRequest, match=re.escape("regular expression")):
            around(timeline, f"/{pattern}/", 1)


def test_a_search_stops_when_the_client_goes(timeline: Timeline) -> None:
    for text in ("stops", "arg:1"):
        with pytest.raises(ClientGone):
            around(timeline, text, 1, is_gone=lambda: True)


def test_arguments_are_not_searched_in_a_changed_file(tmp_path: Path) -> None:
    changed, _ = open_trace([event("a", 1, 1, args={"k": "v"})], tmp_path)
    assert around(changed, "arg:k=v", 1).totals == [1]
    (path,) = tmp_path.rglob("trace_view.json")
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(NotFound, match="changed"):
        around(changed, "arg:k=w", 1)


def test_the_memory_of_a_search_grows_with_the_hits_that_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, _ = open_trace([event("a", time, 1) for time in range(0, 60_000, 2)], tmp_path)
    monkeypatch.setattr(matches, "_CHUNK", 1000)
    around(many, "a", 10)
    tracemalloc.start()
    try:
        assert around(many, "a", 10).totals == [30_000]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 30_000 * 8, "the ids of all hits would take more"


def placed_ranks(
    events: list[dict[str, Any]], folder: Path
) -> tuple[list[matches.Placed], list[tuple[int, str, int, int]]]:
    """Two ranks of other clocks and names on one axis, and (start on the axis, name, duration, rank) of their slices."""
    own = [events[:150], [{**one, "name": one["name"].replace("v", "w")} for one in events[150:]]]
    ranks = [open_trace([metadata("process_name", 1, name="Python"), *some], folder)[0] for some in own]
    placed = [matches.Placed(ranks[0], ranks[0].base_ns - 77), matches.Placed(ranks[1], ranks[1].base_ns + 1_000_003)]
    expected = [
        (timeline.base_ns + int(timeline.rows.start[one]) - zero, str(timeline.brief(one)["name"]), number, one)
        for number, (timeline, zero) in enumerate((at.timeline, at.zero) for at in placed)
        for one in range(timeline.slice_count)
    ]
    return placed, [hit for hit in expected if "m" in hit[1].lower()]


@pytest.mark.parametrize("near", [-(10**9), 1_234_567, 10**9])
def test_hits_of_two_ranks_are_one_list_by_time(events: list[dict[str, Any]], tmp_path: Path, near: int) -> None:
    placed, expected = placed_ranks(events, tmp_path)
    expected.sort(key=lambda hit: (hit[0], hit[2], hit[3]))
    found = matches.search(placed, "m", 30, near)
    shown = [found.names[one] for one in found.name.tolist()]
    hits = list(zip(found.start.tolist(), shown, found.part.tolist(), found.id.tolist()))
    place = sum(hit[0] < near for hit in expected)
    assert found.first == max(0, min(place - 15, len(expected) - 30))
    assert hits == expected[found.first : found.first + 30]
    assert found.totals == [sum(hit[2] == rank for hit in expected) for rank in (0, 1)]
    starts = [{hit[0] for hit in expected if hit[2] == rank} for rank in (0, 1)]
    assert all(set(marks.tolist()) <= starts[rank] for rank, marks in enumerate(found.marks))
    assert [min(marks.tolist()) for marks in found.marks] == [min(some) for some in starts]
    briefs = [placed[part].timeline.brief(one) for part, one in zip(found.part.tolist(), found.id.tolist())]
    places = list(zip(found.track.tolist(), found.depth.tolist()))
    assert places == [(one["track"], one["depth"]) for one in briefs]


@pytest.mark.parametrize("sort", ["start", "name", "rank", "dur", "row"])
@pytest.mark.parametrize("desc", [False, True])
def test_the_list_of_two_ranks_is_sorted_over_both(
    events: list[dict[str, Any]], tmp_path: Path, sort: str, desc: bool
) -> None:
    placed, expected = placed_ranks(events, tmp_path)
    keys = {
        "start": lambda hit: (hit[0], hit[2]),
        "name": lambda hit: (natural_key(hit[1]), hit[2]),
        "rank": lambda hit: (hit[2], hit[0]),
        "dur": lambda hit: (int(placed[hit[2]].timeline.rows.dur[hit[3]]), hit[2]),
        "row": lambda hit: (placed[hit[2]].timeline.brief(hit[3])["track"], hit[2]),
    }
    key = keys[sort]
    expected.sort(key=lambda hit: (*key(hit), hit[3]))
    if desc:
        expected.sort(key=lambda hit: key(hit)[0], reverse=True)
    listed = list_hits(placed, "m")
    table, total = listed.page(sort, desc, 40, 50)
    wanted = expected[40:90]
    rows = zip(table.ints("start").tolist(), table.text("name").tolist(), table.ints("part").tolist())
    assert (list(rows), total) == ([hit[:3] for hit in wanted], len(expected))
    assert table.ints("id").tolist() == [hit[3] for hit in wanted]
    assert set(table.text("process").tolist()) == {"Python"}
    assert table.text("thread").tolist() == [placed[hit[2]].timeline.brief(hit[3])["thread"] for hit in wanted]
    recorded = [start for one in listed.tables() for start in one.ints("start").tolist()]
    assert sorted(recorded) == sorted(start + placed[rank].zero for start, _, rank, _ in expected)


def test_a_trace_that_changes_during_a_search_for_an_argument_is_reported(
    events: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline = open_trace([metadata("process_name", 1, name="Python"), *events], tmp_path)[0]
    (path,) = tmp_path.rglob("trace_view.json")
    read = ArgsFile.read

    def changes(self: ArgsFile, offset: int, length: int) -> bytes:
        found = read(self, offset, length)
        path.write_bytes(path.read_bytes() + b" ")
        return found

    monkeypatch.setattr(ArgsFile, "read", changes)
    with pytest.raises(NotFound, match="changed"):
        around(timeline, "arg:stream=3", 10)


def test_an_argument_that_is_everywhere_is_refused_before_its_places_fill_the_memory() -> None:
    """`arg:1` on 20 MB took 932 MB."""

    class File:
        data = b"1" * 1_000_000

        def stamp(self) -> tuple[int, int]:
            return len(self.data), 0

        def read(self, start: int, size: int) -> bytes:
            return self.data[start : start + size]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(args_search, "MAX_PLACES", 1000)
        tracemalloc.start()
        try:
            with pytest.raises(BadRequest):
                args_search._places(cast(ArgsFile, File()), "", "1", lambda: False)
            assert tracemalloc.get_traced_memory()[1] < 3 * len(File.data)
        finally:
            tracemalloc.stop()


def test_marks_are_first_hits_of_equal_parts() -> None:
    """Ten parts of a timeline that begins at 1000."""
    marks = matches._Marks(cast(Timeline, SimpleNamespace(slice_bounds=(1000, 2000))), 10)
    marks.add(np.array([1000, 1099, 1100, 1999]))
    marks.add(np.array([1050, 1150, 1950]))
    assert marks.starts().tolist() == [1000, 1100, 1950]


@pytest.mark.parametrize("chunk", [1, 7])
def test_bars_of_hits_do_not_depend_on_the_pieces_that_are_searched(
    chunk: int, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[list[int]]:
        rows = range(len(timeline.rows.first) - 1)
        shown = matches.matching_bars(timeline, rows, 0, 10**9, 2e5, "a", 1 << 20, False, lambda: False)
        return [np.asarray(getattr(shown, key)).tolist() for key in ("id", "start", "end", "count", "busy", "parts")]

    whole = found()
    assert max(whole[3]) > 2
    monkeypatch.setattr(matches, "_CHUNK", chunk)
    assert found() == whole


def test_hits_are_counted_and_listed_by_kind_of_row() -> None:
    texts = [
        '{"ph":"M","name":"process_name","pid":1,"args":{"name":"Ascend Hardware"}}',
        '{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"NPU 0"}}',
        '{"ph":"M","name":"process_name","pid":2,"args":{"name":"Python"}}',
        '{"ph":"M","name":"process_name","pid":3,"args":{"name":"Communication"}}',
        *(f'{{"ph":"X","name":"m","pid":{pid},"tid":1,"ts":"{ts}","dur":{dur}}}' for pid, ts, dur in EVENTS),
    ]
    timeline, _ = open_trace("[" + ",".join(texts) + "]")
    placed = [matches.Placed(timeline, timeline.base_ns)] * 2
    assert matches.search(placed, "m", 10).by_kind == {"kernels": 4, "communication": 2, "host": 6}
    table, total = list_hits(placed, "m", "kernels").page("dur", True, 0, 10)
    assert total == 4 and table.ints("dur").tolist() == [7000, 7000, 2000, 2000]
    assert set(table.text("process").tolist()) == {"Ascend Hardware"}


EVENTS = ((1, 1, 2), (1, 5, 7), (2, 1, 1), (2, 3, 1), (2, 5, 1), (3, 1, 9))
