"""Timelines of the beginning of a trace while the rest is read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.store.timeline import previews as timeline_previews
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.scanners import both_scanners
from tests.support.trace import event, metadata

pytestmark = both_scanners
COUNT = 20_000


def build(path: Path, out: Path) -> list[tuple[int | None, int, list[str], Any]]:
    """(bytes, slices, tracks, args of the last slice) of each timeline that is reported, the final one last."""
    found = []

    def look(folder: Path) -> None:
        timeline = Timeline.open(folder, path)
        tracks = [track["process"] for track in timeline.tracks]
        args = timeline.detail(timeline.slice_count - 1)["args"]
        found.append((timeline.partial, timeline.slice_count, tracks, args))

    log = ProblemLog()
    out.mkdir()
    build_timeline(path, out, log, lambda n: None, look)
    look(out)
    assert log.list() == []
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_previews_grow_and_stop_at_a_quarter(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [metadata("process_name", 1, name="Python"), *(event("a", n, 1, args={"n": n}) for n in range(COUNT))]
    text = json.dumps(events).encode()
    path = tmp_path / ("trace_view.json.gz" if packed else "trace_view.json")
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    size = path.stat().st_size
    monkeypatch.setattr(timeline_previews, "FIRST", size // 40)
    monkeypatch.setattr(timeline_previews, "GROWTH", 4)
    monkeypatch.setattr("tb_npu_plugin.scan.source.CHUNK", len(text) // 100)
    monkeypatch.setattr("tb_npu_plugin.scan.source._GZIP_READ", size // 100)
    found = build(path, tmp_path / "timeline")
    first, second, last = (partial for partial, *_ in found)
    assert last is None
    assert size / 44 <= (first or 0) < size / 20
    assert size / 11 <= (second or 0) < size / 8
    slices = [count for _, count, *_ in found]
    assert 0 < slices[0] <= slices[1] <= slices[2] == COUNT
    assert slices[0] < COUNT
    assert all(args == {"n": count - 1} for _, count, _, args in found)
    assert {tuple(tracks) for *_, tracks, _ in found} == {("Python",)}
    assert not (tmp_path / "timeline" / "spool").exists()


def test_a_preview_without_slices_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [metadata("thread_name", 1, tid, name="t") for tid in range(COUNT)]
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([*names, event("a", 1, 1)]))
    monkeypatch.setattr(timeline_previews, "FIRST", 1000)
    assert [partial for partial, *_ in build(path, tmp_path / "timeline")] == [None]
    assert list(tmp_path.glob("preview-*")) == []
