"""A range as a Chrome trace: read again, it is what was exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.store.timeline import export
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.ask import ask
from tests.support.trace import event, flow, metadata, open_trace

WHOLE = {"t0": 0, "t1": 10**12}


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    random = np.random.default_rng(7)
    overlapping = [event(f"k{at}", 10 * at + 0.123, int(random.integers(1, 40)), 3) for at in range(40)]
    events = [
        metadata("process_name", 1, name='Python \\ "A"'),
        metadata("process_labels", 1, labels="CPU"),
        metadata("process_name", 2, name="Device"),
        metadata("thread_name", 1, 3, name="Stream 3"),
        event("outer", 1, 100, 1, args={"Call stack": "a;\r\nb", "n": 12345678901234567890, "x": [1, {"y": None}]}),
        event("inner", 2, 50.001, 1, cat="cpu_op"),
        event("同时", 2, 50.001, 1),
        event("instant", 60, 0, 1),
        *overlapping,
        flow("s", 7, 2, 1, "launch"),
        flow("f", 7, 10.123, 3, "launch", bp="e"),
        event("other", 500, 1, 9, 2),
        *({"ph": "C", "name": "mem", "pid": 2, "ts": t, "args": {"KB": t / 3, "B": 1}} for t in range(0, 300, 50)),
    ]
    return open_trace(events, tmp_path)[0]


def exported(timeline: Timeline, **fields: Any) -> Any:
    return json.loads(ask(timeline, "export", **{**WHOLE, **fields}))


def slices(timeline: Timeline) -> list[tuple[Any, ...]]:
    """Everything about each slice but its row."""
    found = []
    for number in range(timeline.slice_count):
        brief, args = timeline.brief(number), timeline.args(number)[0]
        parent = int(timeline.parent[number])
        inside = timeline.brief(parent)["name"] if parent >= 0 else ""
        start = timeline.base_ns + brief["start"]
        if brief["thread"].startswith("Stream"):
            inside = ""
        found.append((brief["name"], start, brief["dur"], timeline.category_of(number), inside, json.dumps(args)))
    return sorted(found)


def flow_ends(timeline: Timeline) -> list[tuple[int, str]]:
    """Start of the source and name of the target of each flow."""
    source, target = (ids.tolist() for ids in timeline.flow_pairs("launch"))
    return [(timeline.brief(a)["start"], timeline.brief(b)["name"]) for a, b in zip(source, target)]


def again(timeline: Timeline, folder: Path, **params: str) -> Timeline:
    return open_trace(exported(timeline, **params)["traceEvents"], folder)[0]


@pytest.mark.parametrize("piece", [2, export.PIECE])
def test_an_exported_trace_is_the_trace(
    timeline: Timeline, tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PIECE", piece)
    found = again(timeline, tmp_path)
    shift = timeline.base_ns
    assert [(one[0], one[1] + shift, *one[2:]) for one in slices(found)] == slices(timeline)
    curves = [timeline.curves.value, timeline.curves.time, found.curves.value, found.curves.time]
    assert np.array_equal(curves[0], curves[2]) and np.array_equal(curves[1], curves[3])
    assert flow_ends(found) == flow_ends(timeline) != []
    processes = {(track["process"], track["label"]) for track in found.tracks}
    assert processes == {(track["process"], track["label"]) for track in timeline.tracks}


def test_slices_of_a_thread_are_nested_for_other_viewers(timeline: Timeline) -> None:
    """As viewers require, partially overlapping slices of a stream are on several threads."""
    threads: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for one in exported(timeline)["traceEvents"]:
        if one["ph"] == "X":
            threads.setdefault((one["pid"], one["tid"]), []).append((one["ts"], one["ts"] + one["dur"]))
    assert len(threads) > 3
    names = [one["args"]["name"] for one in exported(timeline)["traceEvents"] if one["name"] == "thread_name"]
    of_stream = [one for one in names if one.startswith("Stream 3")]
    assert of_stream == ["Stream 3", *(f"Stream 3 ({number})" for number in range(2, len(of_stream) + 1))]
    for spans in threads.values():
        stack: list[float] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= start + 1e-9:
                stack.pop()
            assert not stack or end <= stack[-1] + 1e-9
            stack.append(end)


def test_a_range_has_what_overlaps_it_and_whole_flows(timeline: Timeline) -> None:
    found = exported(timeline, t0=60_000, t1=61_000, tracks=[0])["traceEvents"]
    assert sorted(one["name"] for one in found if one["ph"] == "X") == ["instant", "outer"]
    assert not [one for one in found if one["ph"] in "sfC"]
    everything = exported(timeline, t0=100_000, t1=100_001)
    values = [(one["ts"], one["args"]) for one in everything["traceEvents"] if one["ph"] == "C"]
    assert sorted(values, key=str) == [(100, {"B": 1.0}), (100, {"KB": 100 / 3})], "the values at its start"
    assert everything["otherData"]["base_ns"] == str(timeline.base_ns)


def test_a_trace_that_changed_is_exported_without_arguments(timeline: Timeline, tmp_path: Path) -> None:
    (path,) = tmp_path.rglob("trace_view.json")
    path.write_bytes(path.read_bytes() + b" ")
    found = exported(timeline)
    (problem,) = found["metadata"]["problems"]
    assert "changed" in problem
    assert not [one for one in found["traceEvents"] if one["ph"] == "X" and "args" in one]


def test_a_trace_that_changes_meanwhile_says_what_the_file_lacks(
    timeline: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PIECE", 2)
    (path,) = tmp_path.rglob("trace_view.json")
    trace = export.ChromeTrace([export.ExportedRank(Placed(timeline, timeline.base_ns))], 0, 10**12)
    pieces = trace.pieces()
    begun = next(pieces)
    while b'"outer"' not in begun:
        begun += next(pieces)
    path.write_bytes(path.read_bytes() + b" ")
    found = json.loads(begun + b"".join(pieces))
    (problem,) = found["metadata"]["problems"]
    assert "arguments not exported" in problem and "changed" in problem
    assert [one["args"]["n"] for one in found["traceEvents"] if one["name"] == "outer"] == [12345678901234567890]


def test_ranks_of_one_file_are_processes_of_their_own_on_one_clock(timeline: Timeline, tmp_path: Path) -> None:
    """700 ns are taken from the times of the second rank."""
    ranks = [
        export.ExportedRank(Placed(timeline, timeline.base_ns + added), name)
        for name, added in (("rank 0", 0), ("rank 1", 700))
    ]
    found = json.loads(b"".join(export.ChromeTrace(ranks, -700, 10**9).pieces()))
    assert [int(one["base_ns"]) - timeline.base_ns for one in found["otherData"]["ranks"]] == [-700, 0]
    (tmp_path / "again").mkdir()
    again = open_trace(found["traceEvents"], tmp_path / "again")[0]
    own = slices(timeline)
    moved = [(name, start + shift - timeline.base_ns, *rest) for name, start, *rest in own for shift in (700, 0)]
    assert slices(again) == sorted(moved)
    names = {track["process"] for track in timeline.tracks}
    assert {track["process"] for track in again.tracks} == {
        f"{rank} · {name}" for rank in ("rank 0", "rank 1") for name in names
    }
    ends = [(start + shift, name) for start, name in flow_ends(timeline) for shift in (0, 700)]
    assert sorted(flow_ends(again)) == sorted(ends), "flows of one rank do not lead to another"
    left_out = export.ChromeTrace(ranks, 60_000, 61_000, missing=["rank 2 · not exported"])
    some = json.loads(b"".join(left_out.pieces()))
    count = sum(one["name"] == "outer" for one in some["traceEvents"])
    assert (count, some["metadata"]["problems"]) == (2, ["rank 2 · not exported"])
