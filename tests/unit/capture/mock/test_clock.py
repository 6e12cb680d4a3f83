"""A clock that is set back during a capture: nothing ends before it begins."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_npu_plugin.capture.api import communication, ranks, session
from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock import recorder
from tb_npu_plugin.capture.mock.host import HostData
from tests.unit.capture.api.fake import FakeRecorder


def _backwards(first: int) -> SimpleNamespace:
    times = count(first, -1000)
    return SimpleNamespace(time_ns=lambda: next(times))


def test_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    one = recorder.MockRecorder()
    one._data = HostData(Settings(), 1, 0, 0)
    monkeypatch.setattr(recorder, "time", _backwards(5000))
    one.range_start(1, "mine", "default", None)
    one.range_end(1)
    [(start, end, *_)] = one._data.marks
    assert (start, end) == (5000, 5000)


def test_the_capture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = recorder.MockRecorder()
    one._data, one._running = HostData(Settings(), 1, 0, start=5000), True
    monkeypatch.setattr(recorder, "time", _backwards(4000))
    monkeypatch.setattr(recorder.torch_profiler, "stop", lambda profiler: None)
    one.stop()
    assert one._data.end == 5000


def test_communication(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int | None]] = []
    one = FakeRecorder([], {}, [])
    monkeypatch.setattr(one, "communication", lambda start, end, name, peer: told.append((start, end)))
    monkeypatch.setattr(one, "batch", lambda start, end: told.append((start, end)))
    monkeypatch.setattr(session, "current", lambda: session.Session(one, Settings()))
    monkeypatch.setattr(ranks, "communicator", lambda group: "group")
    monkeypatch.setattr(communication, "time", _backwards(5000))
    communication._run(lambda group: None, None, object())
    communication._tell_batch(4500)
    assert told == [(5000, 5000), (4500, 4500)]
