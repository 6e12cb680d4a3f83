from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.capture.api import dynamic_profile as dp
from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.api.dynamic_profile import _NonIntrusiveProfile, config, control
from tb_npu_plugin.capture.api.dynamic_profile.config import TEMPLATE
from tb_npu_plugin.capture.api.dynamic_profile.control import open_log
from tests.unit.capture.api.conftest import Recorded, Said, do_not_start_the_monitor

FOLDER = Path("dynamic")
FILE = FOLDER / config.CONFIG_FILE


@pytest.fixture
def fresh(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """A process in which dynamic_profile was not used yet. The monitor looks only when the test says so."""
    one = control.Control()
    monkeypatch.setattr(dp, "CONTROL", one)
    do_not_start_the_monitor(monkeypatch)
    yield recorded
    one.close()


def _write(path: Path = FILE, **values: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**TEMPLATE, "prof_dir": "result", **values}))
    os.utime(path, ns=(time.time_ns(), time.time_ns() + len(values)))  # changed, whatever the clock's resolution
    monitor = dp.CONTROL._monitor
    if monitor is not None:
        monitor._seen = None
        monitor.check()


def _steps(number: int) -> None:
    for _ in range(number):
        dp.step()


def _actions(log: list[str]) -> list[str]:
    return [entry for entry in log if not entry.startswith("step_end")]


# -- the file ----------------------------------------------------------------------------------------
def test_the_template(fresh: Recorded, said: Said) -> None:
    dp.init(str(FOLDER))
    text = FILE.read_text()
    assert json.loads(text) == TEMPLATE
    assert text == json.dumps(TEMPLATE, indent=4)
    assert said() == []
    _steps(5)  # start_step 0: nothing
    assert fresh.take() == []
    assert said() == []


# -- steps -------------------------------------------------------------------------------------------
def test_a_profile_at_a_step(fresh: Recorded) -> None:
    dp.init(str(FOLDER))
    _write(start_step=3, warmup=1, active=2, metadata={"job": {"id": 7}})
    _steps(2)
    assert fresh.take() == []
    _steps(1)
    assert _actions(fresh.take()) == ["prepare", "warmup", "step_begin 3"]
    _steps(2)
    assert _actions(fresh.take()) == ["start", "step_begin 4", "step_begin 5"]
    _steps(1)
    assert _actions(fresh.take()) == ["stop", "finalize"]
    _steps(3)
    assert fresh.take() == []
    [folder] = Path("result").iterdir()
    assert not (folder / "ASCEND_PROFILER_OUTPUT").exists()  # analyse is off
    assert json.loads((folder / "profiler_metadata.json").read_text())["job"] == {"id": 7}


def test_a_start_step_in_the_past(fresh: Recorded, said: Said) -> None:
    dp.init(str(FOLDER))
    _steps(4)
    _write(start_step=2)
    _steps(1)
    assert fresh.take() == []
    [(kind, text)] = said()
    assert kind == "WARNING"
    assert "config is not effective" in text
    _steps(1)
    assert said() == []  # dropped


def test_a_newer_config_replaces_the_pending_one(fresh: Recorded) -> None:
    dp.init(str(FOLDER))
    _write(start_step=3)
    _steps(1)
    _write(start_step=5, active=2)
    _steps(3)
    assert fresh.take() == []
    _steps(1)
    assert _actions(fresh.take())[-1] == "step_begin 5"


def test_a_config_during_a_profile_comes_after_it(fresh: Recorded) -> None:
    dp.init(str(FOLDER))
    _write(start_step=1, active=2)
    _steps(1)
    _write(start_step=-1)
    _steps(2)
    assert fresh.take().count("prepare") == 1
    _steps(1)
    assert fresh.take().count("prepare") == 1


def test_the_rank_may_be_known_later(fresh: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.distributed may be initialized after dynamic_profile; before, the rank is none of the list."""
    dp.init(str(FOLDER))
    _write(start_step=1, is_rank=True, rank_list=[0, 2])
    _steps(1)
    assert fresh.take() == []
    group = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 2)
    monkeypatch.setattr("tb_npu_plugin.capture.api.ranks._initialized_distributed", lambda: group)
    monkeypatch.setattr("tb_npu_plugin.capture.api.ranks.groups", dict)
    monkeypatch.setattr("tb_npu_plugin.capture.api.ranks.world_size", lambda: 4)
    _write(start_step=2, is_rank=True, rank_list=[0, 2])
    _steps(1)
    assert fresh.take()[0] == "prepare"


@pytest.mark.parametrize(
    ("by_start", "async_mode", "parsed"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_chosen_ranks_parse_in_the_background_or_later(
    by_start: bool, async_mode: bool, parsed: bool, fresh: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(parsing, "parse_capture", lambda folder, async_mode: calls.append(async_mode))
    monkeypatch.setenv("RANK", "2")
    dp.init(str(FOLDER))
    _write(start_step=0 if by_start else 1, analyse=True, async_mode=async_mode, is_rank=True, rank_list=[2])
    if by_start:
        dp.start()
    _steps(2)
    assert calls == [async_mode] * parsed


def test_set_state(fresh: Recorded, said: Said) -> None:
    dp.init(str(FOLDER))
    _write(start_step=101)
    dp.set_state({"cur_step": 100})
    _steps(1)
    assert _actions(fresh.take())[-1] == "step_begin 101"
    for wrong in (5, {}, {"cur_step": "7"}, {"cur_step": -1}, {"cur_step": True}):
        dp.set_state(wrong)  # type: ignore[arg-type]
    assert dp.CONTROL._step == 101
    assert [kind for kind, text in said() if "cur_step" in text] == ["WARNING"] * 5


@pytest.mark.parametrize("name", dp.DAEMON_VARIABLES)
def test_the_dynolog_daemon_is_not_supported(name: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "0")
    _NonIntrusiveProfile.init()
    assert said() == []
    monkeypatch.setenv(name, "1")
    _NonIntrusiveProfile.init()
    text = f"{name}=1 has no effect: the dynolog daemon is not supported. Set PROF_CONFIG_PATH=<folder>."
    assert said() == [("WARNING", text)]


# -- start -------------------------------------------------------------------------------------------
def test_start_from_a_file(fresh: Recorded, said: Said) -> None:
    other = Path("other.json")
    _write(other, active=2, is_rank=True, rank_list=[99], start_step=77)  # neither counts here
    dp.start(str(other))
    assert _actions(fresh.take()) == ["prepare", "start", "step_begin 0"]
    assert ("INFO", "The start interface profiler enable config path is set to other.json") in said()
    dp.start(str(other))
    assert said() == [("ERROR", "Profiler already started. Cannot call start interface while the profiler is active.")]
    _steps(2)
    assert _actions(fresh.take()) == ["step_begin 1", "stop", "finalize"]


def test_start_without_any_file(fresh: Recorded, said: Said) -> None:
    dp.start()
    assert fresh.take() == []
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert "dynamic_profile.init" in text


# -- the rest ----------------------------------------------------------------------------------------
def test_init_twice(fresh: Recorded, said: Said) -> None:
    dp.init(str(FOLDER))
    dp.init("elsewhere")
    assert said() == [("WARNING", "Init dynamic profiling repeatedly")]
    assert not Path("elsewhere").exists()


@pytest.mark.parametrize("path", ["file", "file/below", None, ""])
def test_init_with_a_bad_path(path: Any, fresh: Recorded, said: Said) -> None:
    Path("file").touch()
    dp.init(path)
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert f"The path '{path}' is invalid, and profiler will not be enabled." in text
    _steps(3)


def test_logs(fresh: Recorded) -> None:
    dp.init(str(FOLDER))
    _write(start_step=1)
    _steps(2)
    name = f"dp_{socket.gethostname()}_{os.getpid()}_rank_-1.log"
    assert {path.name for path in (FOLDER / "log").iterdir()} == {name, f"monitor_{name}"}
    assert "Start Dynamic Profiler at 1 step." in (FOLDER / "log" / name).read_text()
    assert "New config: start_step 1" in (FOLDER / "log" / f"monitor_{name}").read_text()


def test_logs_are_small(tmp_path: Path) -> None:
    log = open_log(tmp_path, "dp", 0)
    for number in range(6000):
        log.info("%s", "x" * 100 + str(number))
    sizes = [path.stat().st_size for path in (tmp_path / "log").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= 200 * 1024


def _full(*arguments: Any, **others: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_no_half_template(fresh: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(config.json, "dump", _full)
        dp.init(str(FOLDER))
    assert [kind for kind, _ in said()] == ["ERROR"]
    assert not FILE.exists()
    dp.init(str(FOLDER))
    assert json.loads(FILE.read_text()) == TEMPLATE


def test_the_process_ends_during_a_profile(fresh: Recorded, said: Said) -> None:
    dp.init(str(FOLDER))
    _write(start_step=1, active=9)
    _steps(2)
    fresh.take()
    dp.CONTROL.close()
    assert _actions(fresh.take()) == ["stop", "finalize"]
    assert any("during a dynamic profile" in text for kind, text in said() if kind == "WARNING")


@pytest.mark.parametrize(("seconds", "interval"), [(0.2, 1.0), (7.0, 7.0), (400.0, 50.0)])
def test_the_interval_follows_the_steps(seconds: float, interval: float, fresh: Recorded, monkeypatch: Any) -> None:
    dp.init(str(FOLDER))
    clock = iter([100.0, 100.0 + seconds])
    monkeypatch.setattr(control, "time", SimpleNamespace(monotonic=lambda: next(clock)))  # not that of other threads
    assert dp.CONTROL._monitor is not None
    assert dp.CONTROL._monitor._interval == 2.0
    _steps(12)
    assert dp.CONTROL._monitor._interval == interval
