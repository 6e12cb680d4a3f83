"""The config file of dynamic_profile is watched by a thread, in forked processes, and by what the environment says."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api.dynamic_profile import config, monitor
from tb_npu_plugin.capture.api.dynamic_profile.config import CONFIG_FILE, TEMPLATE, Config
from tb_npu_plugin.capture.api.dynamic_profile.monitor import FileMonitor
from tests.unit.capture.scripts import needs_torch, own_lines, run_script


def test_the_monitor_sees_changes(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    watching = FileMonitor(path, logging.Logger("test"))
    watching._interval = 0.01
    watching.start()
    try:
        assert watching.take() is None
        path.write_text("{")
        path.with_suffix(".new").write_text(json.dumps({"start_step": 4}))
        path.with_suffix(".new").replace(path)
        found: Config | None = None
        for _ in range(12_000):
            found = watching.take()
            if found is not None:
                break
            time.sleep(0.01)
        assert found is not None
        assert found.start_step == 4
        assert watching.take() is None  # once
    finally:
        watching.stop()
        watching._thread.join()


def test_a_file_that_is_written_while_it_is_read_is_one_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: it was looked at, replaced, and then read: with the next look it was taken for a newer one, and profiled twice."""
    path = tmp_path / "config.json"
    path.write_text("{}")
    watching = FileMonitor(path, logging.Logger("test"))

    def read(*arguments: Any) -> Config | None:
        if path.read_text() == "{}":
            path.write_text(json.dumps({"start_step": -1}))
        return config.read(*arguments)

    monkeypatch.setattr(monitor, "read", read)
    found = []
    for _ in range(4):
        watching.check()
        found.append(watching.take())
    assert [one.start_step for one in found if one is not None] == [-1]


def test_a_check_that_fails_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lines = tmp_path / "config.json", list[str]()
    path.write_text('{"active": 1}')
    log = logging.Logger("test")
    log.addFilter(lambda record: bool(lines.append(record.getMessage())))
    watching = FileMonitor(path, log)

    def fail(*arguments: Any) -> Config | None:
        raise RuntimeError("no")

    monkeypatch.setattr(monitor, "read", fail)
    for _ in range(3):
        watching._check_safely()
    assert lines == ["The config file cannot be checked: no"]
    monkeypatch.undo()
    watching._check_safely()
    assert lines[1:] == ["New config: start_step 0, warmup 0, active 1."]
    path.unlink()
    for _ in range(3):
        watching._check_safely()
    assert len(lines) == 3 and lines[2].startswith("The config file cannot be read:")


FORKED = """
dynamic_profile.init("cfg")
dynamic_profile.step()
if os.fork() == 0:
    dynamic_profile.step()
    Path("cfg/profiler_config.json").write_text(json.dumps({"start_step": -1, "prof_dir": "result"}))
    for _ in range(6000):
        if "start" in log:
            print("started", flush=True)
            break
        time.sleep(0.01)
        dynamic_profile.step()
    os._exit(0)
os.wait()
"""


def test_a_forked_process_watches_the_file(tmp_path: Path) -> None:
    assert own_lines(run_script(tmp_path, FORKED)) == ["started"]


SCRIPT = """
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
    lines = own_lines(run_script(tmp_path, SCRIPT, PROF_CONFIG_PATH=str(tmp_path)))
    assert lines == ["4 prepare,start,step_begin 2,step_begin 3,stop,finalize"]
