"""Traces with many threads: small tracks are written together, as if each were written alone."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.store.timeline import build as timeline_build
from tb_npu_plugin.store.timeline import layout as timeline_layout
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views import trace as trace_view


def build(trace: Path, out: Path) -> dict[str, bytes]:
    out.mkdir()
    build_timeline(trace, out, ProblemLog(), lambda count: None)
    return {path.name: path.read_bytes() for path in out.iterdir() if path.suffix == ".npy"}


@pytest.mark.parametrize("last", [5_000.5, 9.2e15])  # with the latter the tracks do not fit one after the other
def test_small_tracks_together_are_as_each_alone(last: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    events = [
        {
            "ph": "X",
            "name": f"n{rng.randrange(9)}",
            "pid": rng.randrange(3),
            "tid": rng.randrange(60),
            "ts": rng.randrange(400) / 4,
            "dur": rng.choice((0, 1, 2.5, 40)),
            "args": {"x": number},
        }
        for number in range(600)
    ]
    events += [{"ph": "X", "name": "deep", "pid": 7, "tid": 7, "ts": 1, "dur": 900 - number} for number in range(300)]
    events.append({"ph": "X", "name": "last", "pid": 1, "tid": 1, "ts": last, "dur": 1})
    trace = tmp_path / "trace_view.json"
    trace.write_text(json.dumps(events))
    together = build(trace, tmp_path / "together")
    calls = []
    real = timeline_layout._Writer.tracks
    monkeypatch.setattr(timeline_layout._Writer, "tracks", lambda *args: (calls.append(1), real(*args))[1])
    monkeypatch.setattr(timeline_layout, "_BATCH", 1)
    assert build(trace, tmp_path / "alone") == together
    assert len(calls) > 100


def test_tracks_above_the_limit_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (timeline_build, trace_view):
        monkeypatch.setattr(module, "MAX_TRACKS", 30)
    trace, log = tmp_path / "trace_view.json", ProblemLog()
    trace.write_text(json.dumps([{"ph": "X", "name": "a", "pid": 1, "tid": n, "ts": n, "dur": 1} for n in range(40)]))
    (tmp_path / "out").mkdir()
    build_timeline(trace, tmp_path / "out", log, lambda count: None)
    (problem,) = log.list()
    assert (problem.code, problem.found) == ("too_many_tracks", "40")
    timeline = Timeline.open(tmp_path / "out", trace)
    span = SimpleNamespace(timeline=timeline, trace_version="", base_ns=timeline.base_ns, capture=Capture())
    data = trace_view.build(cast("Any", SimpleNamespace(spans=[span]))).data
    assert [len(process["threads"]) for process in data["processes"]] == [30]
    assert data["slices"] == 40
