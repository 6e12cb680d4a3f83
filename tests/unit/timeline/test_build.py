"""From trace events to tracks, slices, flows and counters."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis import packing
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.seen import Seen
from tb_npu_plugin.store.timeline import build as timeline_build
from tb_npu_plugin.store.timeline import layout as timeline_layout
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views import trace as trace_view
from tb_npu_plugin.views.base import ViewInput
from tests.support.span import TestSpan
from tests.support.trace import event, flow, metadata, open_trace


def slices_of(timeline: Timeline) -> list[dict[str, Any]]:
    return [timeline.brief(index) for index in range(timeline.slice_count)]


def test_names_and_order_of_processes_and_threads(tmp_path: Path) -> None:
    events = [
        metadata("process_name", 1, name="Something"),
        metadata("process_sort_index", 1, sort_index=0),
        metadata("process_name", 2, name="CANN"),
        metadata("process_name", 3, name="Overlap Analysis"),
        metadata("process_labels", 3, labels="NPU"),
        metadata("process_name", 4, name="<script>alert(1)</script>"),
        metadata("process_labels", 5, labels="orphan of level 0"),
        metadata("process_name", 6, name="HBM"),
        metadata("process_sort_index", 6, sort_index=-5),
        metadata("thread_name", 3, 0, name="Computing"),
        metadata("thread_name", 2, 10, name="Thread 10"),
        metadata("thread_sort_index", 2, 9, sort_index=11),
        metadata("thread_sort_index", 2, 10, sort_index=10),
        event("a", 1, 1, 0, 3),
        event("b", 1, 1, 9, 2),
        event("b", 1, 1, 10, 2),
        event("c", 1, 1, 1, 1),
        event("d", 1, 1, 1, 4),
        event("e", 1, 1, 1, 77),
        {"ph": "C", "name": "HBM 0", "pid": 6, "ts": 1, "args": {"Read(MB/s)": 5}},
    ]
    timeline, problems = open_trace(events, tmp_path)
    assert [(track["process"], track["label"], track["name"], track["kind"]) for track in timeline.tracks] == [
        ("Overlap Analysis", "NPU", "Computing", "slices"),
        ("CANN", "", "Thread 10", "slices"),
        ("CANN", "", "tid 9", "slices"),
        ("Something", "", "tid 1", "slices"),
        ("<script>alert(1)</script>", "", "tid 1", "slices"),
        ("pid 77", "", "tid 1", "slices"),
        ("HBM", "", "HBM 0", "counter"),
    ]
    assert problems == []


def test_ids_of_any_length_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    """One that Python refuses to read as a number lost the trace."""
    long = "9" * 5000
    events = [{**event("a", 1, 1), "pid": pid} for pid in (long, "10", "9", "x", 8)]
    timeline, problems = open_trace(events, tmp_path)
    assert [track["process"] for track in timeline.tracks] == ["pid 8", "pid 9", "pid 10", f"pid {long}", "pid x"]
    assert problems == []


def test_begin_end_pairs_and_instants(tmp_path: Path) -> None:
    def mark(phase: str, name: str, time: int, tid: int = 1) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": 1, "tid": tid, "ts": time}

    events = [
        mark("B", "outer", 10),
        mark("B", "inner", 20),
        {"ph": "E", "pid": 1, "tid": 1, "ts": 30},
        mark("E", "outer", 50),
        mark("E", "alone", 55),
        mark("B", "never ends", 60),
        mark("i", "moment", 70),
        mark("I", "moment", 80, 2),
    ]
    timeline, problems = open_trace(events, tmp_path)
    found = [(s["name"], s["start"], s["dur"], s["depth"]) for s in slices_of(timeline)]
    assert found == [
        ("outer", 0, 40_000, 0),
        ("never ends", 50_000, 20_000, 0),
        ("inner", 10_000, 10_000, 1),
        ("moment", 60_000, 0, 1),
        ("moment", 70_000, 0, 0),
    ]
    assert [(p.code, p.found) for p in problems] == [("unpaired_event", '1 "E" without "B", 1 "B" without "E"')]


def test_an_event_without_what_a_slice_needs_is_skipped(tmp_path: Path) -> None:
    events = [
        event("good", 1, 1),
        {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
        {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": "soon", "dur": 1},
        {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 1},
        {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": -5},
        {"ph": "Z", "name": "x", "pid": 1, "tid": 1, "ts": 1},
    ]
    timeline, problems = open_trace(events, tmp_path)
    assert [s["name"] for s in slices_of(timeline)] == ["good"]
    assert [(p.code, p.count) for p in problems] == [("incomplete_event", 4), ("unknown_phase", 1)]


@pytest.mark.parametrize(
    ("phase", "lost", "names"), [("X", "dur", "dur"), ("i", "name", "name"), ("B", "ts", "ts"), ("s", "id", "id")]
)
def test_an_incomplete_event_is_told_with_what_it_lacks(phase: str, lost: str, names: str, tmp_path: Path) -> None:
    whole = {**event("a", 1, 1), "ph": phase, "id": 7}
    _, problems = open_trace([event("good", 1, 1), {key: whole[key] for key in whole if key != lost}], tmp_path)
    assert [(p.code, p.found) for p in problems] == [("incomplete_event", f"no valid {names}")]


def flows_of(timeline: Timeline, name: str) -> list[tuple[str, str, str]]:
    (one,) = (s["id"] for s in slices_of(timeline) if s["name"] == name)
    return [(f["kind"], f["from"]["name"], f["to"]["name"]) for f in timeline.flows(one)]


def test_flows_of_a_graph_replay_begin_at_its_call(tmp_path: Path) -> None:
    """Kineto writes an end there, and all of them counted as unmatched."""
    events = [
        event("hipGraphLaunch", 10, 20),
        event("hipGetDevice", 40, 5),
        event("copy 1", 200, 5, 2),
        event("copy 2", 210, 5, 2),
        *(flow("f", 7, start, track, bp="e") for start, track in ((10, 1), (200, 2), (210, 2))),
        *(flow("f", 8, start, track, bp="e") for start, track in ((40, 1), (200, 2))),
    ]
    timeline, problems = open_trace(events, tmp_path)
    assert flows_of(timeline, "hipGraphLaunch") == [
        ("k", "hipGraphLaunch", "copy 1"),
        ("k", "hipGraphLaunch", "copy 2"),
    ]
    assert [(one.code, one.count) for one in problems] == [("unmatched_flow", 2)]


def test_flows_join_the_slices_they_start_and_end_in(tmp_path: Path) -> None:
    big = 340282366920938463463374607431768211455
    events = [
        event("outer", 0, 100),
        event("launch", 10, 20),
        event("copy 1", 200, 5, 2),
        event("copy 2", 210, 5, 2),
        event("later", 400, 5, 3),
        flow("s", big, 15),  # inside launch, not at its start; ids beyond 64 bits
        flow("f", str(big), 200, 2, bp="e"),
        flow("f", big, 210, 2, bp="e"),
        flow("s", big + 1, 16),  # one more id that a float would take for the same
        flow("f", big + 1, 390, 3),  # no bp: binds to the next slice
        flow("s", 1, 5, cat="other"),
        flow("s", 2, 9_999),
        flow("f", 3, 200, 2, bp="e"),
    ]
    timeline, problems = open_trace(events, tmp_path)
    assert flows_of(timeline, "launch") == [
        ("k", "launch", "copy 1"),
        ("k", "launch", "copy 2"),
        ("k", "launch", "later"),
    ]
    assert flows_of(timeline, "copy 2") == [("k", "launch", "copy 2")]
    assert flows_of(timeline, "outer") == []
    assert [(one.code, one.found, one.count) for one in problems] == [("unmatched_flow", "k, other", 3)]
    assert timeline.flow_kinds == ["k"]


def test_a_flow_without_bp_ends_in_the_open_slice_else_in_the_next(tmp_path: Path) -> None:
    events = [event("next", 10, 5), event("later", 20, 5), event("launch", 0, 5, 2)]
    ends = ((1, 7), (2, 12))
    timeline, _ = open_trace(
        [*events, *(one for n, at in ends for one in (flow("s", n, 1, 2), flow("f", n, at)))], tmp_path
    )
    assert timeline.brief(0)["name"] == "next"
    assert flows_of(timeline, "launch") == [("k", "launch", "next")] * 2


def test_flow_steps_make_a_chain_and_reused_ids_new_arrows(tmp_path: Path) -> None:
    events = [event(name, start, 5) for name, start in (("a", 0), ("b", 10), ("c", 20), ("d", 30), ("e", 40))]
    events += [flow("s", 1, 0), flow("t", 1, 10), flow("f", 1, 20, bp="e"), flow("s", 1, 30), flow("f", 1, 40, bp="e")]
    timeline, _ = open_trace(events, tmp_path)
    assert flows_of(timeline, "b") == [("k", "a", "b"), ("k", "b", "c")]
    assert flows_of(timeline, "e") == [("k", "d", "e")]


def test_counters_by_key_and_dimension(tmp_path: Path) -> None:
    def point(name: str, time: int, **args: Any) -> dict[str, Any]:
        return {"ph": "C", "name": name, "pid": 1, "tid": time, "ts": time, "args": args}

    events = [
        point("mem", 20, KB=2.5),
        point("mem", 10, KB="1.5"),
        point("acc", 10, value=1, acc_id=0),
        point("acc", 10, value=2, acc_id=1),
        point("bad", 10, value="N/A"),
    ]
    timeline, problems = open_trace(events, tmp_path)
    assert [(t["name"], t["unit"], t["max_value"], [s[0] for s in t["series"]]) for t in timeline.tracks] == [
        ("acc", "", 2.0, ["value (acc_id 0)", "value (acc_id 1)"]),
        ("mem", "KB", 2.5, ["KB"]),
    ]
    _, _, start, end = timeline.tracks[1]["series"][0]
    assert timeline.curves.time[start:end].tolist() == [0, 10_000]
    assert timeline.curves.value[start:end].tolist() == [1.5, 2.5]
    assert [p.code for p in problems] == ["bad_counter"]


@pytest.mark.parametrize("lost", [{"ts": True}, {"ts": "soon"}, {"name": None}])
def test_a_point_without_a_name_or_a_time_is_reported(lost: dict[str, Any], tmp_path: Path) -> None:
    point = {"ph": "C", "name": "HBM 0", "pid": 6, "ts": 1, "args": {"Read(MB/s)": 5}}
    timeline, problems = open_trace([point, {**point, **lost}], tmp_path)
    assert len(timeline.curves.time) == 1
    assert [(p.code, p.count) for p in problems] == [("bad_counter", 1)]


def test_details_of_a_slice(tmp_path: Path) -> None:
    args = {"big": 2**63, "small": 5, "exact": 0.1, "Call stack": "b.py(1): f;\r\na.py(2): g"}
    text = json.dumps([event("parent", 0, 10), event("child", 2, 3, cat="cpu_op", args=args), event("next", 20, 1)])
    text = text.replace('"exact": 0.1', '"exact": 1736408883688177.930, "nan": NaN')
    timeline, _ = open_trace(text, tmp_path)
    (child,) = (s["id"] for s in slices_of(timeline) if s["name"] == "child")
    (parent,) = (s["id"] for s in slices_of(timeline) if s["name"] == "parent")
    found = timeline.detail(child)
    assert found["args"] == {
        "big": str(2**63),
        "small": 5,
        "exact": "1736408883688177.930",
        "nan": "NaN",
        "Call stack": args["Call stack"],
    }
    assert found["stack"] == ["b.py(1): f", "a.py(2): g"]
    assert (found["category"], found["parent"], found["self"]) == ("cpu_op", {"id": parent, "name": "parent"}, 3000)
    assert found["start_epoch_ns"] == "2000"
    above = timeline.detail(parent)
    assert (above["children"], above["self"], above["previous"], above["next"]) == (1, 7000, None, parent + 1)
    assert (above["args"], above["args_error"], above["stack"]) == ({}, "", None)


def test_args_of_a_file_that_changed_or_went(tmp_path: Path) -> None:
    timeline, _ = open_trace([event("a", 0, 1, args={"x": 1})], tmp_path)
    path = next(tmp_path.glob("*/trace_view.json"))
    path.write_text(path.read_text() + " ")
    assert timeline.args(0) == (None, "trace_view.json has changed since it was read")
    path.unlink()
    found, why = timeline.args(0)
    assert found is None
    assert "cannot be read" in why


def test_gzip_keeps_its_args_when_the_file_is_gone(tmp_path: Path) -> None:
    path, out = tmp_path / "trace_view.json.gz", tmp_path / "out"
    path.write_bytes(gzip.compress(json.dumps([event("a", 0, 1, args={"x": 1})]).encode()))
    out.mkdir()
    build_timeline(path, out, ProblemLog(), lambda n: None)
    path.unlink()
    assert Timeline.open(out, path).detail(0)["args"] == {"x": 1}


@pytest.mark.parametrize("kept", [0, 40, -1])
def test_a_cut_array_is_damaged(kept: int, tmp_path: Path) -> None:
    open_trace([event("a", 0, 1)], tmp_path)
    path = next(tmp_path.rglob("start.npy"))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError):
        Timeline.open(path.parent, tmp_path / "trace_view.json")


@pytest.mark.parametrize("text", ["", "[]", "hello", '[{"ph": "M", "name": "process_name", "pid": 1}]'])
def test_nothing_to_show_is_a_bad_file(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        open_trace(text, tmp_path)


def test_progress_goes_on_after_the_file_is_read_and_ends_at_its_size(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([event(f"a{number}", number, 1) for number in range(2000)]))
    (tmp_path / "timeline").mkdir()
    told: list[int] = []
    build_timeline(path, tmp_path / "timeline", ProblemLog(), told.append)
    size = path.stat().st_size
    assert all(count >= 0 for count in told) and sum(told) == size
    reached = np.cumsum(told)
    assert ((0.3 * size < reached) & (reached < 0.95 * size)).sum() >= 4, "it can be seen to move"


NOW, LATE = 1_749_970_800_123_456, 10**15  # microseconds


def good(count: int = 50) -> list[dict[str, Any]]:
    return [event(f"a{number}", NOW + number, 1) for number in range(count)]


@pytest.mark.parametrize("at", [0, 172_163_581_670, NOW + LATE, NOW - LATE])
@pytest.mark.parametrize("phase", ["X", "i", "C", "s", "B"])
def test_an_event_far_off_is_skipped(at: int, phase: str, tmp_path: Path) -> None:
    stray = {**event("stray", at, 1), "ph": phase, "id": 7, "args": {"value": 5}}
    timeline, problems = open_trace([*good()[:25], stray, *good()[25:]], tmp_path)
    assert (timeline.base_ns, timeline.end_ns) == (NOW * 1000, (NOW + 50) * 1000)
    assert len(slices_of(timeline)) == 50
    (problem,) = problems
    assert (problem.code, problem.count, problem.where) == ("outside_recording", 1, "event 25")
    assert problem.found.startswith(f"begin {at * 1000} ns")


def test_an_end_far_off_is_skipped(tmp_path: Path) -> None:
    timeline, problems = open_trace([*good(), event("endless", NOW, LATE), event("endless", NOW, LATE)], tmp_path)
    assert timeline.end_ns == (NOW + 50) * 1000
    assert len(slices_of(timeline)) == 50
    assert [(one.code, one.count, one.where) for one in problems] == [("outside_recording", 2, "event 50 and 1 more")]


def test_long_columns_go_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.spool.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.shared.repeated_events._PIECE", 7)
    timeline, problems = open_trace([*good()[:25], event("stray", 5, 1), *good()[25:]], tmp_path)
    assert [found["name"] for found in slices_of(timeline)] == [f"a{number}" for number in range(50)]
    assert len(problems) == 1 and not list(tmp_path.glob("*/timeline/kept"))


def test_metadata_have_times_that_say_nothing(tmp_path: Path) -> None:
    named = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "Python"}}
    timeline, problems = open_trace([named, *good()], tmp_path)
    assert problems == [] and timeline.tracks[0]["process"] == "Python"


def arrays(events: list[dict[str, Any]], folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    open_trace(events, folder)
    return {path.name: path.read_bytes() for path in folder.glob("*/timeline/*.npy")}


@pytest.mark.parametrize("last", [5_000.5, 9.2e15])  # with the latter the tracks do not fit one after the other
def test_small_tracks_together_are_as_each_alone(last: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    events = [
        event(
            f"n{rng.randrange(9)}",
            rng.randrange(400) / 4,
            rng.choice((0, 1, 2.5, 40)),
            rng.randrange(60),
            rng.randrange(3),
            args={"x": number},
        )
        for number in range(600)
    ]
    events += [*(event("deep", 1, 900 - number, 7, 7) for number in range(300)), event("last", last, 1)]
    together = arrays(events, tmp_path / "together")
    calls = []
    real = timeline_layout._Writer.tracks
    monkeypatch.setattr(timeline_layout._Writer, "tracks", lambda *args: (calls.append(1), real(*args))[1])
    monkeypatch.setattr(timeline_layout, "_BATCH", 1)
    assert arrays(events, tmp_path / "alone") == together != {}
    assert len(calls) > 100


def test_tracks_above_the_limit_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (timeline_build, trace_view):
        monkeypatch.setattr(module, "MAX_TRACKS", 30)
    points = [{"ph": "C", "name": f"c{n}", "pid": 1, "tid": 1, "ts": n, "args": {"MHz": 5}} for n in range(5)]
    pair = [{**event("b", 50, 1, 39), "ph": phase, "ts": ts} for phase, ts in (("B", 50), ("E", 51))]
    timeline, (problem,) = open_trace([*(event("a", n, 1, n) for n in range(40)), *points, *pair], tmp_path)
    assert timeline.event_count == 30
    assert (problem.code, problem.found) == ("too_many_tracks", "45")
    span = TestSpan(timeline=timeline)
    data = trace_view.build(ViewInput([span], {})).data
    assert [len(process["threads"]) for process in data["processes"]] == [30]
    assert data["slices"] == 41


DEEP = packing.MAX_DEPTH + 2
LOST: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a begin without a time": ([{**event("b", 1, 1), "ph": "B", "ts": None}], "incomplete_event"),
    "a begin without a name, and its end": (
        [{"ph": phase, "pid": 1, "tid": 1, "ts": time} for phase, time in (("B", 1), ("E", 2))],
        "incomplete_event",
    ),
    "an end of a flow without an id": ([flow("s", None, 1)], "incomplete_event"),
    "a flow with one end": ([flow("s", 7, 1)], "unmatched_flow"),
    "a counter without a value": ([{"ph": "C", "name": "c", "pid": 1, "ts": 1, "args": {"acc_id": 1}}], "bad_counter"),
    "metadata of another kind": ([metadata("uptime", 1, seconds=5)], "unused_metadata"),
    "a name without its value": ([metadata("thread_name", 1, 1, nothing=5)], "unexpected_shape"),
    "pairs too deep": (
        [{**event("b", 0, 1), "ph": "B" if time <= DEEP else "E", "ts": time} for time in range(1, 2 * DEEP + 1)],
        "too_deep",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_events_that_are_left_out_are_told(name: str, tmp_path: Path) -> None:
    lost, code = LOST[name]
    path, log = tmp_path / "trace_view.json", ProblemLog()
    path.write_text(json.dumps([event("good", 0, 9_999, 9), *lost]))
    (tmp_path / "timeline").mkdir()
    build_timeline(path, tmp_path / "timeline", log, lambda _: None)
    assert [problem.code for problem in log.list()] == [code]
    told = 4 if code == "too_deep" else len(lost)
    assert log.seen.of(path.name)["events", ""] == Seen(seen=len(lost) + 1, shown=len(lost) + 1 - told, told=told)
    assert Timeline.open(tmp_path / "timeline", path).event_count == len(lost) + 1 - told


def test_tracks_are_not_packed_as_one_where_their_times_would_overflow() -> None:
    """Each track is moved behind the one before it."""

    def starts(last: int) -> list[int] | None:
        times = np.array([0, last, 5], dtype=np.int64)
        found = timeline_layout._shift_tracks(times, np.ones(3, dtype=np.int64), np.array([2, 3]))
        return None if found is None else found.tolist()

    assert starts(100) == [0, 100, 5 + 102]
    assert starts(1 << 61) is None


@pytest.mark.parametrize("rare", [0, 20])
def test_a_point_that_lacks_a_key_of_its_counter_is_reported(rare: int, tmp_path: Path) -> None:
    points = [
        {"ph": "C", "name": "HBM", "pid": 6, "ts": at, "args": {"Read(MB/s)": 5, "Write(MB/s)": 6}} for at in range(21)
    ]
    points[rare]["args"] = {"Read(MB/s)": 5}
    _, problems = open_trace(points, tmp_path)
    assert [(one.code, one.where, one.count) for one in problems] == [("lost_key", f"event {rare}, Write(MB/s)", 1)]
