from __future__ import annotations

import gc
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api import messages, paths
from tb_npu_plugin.capture.api.dynamic_config import FOLDER_VARIABLE
from tb_npu_plugin.capture.api.dynamic_profile import DAEMON_VARIABLES
from tb_npu_plugin.capture.api.options import AiCMetrics, _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api import fake

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(INFO|WARNING|ERROR)\] \[\d+\] profiler\.py: (.*)")


def quiet(**arguments: Any) -> _ExperimentalConfig:
    """A config that prints no warning."""
    return _ExperimentalConfig(**{"aic_metrics": AiCMetrics.AiCoreNone, **arguments})


def make_profile(**arguments: Any) -> profile:
    """A profile with a handler that does nothing; it prints no warning."""
    return profile(**{"experimental_config": quiet(), "on_trace_ready": lambda prof: None, **arguments})


class Truthless:
    """Like a tensor of several numbers."""

    def __bool__(self) -> bool:
        raise ValueError("the truth of several numbers is ambiguous")

    def __iter__(self) -> Any:
        raise ValueError("nothing to iterate over")


def collect_frames() -> None:
    """Python 3.9.2 keeps the frames that called signal.signal(), and so a profile, until cycles are looked for: an enum that
    refuses a value makes one. A cycle of our own would not be found there, but is by other releases."""
    if sys.version_info < (3, 10):
        gc.collect()


class Said:
    """What was printed on stdout since the last call; each line must have the documented form."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self) -> list[tuple[str, str]]:
        """(kind, text) of each line."""
        found = [LINE.fullmatch(line) for line in self._capsys.readouterr().out.splitlines()]
        assert all(found)
        return [(match[1], match[2]) for match in found if match]

    def errors(self) -> list[str]:
        """The texts of the ERROR lines."""
        return [text for kind, text in self() if kind == "ERROR"]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(capsys)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run every test in an empty folder, without the variables of the profiler."""
    collect_frames()  # a profile of the test before may still record
    others = ("ASCEND_WORK_PATH", "RANK", "WORLD_SIZE", FOLDER_VARIABLE, *DAEMON_VARIABLES)
    for name in (*messages.WARNING_SWITCHES, *messages.MSPROF_VARIABLES, *others):
        monkeypatch.delenv(name, raising=False)
    messages._warn_once.cache_clear()
    for name, value in vars(paths.Place()).items():
        monkeypatch.setattr(paths.PLACE, name, value)
    monkeypatch.chdir(tmp_path)


@dataclass
class Recorded:
    """What the fake recorders of a test were asked."""

    log: list[str] = field(default_factory=list)
    fail: dict[str, Exception] = field(default_factory=dict)
    recorders: list[fake.FakeRecorder] = field(default_factory=list)

    def take(self) -> list[str]:
        """The log, which is empty then."""
        out, self.log[:] = list(self.log), []
        return out

    def take_captures(self) -> list[str]:
        """The log without the marks of steps."""
        return [entry for entry in self.take() if not entry.startswith("step_")]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """The fake backend is in use."""
    state = Recorded()

    def recorder(folder: Path, settings: backend.Settings) -> fake.FakeRecorder:
        return fake.FakeRecorder(state.log, state.fail, state.recorders, folder, settings)

    monkeypatch.setattr(backend, "new_recorder", recorder)
    monkeypatch.setattr(backend, "PARSER", fake.PARSER)
    return state
