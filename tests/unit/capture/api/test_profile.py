"""Steps, start and stop, and what a profile records with which settings."""

from __future__ import annotations

import gc
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api import session
from tb_npu_plugin.capture.api.enums import AiCMetrics
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import QUIET, Recorded, Said, collect_frames


def test_steps_are_marked_and_numbered_from_the_construction(recorded: Recorded) -> None:
    prof = profile(schedule=schedule(1, 2, 1), on_trace_ready=lambda prof: None, experimental_config=QUIET)
    with prof:
        for _ in range(4):
            prof.step()
    assert recorded.take() == [
        "prepare",
        "warmup",
        "step_begin 1",
        "step_end 1",
        "start",
        "step_begin 2",
        "step_end 2",
        "step_begin 3",
        "step_end 3",
        "stop",
        "finalize",
    ]


def test_a_step_is_an_mstx_range_too(recorded: Recorded) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, mstx=True)
    with profile(schedule=schedule(0, 1), experimental_config=config):
        pass
    assert recorded.take() == [
        "prepare",
        "start",
        "step_begin 0",
        "range_start ProfilerStep#0 default 0",
        "range_end",
        "step_end 0",
        "stop",
        "finalize",
    ]


def test_step_without_start_records_too(recorded: Recorded) -> None:
    prof = profile(schedule=schedule(1, 1, 0, 1), on_trace_ready=lambda prof: None, experimental_config=QUIET)
    prof.step()
    prof.step()
    assert [entry for entry in recorded.take() if "step" not in entry] == ["prepare", "start", "stop", "finalize"]


def test_steps_before_start(recorded: Recorded, said: Said) -> None:
    """A loop that calls step() all the time, and start() and stop() around a few steps."""
    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET)
    said()
    prof.step()
    prof.start()
    prof.step()
    prof.stop()
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]
    assert [text for _, text in said()] == [
        "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
    ]


def test_one_capture_at_a_time(recorded: Recorded, said: Said) -> None:
    first, second = (profile(on_trace_ready=lambda prof: None, experimental_config=QUIET) for _ in range(2))
    first.start()
    folder = first.prof_if.prof_path
    said()
    second.start()
    second.stop()
    assert [text for kind, text in said() if kind == "ERROR"] == [
        "Profiling failed in beginning a capture: another profile of this process is recording; stop it first. "
        "The training goes on."
    ]
    assert recorded.take() == ["prepare", "start"]
    assert second.prof_if.prof_path == ""
    first.stop()
    assert recorded.take() == ["stop", "finalize"]
    assert list(Path().glob("*_ascend_pt")) == [Path(Path(folder).name)]  # the second left nothing
    with second:
        pass
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]


def test_a_dropped_profile_stops(recorded: Recorded) -> None:
    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET)
    prof.start()
    del prof
    gc.collect()
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]


def test_trace_ids(recorded: Recorded, said: Said) -> None:
    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET)
    assert prof.get_trace_id() == ""
    answers: list[Any] = ["mine", "x" * 1024, "x" * 1025, 7]

    def callback() -> str:
        return answers.pop(0)  # type: ignore[no-any-return]

    found = []
    for _ in range(6):
        prof.start()
        prof.stop()
        found.append(prof.get_trace_id())
        prof.set_custom_trace_id_callback(callback)
    default = re.compile("[0-9A-F]{32}")
    assert [bool(default.fullmatch(trace)) for trace in found] == [True, False, False, True, True, True]
    assert found[1:3] == ["mine", "x" * 1024]
    lines = [text for _, text in said() if "custom_trace_id" in text]
    assert len(lines) == 3
    assert "at most 1024" in lines[0]
    assert "pop from empty list" in lines[2]
    metadata = json.loads(Path(prof.prof_if.prof_path, "profiler_metadata.json").read_text())
    assert metadata["trace_id"] == found[-1]


def test_child_threads(recorded: Recorded, said: Said) -> None:
    def work() -> None:
        profile.enable_profiler_in_child_thread(with_stack=True)
        profile.disable_profiler_in_child_thread()

    work()
    assert said() == [("WARNING", "The profiler is not recording, enable_profiler_in_child_thread takes no effect.")]
    with profile(experimental_config=QUIET):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert recorded.take() == [
        "prepare",
        "start",
        "enable_child_thread True",
        "disable_child_thread",
        "stop",
        "finalize",
    ]


def test_the_settings_reach_the_recorder(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    config = _ExperimentalConfig(
        "Level2",
        AiCMetrics.Memory,
        l2_cache=True,
        mstx=True,
        export_type=["db", "text"],
        gc_detect_threshold=2,
        host_sys=["cpu"],
        sys_io=True,
        op_attr=True,
    )
    with profile(record_shapes=True, with_modules=True, experimental_config=config):
        pass
    [recorder] = recorded.recorders
    found = recorder.settings
    assert (found.cpu, found.npu, found.level, found.aic_metrics) == (
        True,
        True,
        "Level2",
        "ACL_AICORE_MEMORY_BANDWIDTH",
    )
    assert (found.l2_cache, found.mstx, found.op_attr, found.sys_io) == (True,) * 4
    assert (found.export_types, found.gc_threshold, found.host_sys) == (("db", "text"), 2, ("cpu",))
    assert (found.rank, found.world) == (3, 8)
    assert (found.host.record_shapes, found.host.with_modules, found.host.with_stack) == (True, True, False)


def test_a_profile_in_a_reference_cycle_does_not_block_the_next(recorded: Recorded, said: Said) -> None:
    class Trainer:
        def __init__(self) -> None:
            self.prof = profile(on_trace_ready=self.ready, experimental_config=QUIET)
            self.prof.start()

        def ready(self, prof: profile) -> None:
            pass

    gc.disable()
    try:
        Trainer()  # fails, say, and is forgotten
        said()
        other = Trainer().prof
        assert [text for kind, text in said() if kind == "ERROR"] == []
    finally:
        gc.enable()
    assert recorded.take() == ["prepare", "start", "stop", "finalize", "prepare", "start"]
    other.stop()


def test_a_dropped_kineto_profile_does_not_block_the_next(recorded: Recorded, tmp_path: Path) -> None:
    """Cause: it was not stopped when it was collected, so that PyTorch refused all captures to come."""
    _KinetoProfile().start()
    collect_frames()
    assert recorded.take()[-2:] == ["stop", "finalize"] and session.current_session() is None
    assert list(tmp_path.iterdir()) == []


def test_kineto_profile(recorded: Recorded, said: Said) -> None:
    with _KinetoProfile(experimental_config=QUIET) as prof:
        prof.add_metadata("key", "value")
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]
    assert said() == []
    folder = Path(prof.prof_if.prof_path)
    assert folder.parent.name == "export_only_prof_dir"
    assert json.loads((folder / "profiler_metadata.json").read_text())["key"] == "value"
    prof.export_chrome_trace("out/trace.json")
    assert json.loads(Path("out/trace.json").read_text())[0]["name"] == "aten::add"
    del prof
    collect_frames()
    assert not Path("export_only_prof_dir").exists()


@pytest.mark.parametrize("kind", [profile, _KinetoProfile])
def test_start_and_stop_at_the_wrong_time(kind: Any, recorded: Recorded, said: Said) -> None:
    prof = kind(experimental_config=QUIET)
    prof.stop()
    assert said() == [("WARNING", "Profiler is not started, stop takes no effect!")]
    folders = []
    for _ in range(2):
        prof.start()
        folders.append(prof.prof_if.prof_path)
        said()
        prof.start()
        assert said() == [("WARNING", "Profiler is already started, start takes no effect!")]
        prof.stop()
        prof.stop()
        assert recorded.take() == ["prepare", "start", "stop", "finalize"]
        assert prof.prof_if.prof_path == folders[-1]
    assert folders[0] != folders[1]
