from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api import messages, paths
from tb_npu_plugin.capture.api.dynamic_profile import DAEMON_VARIABLES, monitor
from tb_npu_plugin.capture.api.dynamic_profile.config import FOLDER_VARIABLE
from tb_npu_plugin.capture.api.enums import AiCMetrics
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tests.unit.capture.api import fake

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(INFO|WARNING|ERROR)\] \[\d+\] profiler\.py: (.*)")
#: A config that gives no warning.
QUIET = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone)
Said = Callable[[], list[tuple[str, str]]]


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


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """(kind, text) of every line on stdout since the last call; each must have the documented form."""

    def lines() -> list[tuple[str, str]]:
        found = [LINE.fullmatch(line) for line in capsys.readouterr().out.splitlines()]
        assert all(found)
        return [(match[1], match[2]) for match in found if match]

    return lines


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run every test in an empty folder, without the variables of the profiler."""
    collect_frames()  # a profile of the test before may still record
    others = ("ASCEND_WORK_PATH", "RANK", "WORLD_SIZE", FOLDER_VARIABLE, *DAEMON_VARIABLES)
    for name in (*messages.WARNING_SWITCHES, *messages.MSPROF_VARIABLES, *others):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(messages, "_warned_of_msprof", [])
    for name, value in vars(paths.Place()).items():
        monkeypatch.setattr(paths.PLACE, name, value)
    monkeypatch.chdir(tmp_path)


class _Unstarted(threading.Thread):
    def start(self) -> None:
        """Not."""


def do_not_start_the_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of dynamic_profile does not begin. Those of others do: of a progress bar, of a server that runs on."""
    stands_in = SimpleNamespace(Lock=threading.Lock, Event=threading.Event, Thread=_Unstarted)
    monkeypatch.setattr(monitor, "threading", stands_in)


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


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """The fake backend is in use."""
    state = Recorded()

    def recorder() -> fake.FakeRecorder:
        return fake.FakeRecorder(state.log, state.fail, state.recorders)

    backend.choose(backend.Backend("fake", recorder, fake.PARSER))
    yield state
    backend.choose(None)
