"""The transition table, row by row, through a profile and a fake recorder.
Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture.api.actions import TRANSITIONS
from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded, Said

N, W, R, S = ProfilerAction
INIT, INIT_START, INIT_WARMUP = ["prepare"], ["prepare", "start"], ["prepare", "warmup"]
END = ["stop", "finalize"]
SAVE = [*END, "ready"]
PERHAPS = "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
EMPTY = "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
PARTS = "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."

#: before, after (None: stop), what is done, what is printed.
ROWS: list[tuple[ProfilerAction, ProfilerAction | None, list[str], str]] = [
    (N, N, [], ""),
    (N, W, INIT_WARMUP, ""),
    (N, R, INIT_START, ""),
    (N, S, INIT_START, ""),
    (W, N, ["start", *END], "Incorrect schedule: WARMUP followed by NONE"),
    (W, W, [], ""),
    (W, R, ["start"], ""),
    (W, S, ["start"], ""),
    (R, N, END, "Incorrect schedule: RECORD followed by NONE"),
    (R, W, END, "Incorrect schedule: RECORD followed by WARMUP"),
    (R, R, [], ""),
    (R, S, [], ""),
    (S, N, SAVE, ""),
    (S, W, [*SAVE, *INIT_WARMUP], ""),
    (S, R, [*SAVE, *INIT_START], ""),
    (S, S, [*SAVE, *INIT_START], ""),
    (N, None, [], ""),
    (W, None, ["discard"], EMPTY),
    (R, None, SAVE, PARTS),
    (S, None, SAVE, PERHAPS),
]


def _profile(actions: list[ProfilerAction], recorded: Recorded, **arguments: Any) -> profile:
    def ready(prof: profile) -> None:
        assert Path(prof.prof_if.prof_path, "profiler_info.json").is_file()  # after finalize
        recorded.log.append("ready")

    return profile(schedule=lambda step: actions[step], on_trace_ready=ready, **arguments)


def _without_marks(log: list[str]) -> list[str]:
    return [entry for entry in log if not entry.startswith("step_")]


def test_the_table_is_whole() -> None:
    assert [(before, after) for before, after, _, _ in ROWS] == list(TRANSITIONS)


@pytest.mark.parametrize(("before", "after", "done", "warning"), ROWS)
def test_row(
    before: ProfilerAction, after: ProfilerAction | None, done: list[str], warning: str, recorded: Recorded, said: Said
) -> None:
    prof = _profile([before, after or N], recorded)
    said()
    prof.start()
    folder = prof.prof_if.prof_path
    recorded.take()
    assert said() == []
    if after is None:
        prof.stop()
    else:
        prof.step()
    assert _without_marks(recorded.take()) == done
    assert said() == ([("WARNING", warning)] if warning else [])
    if (before, after) == (W, None):
        assert not Path(folder).exists()
    elif folder:
        assert Path(folder).is_dir()


def test_each_cycle_has_a_folder_and_a_trace_id(recorded: Recorded) -> None:
    seen: list[tuple[str, str]] = []
    prof = profile(
        schedule=lambda step: S, on_trace_ready=lambda p: seen.append((p.prof_if.prof_path, p.get_trace_id()))
    )
    prof.start()
    for _ in range(4):
        prof.step()
    prof.stop()
    assert len(seen) == 5
    assert len({folder for folder, _ in seen}) == 5
    assert len({trace for _, trace in seen}) == 5


def _full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", "/full/FRAMEWORK")


def _read_only() -> OSError:
    return OSError(errno.EROFS, "Read-only file system", "/ro")


#: Makes the failure, what is said about it, and what to do.
FAILURES: list[tuple[Callable[[], Exception], str, str]] = [
    (_full, "No space left on device: '/full/FRAMEWORK'", "Free some space or choose another dir_name."),
    (
        lambda: OSError(errno.ENOSPC, "No space left on device"),  # as a write that fails: of no file
        "_ascend_pt'. Free",
        "Free some space or choose another dir_name.",
    ),
    (_read_only, "Read-only file system: '/ro'", "Choose a dir_name that can be written."),
    (lambda: RuntimeError("broken"), "broken", ""),
    (AssertionError, "AssertionError", ""),
]


@pytest.mark.parametrize("call", ["prepare", "warmup", "start", "stop", "finalize"])
@pytest.mark.parametrize(("make", "reason", "hint"), FAILURES)
def test_a_failing_recorder_ends_one_capture(
    call: str, make: Callable[[], Exception], reason: str, hint: str, recorded: Recorded, said: Said
) -> None:
    _two_cycles(call, make(), recorded, said)
    [text] = [text for kind, text in said() if kind == "ERROR"]
    assert reason in text
    assert hint in text
    assert text.endswith("The training goes on.")
    assert recorded.log.count("ready") == 1  # of the second cycle
    assert len(list(Path().glob("*_ascend_pt"))) == (2 if call in ("stop", "finalize") else 1)  # those with data


@pytest.mark.parametrize("call", ["step_begin", "step_end"])
def test_a_failing_mark_does_not_end_the_capture(call: str, recorded: Recorded, said: Said) -> None:
    _two_cycles(call, RuntimeError("broken"), recorded, said)
    assert [text for kind, text in said() if kind == "ERROR"] == ["The mark of step 0 is not recorded: broken"]
    assert recorded.log.count("ready") == 2


def _two_cycles(call: str, problem: Exception, recorded: Recorded, said: Said) -> None:
    """Two captures, in the first of which a call fails."""
    actions = [W, R, S, N] * 2
    prof = _profile([*actions, N], recorded)
    said()
    recorded.fail[call] = problem
    prof.start()
    for step in range(1, len(actions) + 1):
        if step == 4:
            recorded.fail.clear()
        prof.step()
    prof.stop()


def test_a_handler_that_fails_does_not_cost_the_next_capture(recorded: Recorded, said: Said) -> None:
    def ready(prof: profile) -> None:
        recorded.log.append("ready")
        raise KeyError("mine")

    prof = profile(schedule=lambda step: S, on_trace_ready=ready)
    said()
    prof.start()
    prof.step()
    assert _without_marks(recorded.take()) == [*INIT_START, *SAVE, *INIT_START]
    assert said() == [("ERROR", "Profiling failed in on_trace_ready: KeyError: 'mine'. The training goes on.")]
    prof.stop()
    assert Path(prof.prof_if.prof_path, "profiler_metadata.json").is_file()  # what was recorded can still be exported


def test_a_folder_that_cannot_be_written(recorded: Recorded, said: Said, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path / "file"))
    prof = profile()
    said()
    with prof:
        prof.step()
    [(_kind, text)] = [line for line in said() if line[0] == "ERROR"]
    assert "beginning a capture" in text
    assert str(tmp_path / "file") in text
    assert recorded.take() == []


class Observer:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def start(self) -> None:
        self.log.append("observer start")

    def stop(self) -> None:
        self.log.append("observer stop")
        raise ValueError("mine")


def test_the_observer_follows_the_profiler(recorded: Recorded, said: Said) -> None:
    prof = _profile([R, S, N], recorded, execution_trace_observer=Observer(recorded.log))
    said()
    prof.start()
    prof.step()
    prof.step()
    assert _without_marks(recorded.log) == [
        "prepare",
        "start",
        "observer start",
        "stop",
        "observer stop",
        "finalize",
        "ready",
    ]
    assert said() == [("ERROR", "execution_trace_observer.stop() failed: ValueError: mine")]
