"""What is on disk after a run that ended early, and what analyse makes of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.host import HostData
from tb_npu_plugin.capture.pytorch import analyse, profile, tensorboard_trace_handler
from tb_npu_plugin.discovery.scan import scan
from tests.unit.capture.api.conftest import Recorded, Said
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
full = pytest.mark.full


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("form", "end", "status", "kept", "parsed"),
    [
        (WITH, "raise KeyError('of the training')", 1, True, True),
        pytest.param(START, "sys.exit(3)", 3, True, True, marks=full),
        (START, "signal.raise_signal(signal.SIGINT)", -signal.SIGINT, True, True),
        pytest.param(START, "return  # without stop()", 0, True, True, marks=full),
        # nothing is parsed: whoever ends the process does not wait for long
        (WITH, SIGTERM, -signal.SIGTERM, True, False),
        pytest.param(START, "signal.raise_signal(signal.SIGHUP)", -signal.SIGHUP, True, False, marks=full),
        pytest.param(WITH, "os._exit(4)", 4, False, False, marks=full),
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

    raw = content(folder / "FRAMEWORK")
    analyse(str(tmp_path / "result"))
    assert is_parsed(folder) == kept
    assert any(str(folder) in text for kind, text in said() if kind == "ERROR") == (not kept)
    assert content(folder / "FRAMEWORK") == raw
    assert not [name for name in names(folder) if ".part" in name]


def test_a_signal_handler_of_the_script_is_kept(tmp_path: Path) -> None:
    script = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n" + TRAINING.format(end=SIGTERM)
    run_script(tmp_path, script + WITH, status=7)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder)


def test_signal_handlers_are_restored_after_the_capture(tmp_path: Path) -> None:
    script = (
        "handlers = lambda: [signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGHUP)]\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with profile(on_trace_ready=lambda prof: print('ready', handlers())): print('records', handlers())\n"
        "print('after', handlers(), signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)\n"
    )
    lines = own_lines(run_script(tmp_path, script))
    assert lines == ["records [False, False]", "ready [True, False]", "after [True, False] True"]


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
    ("moment", "sent", "times"),
    [
        ("finalize", "SIGTERM", 1),
        ("finalize", "SIGINT", 1),
        ("stop", "SIGINT", 2),
        pytest.param("stop", "SIGINT", 1, marks=full),
        pytest.param("finalize", "SIGINT", 2, marks=full),
    ],
)
def test_a_signal_waits_until_the_capture_is_written(moment: str, sent: str, times: int, tmp_path: Path) -> None:
    """A second Ctrl-C does not wait."""
    script = (
        f"do = fake.FakeRecorder.{moment}\n"
        "def interrupted(recorder):\n"
        f"    for _ in range({times}): signal.raise_signal(signal.{sent})\n"
        "    return do(recorder)\n"
        f"fake.FakeRecorder.{moment} = interrupted\n"
        "try:\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result')): pass\n"
        "except KeyboardInterrupt: print('interrupted', signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        f"fake.FakeRecorder.{moment} = do\n"
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
        pytest.param("kill_who_waits", "True", -signal.SIGKILL, False, marks=full),
        pytest.param("interrupt_who_waits", "False", -signal.SIGINT, False, marks=full),
        # in the background parsing goes on, and the process waits for it
        ("interrupt_and_parse", "True", -signal.SIGINT, True),
        ("full_disk", "False", 0, False),
        pytest.param("full_disk", "True", 0, False, marks=full),
    ],
)
def test_parsing_that_ends_early_leaves_no_half_result(
    parser: str, mode: str, status: int, parsed: bool, tmp_path: Path, recorded: Recorded
) -> None:
    wait = "while True: time.sleep(0.01)\n" if mode == "True" and status else ""
    script = f"with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode})): pass\n{wait}"
    run_script(tmp_path, script, parser, status=status)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder) == ("ASCEND_PROFILER_OUTPUT" in names(folder)) == parsed
    for _ in range(2):
        analyse(str(folder))
        assert is_parsed(folder)
        assert names(folder) == {"ASCEND_PROFILER_OUTPUT", "FRAMEWORK", "profiler_info.json", "profiler_metadata.json"}


def test_a_capture_of_the_mock_device_without_a_trace_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "host_1_20260101000000000_ascend_pt"
    (folder / "FRAMEWORK").mkdir(parents=True)
    HostData(Settings(), 1, 0, 5).write(folder)
    [skipped] = scan({"": tmp_path}).skipped
    assert "cannot be parsed" in skipped.reason


@full
@needs_torch
@pytest.mark.parametrize(
    ("end", "status", "kept"),
    [
        (SIGTERM, -signal.SIGTERM, True),
        ("signal.raise_signal(signal.SIGKILL)", -signal.SIGKILL, False),
        # no file may grow beyond that: a disk that is full when the capture ends
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)); prof.stop(); os._exit(0)", 0, False),
    ],
)
def test_the_mock_device(end: str, status: int, kept: bool, tmp_path: Path, said: Said) -> None:
    training = TRAINING.format(end=end).replace("prof.step()", "x @ x; prof.step()")
    out = run_script(tmp_path, f"import torch\nx = torch.ones(4, 4)\n{training}{START}", parser="", status=status)
    assert ("is the disk full?" in out) == ("RLIMIT" in end)
    [folder] = (tmp_path / "result").iterdir()
    assert ("torch.json" in names(folder / "FRAMEWORK")) == kept
    assert not [name for name in names(folder / "FRAMEWORK") if ".part" in name]
    [skipped] = scan({"": tmp_path}).skipped
    assert ("cannot be parsed" in skipped.reason) == (not kept)
    analyse(str(folder))
    assert is_parsed(folder) == kept
    lost = [text for kind, text in said() if kind == "ERROR" and "nothing that was recorded is in" in text]
    assert bool(lost) == (not kept)
    assert all("Remove the folder and record again" in text for text in lost)
