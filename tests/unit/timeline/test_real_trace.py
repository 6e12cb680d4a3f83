"""Invariants of a real trace (docs/facts/ascend_pt.md, Invariants) through the timeline."""

from __future__ import annotations

import csv
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline


@pytest.fixture(scope="module", params=[0, 1])
def opened(request: pytest.FixtureRequest, real_text_run: Path, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = real_text_run / f"rank{request.param}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    out, log, trace = tmp_path_factory.mktemp("timeline"), ProblemLog(), folder / "trace_view.json"
    done: list[int] = []
    build_timeline(trace, out, log, done.append)
    assert log.list() == []
    assert sum(done) == trace.stat().st_size
    return folder, Timeline.open(out, trace), json.loads(trace.read_bytes())


def nanos(text: object) -> int:
    return round(Decimal(str(text)) * 1000)


def track(timeline: Timeline, process: str, name: str) -> int:
    return next(i for i, t in enumerate(timeline.tracks) if (t["process"], t["name"]) == (process, name))


def durations(timeline: Timeline, number: int) -> tuple[list[int], list[int]]:
    rows = timeline.rows
    part = slice(int(rows.first[rows.track_row[number]]), int(rows.first[rows.track_row[number + 1]]))
    return rows.start[part].tolist(), rows.dur[part].tolist()


def test_every_complete_event_is_a_slice(opened) -> None:  # type: ignore[no-untyped-def]
    _, timeline, events = opened
    wanted = Counter((e["name"], nanos(e["ts"]), nanos(e["dur"])) for e in events if e["ph"] == "X")
    rows = timeline.rows
    columns = zip(timeline.name.tolist(), rows.start.tolist(), rows.dur.tolist())
    assert Counter((timeline.names[n], timeline.base_ns + s, d) for n, s, d in columns) == wanted
    assert timeline.base_ns == min(nanos(e["ts"]) for e in events if e["ph"] in "XC")
    for index in range(0, timeline.slice_count, 97):
        found = timeline.detail(index)
        assert any(
            e["ph"] == "X"
            and e["name"] == found["name"]
            and str(nanos(e["ts"])) == found["start_epoch_ns"]
            and list(e.get("args", {})) == list(found["args"])
            for e in events
        )


def test_overlap_analysis_is_the_step_trace(opened) -> None:  # type: ignore[no-untyped-def]
    folder, timeline, _ = opened  # invariants 2 and 3
    with (folder / "step_trace_time.csv").open(newline="", encoding="utf-8") as file:
        (step,) = csv.DictReader(file)
    for name in ("Computing", "Communication", "Communication(Not Overlapped)", "Free"):
        _, durs = durations(timeline, track(timeline, "Overlap Analysis", name))
        assert abs(sum(durs) - nanos(step[name])) <= len(durs)
    three = [
        durations(timeline, track(timeline, "Overlap Analysis", name))
        for name in ("Computing", "Communication(Not Overlapped)", "Free")
    ]
    first = min(start for starts, _ in three for start in starts)
    last = max(s + d for starts, durs in three for s, d in zip(starts, durs))
    assert sum(sum(durs) for _, durs in three) == last - first


def test_every_kernel_is_in_the_trace(opened) -> None:  # type: ignore[no-untyped-def]
    folder, timeline, _ = opened  # invariant 8
    with (folder / "kernel_details.csv").open(newline="", encoding="utf-8") as file:
        kernels = list(csv.DictReader(file))
    rows = timeline.rows
    columns = zip(timeline.name.tolist(), rows.start.tolist(), rows.dur.tolist())
    found = {(timeline.names[n], timeline.base_ns + s): d for n, s, d in columns}
    assert len(kernels) > 180
    for kernel in kernels:
        start = nanos(kernel["Start Time(us)"].strip())
        durs = [found[key] for shift in (0, -1, 1) if (key := (kernel["Name"], start + shift)) in found]
        assert durs
        assert abs(durs[0] - nanos(kernel["Duration(us)"])) <= 1


def test_every_flow_is_joined(opened) -> None:  # type: ignore[no-untyped-def]
    _, timeline, events = opened  # invariant 13
    wanted = Counter(e["cat"] for e in events if e["ph"] == "f")
    found: Counter[str] = Counter()
    launched = 0
    for index in range(timeline.slice_count):
        for arrow in timeline.flows(index):
            if arrow["from"]["id"] != index:
                continue
            found[arrow["kind"]] += 1
            if arrow["kind"] == "async_npu":
                launched += arrow["to"]["process"] in ("Ascend Hardware", "HCCL")
                assert arrow["from"]["process"] == "Python"
    assert found == wanted
    assert launched == wanted["async_npu"] == 210
    assert timeline.flows_unmatched == {}
