"""dynamic_profile with the dynolog daemon, whose client is a stand-in: no daemon was there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.capture.api import dynamic_profile as dp
from tb_npu_plugin.capture.api.dynamic_profile import control, dynolog
from tb_npu_plugin.capture.api.dynamic_profile.config import TEMPLATE, parse
from tb_npu_plugin.capture.api.dynamic_profile.dynolog import KEYS, read_request, values_of
from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerActivity
from tests.unit.capture.api.conftest import Recorded, Said, leave_looking_to_the_test

#: All keys of docs/facts/torch_npu_api.md, Dynamic profiles, as `dyno nputrace` sends them.
REQUEST = """ACTIVITIES_LOG_FILE=result
PROFILE_START_ITERATION=0
PROFILE_START_STEP=3
ACTIVITIES_ITERATIONS=2
WARMUP_ITERATIONS=1
PROFILE_ACTIVITIES=CPU,NPU
PROFILE_RECORD_SHAPES=true
PROFILE_PROFILE_MEMORY=True
PROFILE_WITH_STACK=true
PROFILE_WITH_FLOPS=false
PROFILE_WITH_MODULES=true
PROFILE_ANALYSE=true
PROFILE_ASYNC_MODE=true
PROFILE_IS_RANK=true
PROFILE_RANK_LIST=0, 4
PROFILE_PROFILER_LEVEL=Level2
PROFILE_AIC_METRICS=MemoryUB
PROFILE_L2_CACHE=true
PROFILE_OP_ATTR=true
PROFILE_GC_DETECT_THRESHOLD=0.5
PROFILE_DATA_SIMPLIFICATION=false
PROFILE_EXPORT_TYPE=Db
PROFILE_MSPROF_TX=false
PROFILE_MSTX=true
PROFILE_HOST_SYS=cpu,mem
PROFILE_MSTX_DOMAIN_INCLUDE=a,b
PROFILE_MSTX_DOMAIN_EXCLUDE=None
PROFILE_SYS_IO=true
PROFILE_SYS_INTERCONNECTION=true"""


def test_every_key_of_a_request() -> None:
    request = read_request(REQUEST)
    assert set(request) - {"PROFILE_START_ITERATION"} == set(KEYS)
    found = parse(values_of(request), pytest.fail)
    assert (found.start_step, found.warmup, found.active, found.prof_dir) == (3, 1, 2, "result")
    assert (found.analyse, found.async_mode, found.rank_list) == (True, True, {0, 4})
    arguments = dict(found.arguments)
    made = vars(arguments.pop("experimental_config"))
    assert arguments == {
        "activities": [ProfilerActivity.CPU, ProfilerActivity.NPU],
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": True,
        "with_flops": False,
        "with_modules": True,
    }
    assert made == {
        "_profiler_level": "Level2",
        "_aic_metrics": AiCMetrics.MemoryUB,
        "_l2_cache": True,
        "_op_attr": True,
        "_gc_detect_threshold": 0.5,
        "_data_simplification": False,
        "record_op_args": False,
        "_export_type": ["db"],
        "_msprof_tx": False,
        "_mstx": True,
        "_host_sys": ["cpu", "mem"],
        "_mstx_domain_include": ["a", "b"],
        "_mstx_domain_exclude": [],
        "_sys_io": True,
        "_sys_interconnection": True,
    }


def test_the_keys_are_those_of_the_file() -> None:
    names = {name for name, _ in KEYS.values()}
    assert names == {*TEMPLATE, *TEMPLATE["experimental_config"]} - {"experimental_config", "record_op_args"}


def test_what_a_request_does_not_say_is_as_in_the_file() -> None:
    told, of_file = parse(values_of({}), pytest.fail), parse(TEMPLATE, pytest.fail)
    configs = [dict(config.arguments).pop("experimental_config") for config in (told, of_file)]
    assert vars(configs[0]) == vars(configs[1])
    assert replace(told, arguments={}) == replace(of_file, arguments={})


#: Line of a request, name in the file, value.
ODD: list[tuple[str, str, Any]] = [
    ("PROFILE_RECORD_SHAPES=yes", "record_shapes", False),
    ("PROFILE_DATA_SIMPLIFICATION=perhaps", "data_simplification", True),
    ("PROFILE_GC_DETECT_THRESHOLD=None", "gc_detect_threshold", None),
    ("PROFILE_GC_DETECT_THRESHOLD=often", "gc_detect_threshold", "often"),
    ("PROFILE_START_STEP=-1", "start_step", -1),
    ("ACTIVITIES_ITERATIONS=two", "active", "two"),
    ("PROFILE_EXPORT_TYPE=Text,Db", "export_type", ["text", "db"]),
    ("PROFILE_HOST_SYS=None", "host_sys", []),
    ("  WARMUP_ITERATIONS = 4 ", "warmup", 4),
]


@pytest.mark.parametrize(("line", "name", "value"), ODD)
def test_odd_values(line: str, name: str, value: Any) -> None:
    found = values_of(read_request(line))
    assert {**found, **found["experimental_config"]}[name] == value


@pytest.mark.parametrize("text", ["", "no request", "A=1=2", "\n\n"])
def test_no_request(text: str) -> None:
    assert read_request(text) == {}


class Proxy:
    """Client of msMonitor: answers what a test puts there."""

    answers: list[Any]
    registered: list[int]
    answer_to_init: Any
    finalized: int

    def init_dyno(self, npu_id: int) -> Any:
        Proxy.registered.append(npu_id)
        if isinstance(Proxy.answer_to_init, Exception):
            raise Proxy.answer_to_init
        return Proxy.answer_to_init

    def poll_dyno(self) -> str:
        found = Proxy.answers.pop(0) if Proxy.answers else ""
        if isinstance(found, Exception):
            raise found
        return str(found)

    def finalize_dyno(self) -> None:
        Proxy.finalized += 1


@pytest.fixture(params=dynolog.VARIABLES)
def daemon(request: pytest.FixtureRequest, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """A process that is told to ask the daemon; it asks when the test says so."""
    monkeypatch.setenv(request.param, "1")
    monkeypatch.setitem(sys.modules, "mindstudio_monitor", SimpleNamespace(PyDynamicMonitorProxy=Proxy))
    Proxy.answers, Proxy.registered, Proxy.answer_to_init, Proxy.finalized = [], [], True, 0
    one = control.Control()
    monkeypatch.setattr(dp, "CONTROL", one)
    leave_looking_to_the_test(monkeypatch)
    yield recorded
    one.close()


def _ask(*answers: Any) -> None:
    Proxy.answers[:] = answers
    monitor = dp.CONTROL._monitor
    assert monitor is not None
    for _ in answers:
        monitor._look_safely()


def _steps(number: int) -> None:
    for _ in range(number):
        dp.step()


def _actions(log: list[str]) -> list[str]:
    return [entry for entry in log if not entry.startswith(("step_end", "range"))]


def test_a_request_is_a_profile(daemon: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "4")
    dp.init("unused")
    assert Proxy.registered == [4]
    assert not Path("unused").exists()  # the folder is of the other mode
    _ask("", REQUEST.replace("PROFILE_ANALYSE=true", "PROFILE_ANALYSE=false"), "")
    assert ("INFO", "New config: start_step 3, warmup 1, active 2.") in said()
    _steps(2)
    assert daemon.take() == []
    _steps(4)
    assert _actions(daemon.take()) == [
        "prepare",
        "warmup",
        "step_begin 3",
        "start",
        "step_begin 4",
        "step_begin 5",
        "stop",
        "finalize",
    ]
    [_folder] = Path("result").iterdir()
    assert ("INFO", "Stop Dynamic Profiler at 6 step.") in said()
    _steps(9)
    assert daemon.take() == []  # once
    dp.CONTROL.close()
    assert Proxy.finalized == 1


def test_a_request_for_other_ranks(daemon: Recorded, said: Said) -> None:
    dp.init("unused")
    _ask("PROFILE_START_STEP=-1\nPROFILE_IS_RANK=true\nPROFILE_RANK_LIST=7")
    _steps(2)
    assert daemon.take() == []
    assert [text for kind, text in said() if kind == "WARNING"] == [
        "Rank -1 is not in rank_list, the config is not for it."
    ]


def test_a_request_for_msmonitor_itself(daemon: Recorded, said: Said) -> None:
    dp.init("unused")
    _ask("NPU_MONITOR_START=true\nPROFILE_START_STEP=-1")
    _steps(1)
    assert daemon.take() == []
    assert [text for kind, text in said() if kind == "WARNING"] == ["npu-monitor needs an NPU, its request is ignored."]


def test_a_daemon_that_fails_is_told_of_once(daemon: Recorded, said: Said) -> None:
    dp.init("unused")
    said()
    gone = RuntimeError("the socket is gone")
    _ask(gone, gone, "PROFILE_START_STEP=-1\nACTIVITIES_LOG_FILE=result")
    assert [line for line in said() if line[0] == "WARNING"] == [
        ("WARNING", "A new config cannot be looked for: the socket is gone")
    ]
    _steps(1)
    assert daemon.take()[:2] == ["prepare", "start"]


@pytest.mark.parametrize(
    ("answer", "reason"), [(False, "it does not answer"), (RuntimeError("no socket"), "no socket")]
)
def test_a_daemon_that_is_not_there(answer: Any, reason: str, daemon: Recorded, said: Said) -> None:
    Proxy.answer_to_init = answer
    dp.init("folder")
    assert said() == [("WARNING", f"The dynolog daemon cannot be asked ({reason}). A config file is used instead.")]
    assert Path("folder/profiler_config.json").is_file()


def test_the_older_client(daemon: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    class Old:
        def init_dyno(self, npu_id: int) -> None:
            Proxy.registered.append(npu_id)

        def poll_dyno(self) -> str:
            return ""

    monkeypatch.setitem(sys.modules, "mindstudio_monitor", None)
    monkeypatch.setitem(sys.modules, "IPCMonitor", SimpleNamespace(PyDynamicMonitorProxy=Old))
    dp.init("unused")
    assert Proxy.registered == [0]
    dp.CONTROL.close()  # it has no finalize_dyno


#: Content of a package mindstudio_monitor, None: there is none; the reason told.
PACKAGES = [
    (None, "mindstudio_monitor is not installed"),
    ("", "mindstudio_monitor: module 'mindstudio_monitor' has no attribute 'PyDynamicMonitorProxy'"),
    ("import libmspti_of_cann", "mindstudio_monitor: No module named 'libmspti_of_cann'"),
    ("raise OSError('libmspti.so: cannot open shared object file')", "mindstudio_monitor: libmspti.so: cannot open"),
]


@pytest.mark.parametrize(("content", "reason"), PACKAGES)
def test_without_a_client(
    content: str | None, reason: str, daemon: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "mindstudio_monitor")
    if content is not None:
        Path("mindstudio_monitor.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))  # then: what an import has seen of the folder, the next may not look for
    dp.init("folder")
    [(kind, text)] = said()
    assert kind == "WARNING"
    assert f"The dynolog daemon cannot be asked ({reason}" in text
    assert text.endswith("A config file is used instead.")
    assert Path("folder/profiler_config.json").is_file()
    sys.modules.pop("mindstudio_monitor", None)


#: Variables, the daemon is asked.
WISHES = [
    ({}, False),
    ({"MSMONITOR_USE_DAEMON": "1"}, True),
    ({"KINETO_USE_DAEMON": "1"}, True),
    ({"MSMONITOR_USE_DAEMON": "0", "KINETO_USE_DAEMON": "1"}, False),
    ({"MSMONITOR_USE_DAEMON": "yes"}, False),
    ({"MSMONITOR_USE_DAEMON": "1", "PROF_CONFIG_PATH": "folder"}, False),
]


@pytest.mark.parametrize(("variables", "wanted"), WISHES)
def test_what_the_environment_asks_for(
    variables: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert dynolog.is_wanted() == wanted


#: In place of mindstudio_monitor: one request, of the next step.
STAND_IN = r"""
class PyDynamicMonitorProxy:
    requests = ["PROFILE_START_STEP=2\nACTIVITIES_ITERATIONS=2\nACTIVITIES_LOG_FILE=result"]
    def init_dyno(self, npu_id):
        return True
    def poll_dyno(self):
        return self.requests.pop() if self.requests else ""
    def finalize_dyno(self):
        print("finalized", flush=True)
"""
TRAINING = """
from tb_npu_plugin.capture import backend
from tests.unit.capture.api import fake
log = []
backend.choose(backend.Backend("fake", lambda: fake.FakeRecorder(log, {}, []), fake.PARSER))
import tb_npu_plugin.capture.pytorch
import sys
print("torch" in sys.modules)
import torch
optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
for _ in range(5):
    optimizer.step()
print(",".join(entry for entry in log if entry.startswith("step_begin") or " " not in entry))
"""


@pytest.mark.parametrize("client", [True, False])
def test_the_environment_alone(client: bool, tmp_path: Path) -> None:
    """The steps of the optimizer count; without a client nothing is watched, and PyTorch is not imported for it."""
    pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
    if client:
        (tmp_path / "mindstudio_monitor.py").write_text(STAND_IN)
    path = os.pathsep.join([str(Path(__file__).parents[4]), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", TRAINING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MSMONITOR_USE_DAEMON": "1", "PYTHONPATH": path, "TB_NPU_BACKEND": "mock"},
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    if client:
        assert told == ["True", "prepare,start,step_begin 2,step_begin 3,stop,finalize", "finalized"]
        assert len(list((tmp_path / "result").iterdir())) == 1
    else:
        assert told == ["False", ""]
        assert "mindstudio_monitor is not installed" in done.stdout
        assert list(tmp_path.iterdir()) == []
