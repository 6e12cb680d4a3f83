"""Profiles that profiler_config.json starts: its values, its monitor, the steps."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tb_npu_plugin.capture.api import dynamic_config as config
from tb_npu_plugin.capture.api import dynamic_profile as dp
from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.api.dynamic_config import CONFIG_FILE, TEMPLATE, Config
from tb_npu_plugin.capture.api.dynamic_profile import _NonIntrusiveProfile
from tb_npu_plugin.capture.api.options import AiCMetrics
from tests.unit.capture.api.conftest import Recorded, Said
from tests.unit.capture.scripts import needs_torch, own_lines, run_script

FOLDER = Path("dynamic")
FILE = FOLDER / CONFIG_FILE


@pytest.fixture
def fresh(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """A process in which dynamic_profile was not used yet."""
    dp.CONTROL.__init__()
    yield recorded
    dp.CONTROL.close()
    dp.CONTROL.__init__()


@pytest.fixture
def begun(fresh: Recorded) -> Recorded:
    """After dynamic_profile.init()."""
    dp.init(str(FOLDER))
    return fresh


def _write(path: Path = FILE, **values: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**TEMPLATE, "prof_dir": "result", **values}))
    os.utime(path, ns=(time.time_ns(), time.time_ns() + len(values)))  # changed, whatever the clock's resolution


def _steps(number: int) -> None:
    for _ in range(number):
        dp.step()


def _actions(recorded: Recorded) -> list[str]:
    return [entry for entry in recorded.take() if not entry.startswith("step_end")]


# -- the file ----------------------------------------------------------------------------------------
def test_init_writes_the_template_once(begun: Recorded, said: Said) -> None:
    dp.init("elsewhere")
    assert said() == [("WARNING", "Init dynamic profiling repeatedly")]
    assert not Path("elsewhere").exists()
    assert FILE.read_text() == json.dumps(TEMPLATE, indent=4)
    _steps(5)  # start_step 0: nothing
    assert (begun.take(), said()) == ([], [])


def test_a_full_disk_leaves_no_half_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.json, "dump", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        config.write_template(tmp_path / CONFIG_FILE)
    assert list(tmp_path.iterdir()) == []


RANKS = {"analyse": True, "is_rank": True, "rank_list": [1, "2", -1]}
#: Values of the file, fields of Config, warned.
VALUES: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {"start_step": 0, "warmup": 0, "active": 1, "prof_dir": "./", "analyse": False, "rank_list": None}, 0),
    ({"active": 0, "warmup": -1, "start_step": -2}, {"active": 1, "warmup": 0, "start_step": 0}, 3),
    ({"active": "x", "start_step": True}, {"active": 1, "start_step": 0}, 2),
    ({"start_step": -1}, {"start_step": -1}, 0),
    ({"analyse": 1}, {"analyse": False}, 1),
    (RANKS, {"analyses_ranks": False, "rank_list": {1}}, 0),
    ({**RANKS, "async_mode": True}, {"analyses_ranks": True}, 0),
    ({"async_mode": True}, {"analyse": False, "async_mode": True}, 1),
    ({"is_rank": "yes"}, {"rank_list": None}, 1),
    ({"is_rank": True, "rank_list": 1}, {"rank_list": frozenset()}, 1),
    ({"metadata": {"a": [1]}}, {"metadata": {"a": [1]}}, 0),
    ({"metadata": "a"}, {"metadata": {}}, 0),
    ({"activities": "CPU"}, {}, 1),
]


@pytest.mark.parametrize(("values", "fields", "warned"), VALUES)
def test_values(values: dict[str, Any], fields: dict[str, Any], warned: int) -> None:
    warnings: list[str] = []
    found = config.parse(values, warnings.append)
    assert {name: getattr(found, name) for name in fields} == fields
    assert len(warnings) == warned


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "5"])
def test_a_bad_file_is_no_config(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    warnings: list[str] = []
    assert config.read(path, warnings.append) is None
    [text] = warnings
    assert str(path) in text


# -- when it is read ---------------------------------------------------------------------------------
def test_a_file_that_changes_while_it_is_read_gives_one_config(
    begun: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: it was looked at, replaced, and then read: with the next look it was taken for a newer one, and profiled twice."""
    contents = [json.dumps({"start_step": -1, "prof_dir": "result"})]

    def read(*arguments: Any) -> Config | None:
        if contents:
            FILE.write_text(contents.pop())
        return config.read(*arguments)

    monkeypatch.setattr(dp, "read", read)
    FILE.write_text("{}")
    _steps(5)
    assert begun.take().count("prepare") == 1


FORKED = """
dynamic_profile.init("cfg")
dynamic_profile.step()
if os.fork() == 0:
    dynamic_profile.step()
    Path("cfg/profiler_config.json").write_text(json.dumps({"start_step": -1, "prof_dir": "result"}))
    for _ in range(6000):
        if "start" not in log:
            time.sleep(0.01)
            dynamic_profile.step()
    print("start" in log, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_forked_process_watches_the_file(tmp_path: Path) -> None:
    assert own_lines(run_script(tmp_path, FORKED)) == ["True"]


OPTIMIZERS = """
import torch
first = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
last = torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=0.1)
for _ in range(4):
    first.step()
    last.step()
    first.step()
print(dynamic_profile.CONTROL._step, ",".join(entry for entry in log if entry.startswith("step_begin") or " " not in entry))
"""


@needs_torch
def test_the_environment_alone(tmp_path: Path) -> None:
    """PROF_CONFIG_PATH: the steps of the newest optimizer count."""
    content = {**TEMPLATE, "start_step": 2, "active": 2, "prof_dir": str(tmp_path / "result")}
    (tmp_path / CONFIG_FILE).write_text(json.dumps(content))
    lines = own_lines(run_script(tmp_path, OPTIMIZERS, PROF_CONFIG_PATH=str(tmp_path)))
    assert lines == ["4 prepare,start,step_begin 2,step_begin 3,stop,finalize"]


@pytest.mark.parametrize("name", dp.DAEMON_VARIABLES)
def test_the_dynolog_daemon_is_not_supported(name: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("0", "1"):
        monkeypatch.setenv(name, value)
        _NonIntrusiveProfile.init()
    text = f"{name}=1 has no effect: the dynolog daemon is not supported. Set PROF_CONFIG_PATH=<folder>."
    assert said() == [("WARNING", text)]


# -- steps -------------------------------------------------------------------------------------------
def test_a_profile_at_a_step(begun: Recorded) -> None:
    experimental = {"profiler_level": "Level1", "aic_metrics": "MemoryUB", "export_type": ["db"]}
    arguments = {"activities": ["npu", "GPU", 5], "with_stack": True, "experimental_config": experimental}
    _write(start_step=3, warmup=1, active=2, metadata={"job": {"id": 7}}, **arguments)
    _steps(2)
    assert begun.take() == []
    _steps(1)
    assert _actions(begun) == ["prepare", "warmup", "step_begin 3"]
    _steps(2)
    assert _actions(begun) == ["start", "step_begin 4", "step_begin 5"]
    _steps(4)
    assert _actions(begun) == ["stop", "finalize"]
    [folder] = Path("result").iterdir()
    assert not (folder / "ASCEND_PROFILER_OUTPUT").exists()  # analyse is off
    assert json.loads((folder / "profiler_metadata.json").read_text())["job"] == {"id": 7}
    found = begun.recorders[0].settings
    assert (found.cpu, found.npu, found.host.with_stack, found.host.with_modules) == (False, True, True, False)
    assert (found.level, found.aic_metrics, found.export_types) == ("Level1", AiCMetrics.MemoryUB, ("db",))


def test_configs_while_one_is_pending_or_runs(begun: Recorded) -> None:
    _write(start_step=3)
    _steps(1)
    _write(start_step=5, active=2)
    _steps(4)
    assert _actions(begun) == ["prepare", "start", "step_begin 5"]
    _write(start_step=-1)
    _steps(2)
    assert _actions(begun) == ["step_begin 6", "stop", "finalize"]
    _steps(1)
    assert _actions(begun) == ["prepare", "start", "step_begin 8"]


def test_the_rank_may_be_known_later(begun: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.distributed may be initialized after dynamic_profile; before, the rank is none of the list."""
    _write(start_step=1, is_rank=True, rank_list=[0, 2])
    _steps(1)
    assert begun.take() == []
    monkeypatch.setenv("RANK", "2")
    _write(start_step=2, is_rank=True, rank_list=[0, 2])
    _steps(1)
    assert begun.take()[0] == "prepare"


@pytest.mark.parametrize(
    ("by_start", "async_mode", "parsed"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_chosen_ranks_parse_in_the_background_or_later(
    by_start: bool, async_mode: bool, parsed: bool, begun: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(parsing, "parse_capture", lambda folder, async_mode: calls.append(async_mode))
    monkeypatch.setenv("RANK", "2")
    _write(start_step=0 if by_start else 1, analyse=True, async_mode=async_mode, is_rank=True, rank_list=[2])
    if by_start:
        dp.start()
    _steps(2)
    assert calls == [async_mode] * parsed


def test_set_state_and_a_start_step_in_the_past(begun: Recorded, said: Said) -> None:
    dp.set_state({"cur_step": 100})
    _write(start_step=100)
    _steps(2)
    [(kind, text)] = said()  # once: then it is dropped
    assert (kind, "config is not effective" in text) == ("WARNING", True)
    _write(start_step=103)
    _steps(1)
    assert _actions(begun) == ["prepare", "start", "step_begin 103"]


def test_the_process_ends_during_a_profile(begun: Recorded, said: Said) -> None:
    _write(start_step=1, active=9)
    _steps(2)
    begun.take()
    dp.CONTROL.close()
    assert _actions(begun) == ["stop", "finalize"]
    assert "The process ends at step 2 during a dynamic profile, which is stopped." in [text for _, text in said()]


# -- start and init ----------------------------------------------------------------------------------
def test_start_from_a_file(fresh: Recorded, said: Said) -> None:
    other = Path("other.json")
    _write(other, active=2, is_rank=True, rank_list=[99], start_step=77)  # neither counts here
    dp.start(str(other))
    assert _actions(fresh) == ["prepare", "start", "step_begin 0"]
    assert ("INFO", "The start interface profiler enable config path is set to other.json") in said()
    dp.start(str(other))
    assert said() == [("ERROR", "Profiler already started. Cannot call start interface while the profiler is active.")]
    _steps(2)
    assert _actions(fresh) == ["step_begin 1", "stop", "finalize"]


#: Call, its argument, the kind of what is said and a part of it.
REFUSED: list[tuple[str, Any, str, str]] = [
    ("start", None, "ERROR", "call dynamic_profile.init first"),
    ("init", "file/below", "ERROR", "The path 'file/below' is invalid, and profiler will not be enabled."),
    ("init", "", "ERROR", "The path '' is invalid, and profiler will not be enabled."),
    *(
        ("set_state", state, "WARNING", 'Invalid parameter state, which must be {"cur_step": int}; it is not set.')
        for state in (5, {}, {"cur_step": "7"}, {"cur_step": -1}, {"cur_step": True})
    ),
]


@pytest.mark.parametrize(("call", "argument", "kind", "text"), REFUSED)
def test_refused_calls(call: str, argument: Any, kind: str, text: str, fresh: Recorded, said: Said) -> None:
    Path("file").touch()
    getattr(dp, call)(argument)
    [(found, line)] = said()
    assert found == kind
    assert text in line
    _steps(3)
    assert (dp.CONTROL._step, fresh.take()) == (3, [])


def test_logs(begun: Recorded) -> None:
    _write(start_step=1)
    _steps(2)
    name = f"dp_{socket.gethostname()}_{os.getpid()}_rank_-1.log"
    assert {path.name for path in (FOLDER / "log").iterdir()} == {name, f"monitor_{name}"}
    assert "Start Dynamic Profiler at 1 step." in (FOLDER / "log" / name).read_text()
    watched = FOLDER / "log" / f"monitor_{name}"
    assert "New config: start_step 1" in watched.read_text()
    FILE.unlink()
    _steps(1)
    assert "The config file cannot be read:" in watched.read_text()
