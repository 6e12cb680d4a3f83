"""Whatever a schedule says and whatever fails, nothing is raised and recorders are called in the order they were promised."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api.options import AiCMetrics, ProfilerAction, _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile, tensorboard_trace_handler
from tests.unit.capture.api import fake

#: The calls of one capture, one letter each; a failing call is the last but for a discard.
LETTERS = {
    "prepare": "p",
    "warmup": "w",
    "start": "s",
    "stop": "t",
    "finalize": "f",
    "discard": "d",
    "step_begin": "b",
    "step_end": "e",
}
PROMISED = re.compile(r"p(w?[be]*(s[be]*(t(f|f?d)?|d)?|d)?)?")
CALLS = ["prepare", "warmup", "start", "stop", "finalize", "discard"]
ACTIONS = st.lists(st.sampled_from(list(ProfilerAction)), min_size=1, max_size=12)


@contextlib.contextmanager
def _elsewhere() -> Iterator[str]:
    """In a temporary folder: this test deletes folders, and while it is wrong it must not reach the sources."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


@given(ACTIONS, st.sampled_from(["", *CALLS]), st.integers(0, 12), st.booleans())
@example([ProfilerAction.WARMUP, ProfilerAction.NONE], "start", 0, False)
def test_order(actions: list[ProfilerAction], failing: str, until: int, stop: bool) -> None:
    recorders: list[fake.FakeRecorder] = []
    fail: dict[str, Exception] = {failing: OSError(28, "No space left on device")} if failing else {}
    own, backend.new_recorder = backend.new_recorder, lambda *where: fake.FakeRecorder([], fail, recorders, *where)
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone)
    ready: list[str] = []
    try:
        with _elsewhere() as folder, contextlib.redirect_stdout(io.StringIO()):
            tensorboard_trace_handler(folder)
            prof = profile(
                schedule=lambda step: actions[step % len(actions)],
                on_trace_ready=lambda prof: ready.append(prof.prof_if.prof_path),
                experimental_config=config,
            )
            prof.start()
            for step in range(2 * len(actions)):
                if step == until:
                    fail.clear()
                prof.step()
            prof.stop()
            if stop:
                prof.stop()
    finally:
        backend.new_recorder = own
    calls = ["".join(LETTERS[entry.split()[0]] for entry in recorder.log) for recorder in recorders]
    for call in calls:
        assert PROMISED.fullmatch(call), call
    finished = [call for call in calls if call.endswith("f")]
    assert len(ready) == len(set(ready)) <= len(finished) or failing == "finalize"
    if not failing:
        assert all(call.endswith(("f", "d")) for call in calls)  # nothing is left running
