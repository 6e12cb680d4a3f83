"""A run that ends before its time: what is on the disk then, and what analyse makes of it. With real processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tb_npu_plugin.capture.pytorch import analyse, profile, tensorboard_trace_handler
from tb_npu_plugin.discovery.scan import scan
from tests.unit.capture.api.conftest import Recorded, Said

ROOT = Path(__file__).parents[4]
PROLOGUE = """
import os, resource, signal, sys, threading, time
from tb_npu_plugin.capture import backend
from tests.unit.capture.api import fake
parser = "{parser}"
if parser:
    recorder = lambda: fake.FakeRecorder([], {{}}, [])
    backend.choose(backend.Backend("fake", recorder, f"{{fake.__name__}}:{{parser}}"))
from tb_npu_plugin.capture.pytorch import *
"""
TRAINING = """
def train(prof):
    for step in range(6):
        if step == 2:
            {end}
        prof.step()
prof = profile(schedule=schedule(0, 9, repeat=1), on_trace_ready=tensorboard_trace_handler("result"))
"""
#: How the training is written.
FORMS = {"with": "with prof: train(prof)\n", "start": "prof.start()\ntrain(prof)\n"}


def run(folder: Path, script: str, parser: str = "parse") -> tuple[int, str, str]:
    """Exit status, stdout and stderr; they end when the last process that has them does."""
    # Bytecode that a limit cuts off stays (Python 3.11), and no other process could import that module again.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TB_NPU_BACKEND": "mock", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("ASCEND_WORK_PATH", None)
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE.format(parser=parser) + script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    return done.returncode, done.stdout, done.stderr


def is_parsed(folder: Path) -> bool:
    return (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").is_file()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("end", "status", "kept", "parsed"),
    [
        ("raise KeyError('of the training')", 1, True, True),
        ("sys.exit(3)", 3, True, True),
        ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT, True, True),
        ("return  # and no stop()", 0, True, True),
        # nothing is parsed: whoever ends the process does not wait for long
        ("signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM, True, False),
        ("signal.raise_signal(signal.SIGHUP)", -signal.SIGHUP, True, False),
        ("os._exit(4)", 4, False, False),
        ("signal.raise_signal(signal.SIGKILL)", -signal.SIGKILL, False, False),
    ],
)
def test_ends(
    form: str, end: str, status: int, kept: bool, parsed: bool, tmp_path: Path, recorded: Recorded, said: Said
) -> None:
    ended, _, problems = run(tmp_path, TRAINING.format(end=end) + FORMS[form])
    # Python forgets that it was Ctrl-C when what runs at its end (parsing, after start() alone) calls exec()
    assert ended == status or (ended, status) == (1, -signal.SIGINT), problems
    [folder] = (tmp_path / "result").iterdir()
    assert (folder / "FRAMEWORK/raw.json").is_file() == kept
    assert is_parsed(folder) == parsed

    raw = content(folder / "FRAMEWORK")
    analyse(str(tmp_path / "result"))
    assert is_parsed(folder) == kept
    assert any(str(folder) in text for kind, text in said() if kind == "ERROR") == (not kept)
    assert content(folder / "FRAMEWORK") == raw
    assert not [name for name in names(folder) if ".part" in name]


def test_a_signal_that_the_script_takes_is_the_script_s(tmp_path: Path) -> None:
    script = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + TRAINING.format(
        end="signal.raise_signal(signal.SIGTERM)"
    )
    status, _, problems = run(tmp_path, script + FORMS["with"])
    assert status == 7, problems
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder)


def test_after_the_capture_signals_are_as_they_were(tmp_path: Path) -> None:
    script = (
        "handlers = lambda: [signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGHUP)]\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with profile(on_trace_ready=lambda prof: print('ready', handlers())): print('records', handlers())\n"
        "print('after', handlers(), signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)\n"
    )
    status, out, problems = run(tmp_path, script)
    assert status == 0, problems
    lines = [line for line in out.splitlines() if not line.startswith("[2")]
    assert lines == ["records [False, False]", "ready [True, False]", "after [True, False] True"]


def test_a_forked_process_ends_as_it_would(tmp_path: Path) -> None:
    script = (
        "prof = profile(on_trace_ready=tensorboard_trace_handler('result'))\n"
        "prof.start()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    os._exit(0)\n"
        "print('child', os.waitpid(child, 0)[1], os.path.exists(prof.prof_if.prof_path + '/FRAMEWORK/raw.json'))\n"
    )
    status, out, problems = run(tmp_path, script)
    assert status == 0, problems
    assert f"child {int(signal.SIGTERM)} False" in out.splitlines()
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder)


def test_a_signal_while_the_capture_is_written_waits_for_it(tmp_path: Path) -> None:
    script = (
        "write = fake.FakeRecorder.finalize\n"
        "def finalize(recorder):\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    return write(recorder)\n"
        "fake.FakeRecorder.finalize = finalize\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('result')): pass\n"
        "print('never')\n"
    )
    status, out, problems = run(tmp_path, script)
    assert status == -signal.SIGTERM, problems
    assert "never" not in out
    [folder] = (tmp_path / "result").iterdir()
    assert {"FRAMEWORK", "profiler_info.json", "profiler_metadata.json"} == names(folder)
    assert (folder / "FRAMEWORK/raw.json").is_file()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("moment", ["stop", "finalize"])
def test_control_c_while_the_capture_is_written_waits_for_it(moment: str, times: int, tmp_path: Path) -> None:
    script = (
        f"do = fake.FakeRecorder.{moment}\n"
        "def interrupted(recorder):\n"
        f"    for _ in range({times}): signal.raise_signal(signal.SIGINT)\n"
        "    return do(recorder)\n"
        f"fake.FakeRecorder.{moment} = interrupted\n"
        "try:\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result')): pass\n"
        "except KeyboardInterrupt: print('interrupted', signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        f"fake.FakeRecorder.{moment} = do\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('next')): pass\n"
    )
    status, out, problems = run(tmp_path, script)
    assert status == 0, problems
    assert "interrupted True" in out.splitlines()
    [folder] = (tmp_path / "result").iterdir()
    kept = times == 1  # who insists does not wait
    assert (folder / "FRAMEWORK/raw.json").is_file() == kept
    assert ("What it recorded is kept; parse it: analyse(" in out) == kept
    assert not is_parsed(folder)
    [folder] = (tmp_path / "next").iterdir()
    assert is_parsed(folder)


def test_control_c_ends_all_that_analyse_has_begun(tmp_path: Path, recorded: Recorded) -> None:
    for number in range(3):
        with profile(on_trace_ready=tensorboard_trace_handler("result", f"rank{number}", analyse_flag=False)):
            pass
    before = set((tmp_path / "result").rglob("*"))
    status, out, problems = run(tmp_path, "analyse('result', max_process_number=1)", "interrupt_who_waits")
    assert status == -signal.SIGINT, problems
    assert "It was interrupted." in out
    assert set((tmp_path / "result").rglob("*")) == before


@pytest.mark.parametrize(
    ("parser", "mode", "status", "parsed"),
    [
        ("kill_who_waits", "False", -signal.SIGKILL, False),
        ("kill_who_waits", "True", -signal.SIGKILL, False),
        ("interrupt_who_waits", "False", -signal.SIGINT, False),
        # in the background parsing goes on, and the process waits for it
        ("interrupt_and_parse", "True", -signal.SIGINT, True),
        ("full_disk", "False", 0, False),
        ("full_disk", "True", 0, False),
    ],
)
def test_parsing_that_ends_early_leaves_no_half_result(
    parser: str, mode: str, status: int, parsed: bool, tmp_path: Path, recorded: Recorded
) -> None:
    wait = "while True: time.sleep(0.01)\n" if mode == "True" and status else ""
    script = f"with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode})): pass\n{wait}"
    ended, _, problems = run(tmp_path, script, parser)
    assert ended == status, problems
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder) == ("ASCEND_PROFILER_OUTPUT" in names(folder)) == parsed
    for _ in range(2):
        analyse(str(folder))
        assert is_parsed(folder)
        assert names(folder) == {"ASCEND_PROFILER_OUTPUT", "FRAMEWORK", "profiler_info.json", "profiler_metadata.json"}


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: see docs/capture.md"
)


@needs_torch
@pytest.mark.parametrize(
    ("end", "status", "kept"),
    [
        ("signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM, True),
        ("signal.raise_signal(signal.SIGKILL)", -signal.SIGKILL, False),
        # no file may grow beyond that: a disk that is full when the capture ends
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)); prof.stop(); os._exit(0)", 0, False),
    ],
)
def test_the_mock_device(end: str, status: int, kept: bool, tmp_path: Path, said: Said) -> None:
    training = "import torch\nx = torch.ones(4, 4)\n" + TRAINING.format(end=end).replace(
        "prof.step()", "x @ x; prof.step()"
    )
    ended, out, problems = run(tmp_path, training + FORMS["start"], parser="")
    assert ended == status, problems
    assert ("is the disk full?" in out) == ("RLIMIT" in end)
    [folder] = (tmp_path / "result").iterdir()
    assert ("torch.json" in names(folder / "FRAMEWORK")) == kept
    assert not [name for name in names(folder / "FRAMEWORK") if ".part" in name]
    [skipped] = scan({"": tmp_path}).skipped
    assert ("nothing can be parsed" in skipped.reason) == (not kept)
    analyse(str(folder))
    assert is_parsed(folder) == kept
    told = [text for kind, text in said() if kind == "ERROR" and "nothing that was recorded is in" in text]
    assert bool(told) == (not kept)
    assert all("Remove the folder and record again" in text for text in told)
