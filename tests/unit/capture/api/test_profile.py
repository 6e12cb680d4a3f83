"""Arguments, steps, start and stop of a profile, and what it records with which settings."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api import mstx
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.options import AiCMetrics, ProfilerAction, ProfilerActivity, _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile, schedule
from tests.unit.capture.api.conftest import Recorded, Said, Truthless, collect_frames, make_profile, quiet

CPU, NPU = ProfilerActivity
CAPTURE = ["prepare", "start", "stop", "finalize"]
ACTIVITIES = "Invalid activities, only CPU and NPU are supported, reset it to default."
SCHEDULE = "schedule is not Callable, set by default."
HIGHER = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
UNUSED = "Experimental config will not be used while ProfilerActivity.NPU is not set."
CONFIG = "Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default."
NO_GC = "GC detect will not take effect while ProfilerActivity.CPU is not set."
NOT_SIMULATED = "The simulated device records nothing for op_attr, host_sys: no file comes of it."
SWITCHES = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")

#: Arguments, stored in prof_if, printed.
ROWS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"activities": []}, {"activities": {CPU, NPU}}, []),
    ({"activities": iter([NPU])}, {"activities": {NPU}}, []),
    ({"activities": [CPU]}, {"activities": {CPU}}, [UNUSED]),
    ({"activities": [CPU, "GPU"]}, {"activities": {CPU, NPU}}, [ACTIVITIES]),
    ({"activities": Truthless()}, {"activities": {CPU, NPU}}, [ACTIVITIES]),
    *(({name: 1}, {name: False}, [f"Parameter {name} is of boolean type, reset it to False."]) for name in SWITCHES),
    ({"with_modules": True}, {"with_modules": True}, []),
    ({"schedule": 0}, {}, []),
    ({"schedule": Truthless()}, {}, [SCHEDULE]),
    ({"on_trace_ready": "x"}, {}, ["on_trace_ready is not Callable, set by default."]),
    ({"use_cuda": False}, {}, ["This is npu environment, use_cuda is invalid"]),
    ({"custom_trace_id_callback": 1}, {}, ["Parameter custom_trace_id_callback is not callable, reset it to default."]),
    ({"experimental_config": None}, {}, [HIGHER]),
    ({"experimental_config": {"level": 1}}, {}, [CONFIG, HIGHER]),
    ({"activities": [NPU], "experimental_config": quiet(gc_detect_threshold=1)}, {}, [NO_GC]),
    ({"experimental_config": quiet(op_attr=True, export_type="db", host_sys=["cpu"])}, {}, [NOT_SIMULATED]),
]


@pytest.mark.parametrize(("arguments", "stored", "lines"), ROWS)
def test_validation(arguments: dict[str, Any], stored: dict[str, Any], lines: list[str], said: Said) -> None:
    prof = make_profile(**arguments)
    found = {**vars(prof.prof_if), **vars(prof.prof_if.host)}
    assert stored.items() <= found.items()
    assert said() == [("WARNING", line) for line in lines]


def test_steps_are_marked_and_numbered_from_the_construction(recorded: Recorded) -> None:
    plan = schedule(1, 2, 1)
    prof = make_profile(schedule=plan)
    assert (prof.step_num, prof.current_action, prof.schedule) == (0, ProfilerAction.NONE, plan)
    with prof as same:
        assert same is prof
        for _ in range(4):
            prof.step()
        assert (prof.step_num, prof.stopped) == (4, False)
    assert prof.stopped
    first = ["prepare", "warmup", "step_begin 1", "step_end 1", "start", "step_begin 2", "step_end 2"]
    assert recorded.take() == [*first, "step_begin 3", "step_end 3", "stop", "finalize"]


def test_a_step_is_an_mstx_range_too(recorded: Recorded) -> None:
    with make_profile(schedule=schedule(0, 1), experimental_config=quiet(mstx=True)):
        pass
    marks = ["step_begin 0", "range_start ProfilerStep#0 default 0", "range_end", "step_end 0"]
    assert recorded.take() == ["prepare", "start", *marks, "stop", "finalize"]


def test_steps_without_or_before_start(recorded: Recorded) -> None:
    """A loop that calls step() all the time, and perhaps start() and stop() around a few steps."""
    prof = make_profile(schedule=schedule(1, 1, 0, 1))
    prof.step()
    prof.step()
    assert recorded.take_captures() == CAPTURE
    prof = make_profile()
    prof.step()
    prof.start()
    prof.step()
    prof.stop()
    assert recorded.take() == CAPTURE


@pytest.mark.parametrize("kind", [make_profile, _KinetoProfile])
def test_start_and_stop_at_the_wrong_time(kind: Any, recorded: Recorded, said: Said) -> None:
    prof = kind(experimental_config=quiet())
    prof.stop()
    assert said() == [("WARNING", "Profiler is not started, stop takes no effect!")]
    folders = set()
    for _ in range(2):
        prof.start()
        folders.add(prof.prof_if.prof_path)
        said()
        prof.start()
        assert said() == [("WARNING", "Profiler is already started, start takes no effect!")]
        prof.stop()
        prof.stop()
        assert recorded.take() == CAPTURE
        assert prof.prof_if.prof_path in folders
    assert len(folders) == 2


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Collections look at no object that was there before: all that pytest holds would take a quarter of a second each."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
def test_one_capture_at_a_time(recorded: Recorded, said: Said) -> None:
    first, second = make_profile(), make_profile()
    first.start()
    folder = first.prof_if.prof_path
    second.start()
    second.stop()
    assert said.errors() == [
        "Profiling failed in beginning a capture: another profile of this process is recording; stop it first. "
        "The training goes on."
    ]
    assert second.prof_if.prof_path == ""
    first.stop()
    assert recorded.take() == CAPTURE
    assert list(Path().glob("*_ascend_pt")) == [Path(Path(folder).name)]  # the second left nothing
    with second:
        pass
    assert recorded.take() == CAPTURE


@pytest.mark.usefixtures("few_objects")
def test_a_profile_in_a_reference_cycle_does_not_block_the_next(recorded: Recorded, said: Said) -> None:
    forgotten, other = make_profile(), make_profile()
    forgotten.itself = forgotten
    forgotten.start()
    gc.disable()
    try:
        del forgotten
        other.start()
    finally:
        gc.enable()
    assert said.errors() == []
    assert recorded.take() == [*CAPTURE, "prepare", "start"]
    other.stop()


def test_a_dropped_kineto_profile_does_not_block_the_next(recorded: Recorded, tmp_path: Path) -> None:
    """Cause: it was not stopped when it was collected, so that PyTorch refused all captures to come."""
    _KinetoProfile().start()
    collect_frames()
    assert recorded.take()[-2:] == ["stop", "finalize"] and mstx.recorder is None
    assert list(tmp_path.iterdir()) == []


def test_trace_ids(recorded: Recorded, said: Said) -> None:
    prof = make_profile()
    assert prof.get_trace_id() == ""
    answers: list[Any] = ["mine", "x" * 1024, "x" * 1025, 7]
    found = []
    for _ in range(6):
        prof.start()
        prof.stop()
        found.append(prof.get_trace_id())
        prof.set_custom_trace_id_callback(lambda: answers.pop(0))
    assert [trace for trace in found if not re.fullmatch("[0-9A-F]{32}", trace)] == ["mine", "x" * 1024]
    assert len(set(found)) == 6
    long, number, failing = [text for _, text in said() if "custom_trace_id" in text]
    assert "at most 1024" in long and "at most 1024" in number and "pop from empty list" in failing
    metadata = json.loads(Path(prof.prof_if.prof_path, "profiler_metadata.json").read_text())
    assert metadata["trace_id"] == found[-1]


def test_child_threads(recorded: Recorded, said: Said) -> None:
    profile.enable_profiler_in_child_thread(with_stack=True)
    assert said() == [("WARNING", "The profiler is not recording, enable_profiler_in_child_thread takes no effect.")]
    with make_profile():
        profile.enable_profiler_in_child_thread(with_stack=True)
        profile.disable_profiler_in_child_thread()
    assert recorded.take() == ["prepare", "start", "enable_child_thread", "disable_child_thread", "stop", "finalize"]


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize(
    ("activity", "threshold", "records"),
    [(CPU, 0, True), (NPU, 0, False), (CPU, 60_000, False), pytest.param(CPU, 10**300, False, id="large")],
)
def test_garbage_collections(activity: ProfilerActivity, threshold: int, records: bool, recorded: Recorded) -> None:
    before = list(gc.callbacks)
    with make_profile(activities=[activity], experimental_config=quiet(gc_detect_threshold=threshold)):
        gc.collect()
    gc.collect()
    calls = ["prepare", "start", *["collection"] * records, "stop", "finalize"]
    assert list(dict.fromkeys(recorded.take())) == calls
    start, end = recorded.recorders[0].last.get("collection", (0, 0))
    assert (start < end) == records
    assert gc.callbacks == before


def test_the_settings_reach_the_recorder(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    on = dict.fromkeys(("l2_cache", "mstx", "sys_io"), True)
    config = _ExperimentalConfig(
        "Level2", AiCMetrics.Memory, gc_detect_threshold=2, export_type=["db", "text", "db"], **on
    )
    with profile(record_shapes=True, with_modules=True, experimental_config=config):
        pass
    found = recorded.recorders[0].settings
    assert (found.cpu, found.npu, found.rank, found.world) == (True, True, 3, 8)
    assert (found.level, found.aic_metrics) == ("Level2", "ACL_AICORE_MEMORY_BANDWIDTH")
    assert (found.l2_cache, found.mstx, found.sys_io) == (True,) * 3
    assert (found.export_types, found.gc_threshold) == (("db", "text"), 2)
    assert (found.host.record_shapes, found.host.with_modules, found.host.with_stack) == (True, True, False)
