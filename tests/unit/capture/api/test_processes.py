"""Captures in processes that end early, are interrupted, fork, meet a full disk, or are one of several ranks."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tb_npu_plugin.capture.api import messages, session
from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.host import HostData
from tb_npu_plugin.capture.pytorch import _KinetoProfile, analyse, profile, schedule, tensorboard_trace_handler
from tb_npu_plugin.discovery.scan import scan
from tests.unit.capture.api.conftest import Recorded, Said, make_profile, quiet
from tests.unit.capture.scripts import is_parsed, needs_torch, own_lines, run_script

TRAINING = """
def train(prof):
    for step in range(6):
        if step == 2:
            {end}
        prof.step()
prof = profile(schedule=schedule(0, 9, repeat=1), on_trace_ready=tensorboard_trace_handler("result"))
"""
WITH, START = "with prof: train(prof)\n", "prof.start()\ntrain(prof)\n"
SIGTERM = "signal.raise_signal(signal.SIGTERM)"
OWN_HANDLER = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"


@pytest.mark.parametrize(
    ("form", "end", "status", "kept", "parsed"),
    [
        (WITH, "raise KeyError('of the training')", 1, True, True),
        (START, "signal.raise_signal(signal.SIGINT)", -signal.SIGINT, True, True),
        # nothing is parsed: whoever ends the process does not wait for long
        (WITH, SIGTERM, -signal.SIGTERM, True, False),
        (START, SIGTERM.replace("TERM", "HUP"), -signal.SIGHUP, True, False),
        (OWN_HANDLER + WITH, SIGTERM, 7, True, True),
        (START, "signal.raise_signal(signal.SIGKILL)", -signal.SIGKILL, False, False),
    ],
)
def test_ends(
    form: str, end: str, status: int, kept: bool, parsed: bool, tmp_path: Path, recorded: Recorded, said: Said
) -> None:
    run_script(tmp_path, TRAINING.format(end=end) + form, status=status)
    [folder] = (tmp_path / "result").iterdir()
    assert (folder / "FRAMEWORK/raw.json").is_file() == kept
    assert is_parsed(folder) == parsed

    analyse(str(tmp_path / "result"))
    assert is_parsed(folder) == kept
    assert any(str(folder) in text for text in said.errors()) == (not kept)
    assert not list(folder.glob("*.part*"))


def test_sigterm_ends_a_forked_process_at_once(tmp_path: Path) -> None:
    script = (
        "prof = profile(on_trace_ready=tensorboard_trace_handler('result'))\n"
        "prof.start()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    os._exit(0)\n"
        "print('child', os.waitpid(child, 0)[1], os.path.exists(prof.prof_if.prof_path + '/FRAMEWORK/raw.json'))\n"
    )
    assert own_lines(run_script(tmp_path, script)) == [f"child {int(signal.SIGTERM)} False"]
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder)


@pytest.mark.parametrize(
    ("moment", "sent", "times"), [("finalize", "SIGTERM", 1), ("finalize", "SIGINT", 1), ("stop", "SIGINT", 2)]
)
def test_a_signal_waits_until_the_capture_is_written(moment: str, sent: str, times: int, tmp_path: Path) -> None:
    """A second Ctrl-C does not wait."""
    script = (
        "note = fake.FakeRecorder._note\n"
        "def interrupted(recorder, what):\n"
        f"    for _ in range({times} if what == {moment!r} else 0): signal.raise_signal(signal.{sent})\n"
        "    note(recorder, what)\n"
        "fake.FakeRecorder._note = interrupted\n"
        "try:\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result')): pass\n"
        "except KeyboardInterrupt: print('interrupted', signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        "fake.FakeRecorder._note = note\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('next')): pass\n"
    )
    goes_on = sent == "SIGINT"
    out = run_script(tmp_path, script, status=0 if goes_on else -signal.SIGTERM)
    assert ("interrupted True" in own_lines(out)) == (tmp_path / "next").exists() == goes_on
    [folder] = (tmp_path / "result").iterdir()
    assert (folder / "FRAMEWORK/raw.json").is_file() == (times == 1)
    assert ("What it recorded is kept; parse it: analyse(" in out) == (times == 1)
    assert not is_parsed(folder)
    assert all(is_parsed(folder) for folder in (tmp_path / "next").glob("*"))


def test_control_c_ends_all_parsers_of_analyse(tmp_path: Path, recorded: Recorded) -> None:
    for number in range(3):
        with profile(on_trace_ready=tensorboard_trace_handler("result", f"rank{number}", analyse_flag=False)):
            pass
    before = set((tmp_path / "result").rglob("*"))
    script = "analyse('result', max_process_number=1)"
    assert "It was interrupted." in run_script(tmp_path, script, "interrupt_who_waits", status=-signal.SIGINT)
    assert set((tmp_path / "result").rglob("*")) == before


@pytest.mark.parametrize(
    ("parser", "mode", "status", "parsed"),
    [
        ("kill_who_waits", "False", -signal.SIGKILL, False),
        # in the background parsing goes on, and the process waits for it
        ("interrupt_and_parse", "True", -signal.SIGINT, True),
        ("full_disk", "False", 0, False),
    ],
)
def test_parsing_that_ends_early_leaves_no_half_result(
    parser: str, mode: str, status: int, parsed: bool, tmp_path: Path, recorded: Recorded
) -> None:
    wait = "while True: time.sleep(0.01)\n" if mode == "True" and status else ""
    script = f"with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode})): pass\n{wait}"
    run_script(tmp_path, script, parser, status=status)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder) == (folder / "ASCEND_PROFILER_OUTPUT").exists() == parsed
    for _ in range(2):
        analyse(str(folder))
        assert is_parsed(folder)
        files = {"ASCEND_PROFILER_OUTPUT", "FRAMEWORK", "profiler_info.json", "profiler_metadata.json"}
        assert {path.name for path in folder.iterdir()} == files


def test_a_capture_of_the_mock_device_without_a_trace_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "host_1_20260101000000000_ascend_pt"
    (folder / "FRAMEWORK").mkdir(parents=True)
    HostData(Settings(), 1, 0, 5).write(folder)
    [skipped] = scan({"": tmp_path}).skipped
    assert "cannot be parsed" in skipped.reason


# -- Ctrl-C during any call of the recorder ----------------------------------------------------------
def _handlers() -> list[object]:
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def _scheduled(warmup: int) -> None:
    plan = schedule(wait=1, active=2 - warmup, warmup=warmup, repeat=1)
    with make_profile(schedule=plan, experimental_config=quiet(mstx=True, gc_detect_threshold=0.0)) as prof:
        for _ in range(4):
            prof.step()


def _kineto() -> None:
    with _KinetoProfile(experimental_config=quiet()):
        pass


@pytest.mark.parametrize("call", ["sample", "prepare", "warmup", "start", "step_begin", "step_end", "stop", "finalize"])
@pytest.mark.parametrize("work", [partial(_scheduled, 1), partial(_scheduled, 0), _kineto])
def test_nothing_records_on_and_the_next_capture_begins(
    work: Callable[[], None], call: str, recorded: Recorded, said: Said
) -> None:
    """As in a notebook. Cause: a capture that had not begun to record kept SIGINT."""
    handlers = _handlers()
    callbacks = list(gc.callbacks)
    recorded.fail[call] = KeyboardInterrupt()
    with contextlib.suppress(KeyboardInterrupt):
        work()
    recorded.fail.clear()
    assert [call for call in recorded.take() if call in ("start", "stop", "discard")][-1:] != ["start"]
    assert session.current() is None
    assert _handlers() == handlers
    assert gc.callbacks == callbacks
    work()
    assert _handlers() == handlers
    assert said.errors() == []
    assert [call for call in recorded.take() if call in ("start", "stop", "finalize")] == ["start", "stop", "finalize"]


def test_control_c_between_two_actions(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: step() had taken the next action already, so that stop() had nothing to stop."""
    interrupts = [KeyboardInterrupt()]

    def warn(text: str) -> None:
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(messages, "warn", warn)  # of the incorrect schedule
    plan = [ProfilerAction.RECORD, ProfilerAction.NONE]
    with pytest.raises(KeyboardInterrupt), make_profile(schedule=plan.__getitem__) as prof:
        prof.step()
    assert recorded.take_captures() == ["prepare", "start", "stop", "finalize"]


# -- processes that end, fork, or are one of several -------------------------------------------------
@pytest.mark.parametrize("in_background", [True, False])
def test_the_process_stops_its_capture_and_waits_for_parsing(in_background: bool, tmp_path: Path) -> None:
    script = (
        f"handler = tensorboard_trace_handler('result', async_mode={in_background})\n"
        "prof = profile(schedule=schedule(0, 1), on_trace_ready=handler)\n"
        "prof.start()\n"
        "for _ in range(2): prof.step()\n"
    )
    out = run_script(tmp_path, script)
    assert out.count("Start parsing profiling data in async mode at: ") == 2 * in_background  # the last at the end
    assert [is_parsed(folder) for folder in (tmp_path / "result").iterdir()] == [True] * 3


def test_a_forked_process_leaves_the_capture_alone(tmp_path: Path) -> None:
    script = (
        "with profile(schedule=schedule(0, 1), on_trace_ready=lambda prof: print('ready', flush=True)) as prof:\n"
        "    if os.fork() == 0:\n"
        "        prof.step()\n"
        "        prof.start()\n"
        "        sys.exit()  # leaves the with\n"
        "    os.wait()\n"
        "    print('now', flush=True)\n"
    )
    out = run_script(tmp_path, script)
    assert own_lines(out) == ["now", "ready"]
    calls = [line.split(", ")[1] for line in out.splitlines() if "The profiler was started by process" in line]
    assert calls == [f"{call} takes no effect in its child!" for call in ("step", "start", "stop")]


@pytest.mark.parametrize("kind", ["profile()", "_KinetoProfile()"])
def test_a_profile_that_is_made_before_the_process_forks(kind: str, tmp_path: Path) -> None:
    script = (
        f"prof = {kind}\n"
        "if os.fork() == 0:\n"
        "    with prof: pass\n"
        "    prof.export_chrome_trace('trace.json')\n"
        "    sys.exit()\n"
        "os.wait()\n"
    )
    assert "takes no effect" not in run_script(tmp_path, script)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_forked_process_parses_in_the_background_itself(tmp_path: Path) -> None:
    script = (
        "def capture():\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode=True)): pass\n"
        "capture()\n"
        "while not list(Path().glob('result/*/*/analyse.done')): time.sleep(0.01)\n"
        "if os.fork() == 0:\n"
        "    capture()\n"
        "    sys.exit()\n"
        "os.wait()\n"
    )
    run_script(tmp_path, script)
    assert [is_parsed(folder) for folder in (tmp_path / "result").iterdir()] == [True, True]


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        ("open('result', 'w').close()", "Not a directory"),
        # no file may grow: what a full disk does, but to this process alone
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", "File too large"),
    ],
)
def test_a_disk_that_takes_nothing(prepare: str, reason: str, tmp_path: Path) -> None:
    script = (
        f"{prepare}\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('result'), schedule=schedule(0, 3, repeat=1)) as prof:\n"
        "    for step in range(5):\n"
        "        prof.step()\n"
        "print('steps', prof.step_num)\n"
    )
    *lines, last = run_script(tmp_path, script).splitlines()
    assert last == "steps 5"
    [error] = [line for line in lines if "[ERROR]" in line]
    assert reason in error
    assert "The training goes on." in error


RANK = """
import torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=0, world_size=1)
dist.new_group([0])
with profile(on_trace_ready=tensorboard_trace_handler("result", analyse_flag=False)):
    dist.barrier()
"""


@needs_torch
def test_a_rank_of_torch_distributed(tmp_path: Path) -> None:
    run_script(tmp_path, RANK)
    [info] = (tmp_path / "result").glob("*/profiler_info_0.json")
    assert json.loads(info.read_text())["rank_id"] == 0  # a number
    groups = json.loads((info.parent / "profiler_metadata.json").read_text())["parallel_group_info"].values()
    assert [group.pop("group_name") == "default_group" for group in groups] == [True, False]
    assert list(groups) == [{"group_rank": 0, "global_ranks": [0]}] * 2
