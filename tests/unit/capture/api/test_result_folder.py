"""Names of result folders and the two side files.
Source: docs/facts/ascend_pt.md, Folder name, profiler_info.json, profiler_metadata.json."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api import paths
from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerAction, ProfilerActivity
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.handler import tensorboard_trace_handler
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import QUIET, Recorded, Said, collect_frames

NAME = re.compile(r"(?P<worker>.+)_(?P<pid>\d+)_(?P<time>\d{17})_ascend_pt")


def _capture(**arguments: Any) -> Path:
    prof = profile(**{"experimental_config": QUIET, "on_trace_ready": lambda prof: None, **arguments})
    with prof:
        prof.add_metadata("mine", "yes")
    return Path(prof.prof_if.prof_path)


def test_name(recorded: Recorded) -> None:
    tensorboard_trace_handler("result")
    before = time.strftime("%Y%m%d%H%M%S")
    folder = _capture()
    found = NAME.fullmatch(folder.name)
    assert found
    assert found["worker"] == socket.gethostname()
    assert int(found["pid"]) == os.getpid()
    assert before <= found["time"][:14] <= time.strftime("%Y%m%d%H%M%S")
    assert folder.parent == Path("result").absolute()


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o700), (0o027, 0o750), (0o000, 0o750)])
def test_folders_are_open_to_whom_the_umask_says(mask: int, mode: int, recorded: Recorded) -> None:
    before = os.umask(mask)
    try:
        folder = _capture(on_trace_ready=tensorboard_trace_handler("result"))
    finally:
        os.umask(before)
    for path in (folder, folder / "ASCEND_PROFILER_OUTPUT"):
        assert path.stat().st_mode & 0o777 == mode
    for path in (folder / "profiler_info.json", folder / "ASCEND_PROFILER_OUTPUT/trace_view.json"):
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask


HOST = socket.gethostname()
#: Bytes of a worker name that fit into a file name.
LEFT = 255 - len(f"_{os.getpid()}_20260102030405999_ascend_pt")
#: worker_name, worker in the name, warned.
WORKERS: list[tuple[Any, str, bool]] = [
    (None, HOST, False),
    ("w0", "w0", False),
    ("x" * 225, "x" * LEFT, False),
    ("x" * 226, HOST, True),
    ("", HOST, True),
    ("é" * 225, "é" * (LEFT // 2), False),
    ("a/b", HOST, True),
    (5, HOST, True),
    ("a\nb", HOST, True),
    ("a\0b", HOST, True),
    ("\x1b[31m", HOST, True),
    ("a\udc80", HOST, True),
    ("a\\b", "a\\b", False),
]


@pytest.mark.parametrize(("name", "worker", "warned"), WORKERS)
def test_worker_names(name: Any, worker: str, warned: bool, recorded: Recorded, said: Said) -> None:
    tensorboard_trace_handler("result", name)
    lines = [("WARNING", "Invalid parameter worker_name, reset it to default.")] if warned else []
    assert said() == lines
    found = NAME.fullmatch(_capture().name)
    assert found
    assert found["worker"] == worker


@pytest.mark.parametrize("name", ["", 5, ["a"], "a\0b", "a\ud800b"])
def test_invalid_folder_names(name: Any, recorded: Recorded, said: Said) -> None:
    tensorboard_trace_handler(name)
    assert said() == [("WARNING", "Invalid parameter dir_name, reset it to default.")]
    assert _capture().parent == Path.cwd()


#: dir_name, ASCEND_WORK_PATH, handler?, expected parent.
PLACES = [
    ("given", None, True, "given"),
    ("given", "work", True, "given"),
    (None, "work", True, "work/profiling_data"),
    (None, None, True, "."),
    (None, "work", False, "work/profiling_data"),
    (None, None, False, "export_only_prof_dir"),
    ("given", None, False, "export_only_prof_dir"),  # start() without a handler forgets the dir_name
]


@pytest.mark.parametrize(("given", "work", "handled", "parent"), PLACES)
def test_places(
    given: str | None,
    work: str | None,
    handled: bool,
    parent: str,
    recorded: Recorded,
    monkeypatch: Any,
    tmp_path: Path,
) -> None:
    if work:
        monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path / work))
    tensorboard_trace_handler(given)
    prof = profile(on_trace_ready=(lambda prof: None) if handled else None, experimental_config=QUIET)
    prof.start()
    prof.stop()
    folder = Path(prof.prof_if.prof_path)
    assert folder.parent == (tmp_path / parent)
    assert folder.is_dir()
    del prof
    collect_frames()
    assert folder.exists() == (parent != "export_only_prof_dir")


def test_two_folders_in_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frozen(paths.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> paths.datetime:
            return cls(2026, 1, 2, 3, 4, 5, 999_000)

    monkeypatch.setattr(paths, "datetime", Frozen)
    place = paths.Place()
    times = [NAME.fullmatch(place.create()[0].name)["time"] for _ in range(3)]  # type: ignore[index]
    assert times == ["20260102030405999", "20260102030406000", "20260102030406001"]


def test_profiler_info(recorded: Recorded) -> None:
    before = time.time_ns()
    folder = _capture(schedule=schedule(1, 2, 3, 4, 5), record_shapes=True, activities=[ProfilerActivity.NPU])
    assert folder == Path()  # step 0 waits: nothing was recorded
    folder = _capture(schedule=schedule(0, 2, 0, 4), record_shapes=True, activities=[ProfilerActivity.NPU])
    text = (folder / "profiler_info.json").read_text()
    found = json.loads(text)
    assert text == json.dumps(found, indent=4)
    assert found["config"]["common_config"] == {
        "activities": ["ProfilerActivity.NPU"],
        "schedule": {"wait": 0, "active": 2, "warmup": 0, "repeat": 4, "skip_first": 0, "skip_first_wait": 0},
        "record_shapes": True,
        "profile_memory": False,
        "with_stack": False,
        "with_flops": False,
        "with_modules": False,
    }
    assert found["config"]["experimental_config"] == vars(QUIET)
    assert set(found["start_info"]) == {"syscnt_enable", "freq", "start_cnt", "start_monotonic"}
    assert before <= found["end_info"]["collectionTimeEnd"] <= time.time_ns()
    assert found["start_info"]["start_monotonic"] <= found["end_info"]["MonotonicTimeEnd"] <= time.monotonic_ns()
    assert "rank_id" not in found


def test_a_rank_from_the_environment_is_a_text(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET)
    prof.start()
    folder = Path(prof.prof_if.prof_path)
    assert (folder / "profiler_info.json").is_file()  # already while it records
    monkeypatch.setenv("RANK", "12")
    prof.stop()
    assert [path.name for path in folder.glob("profiler_info*")] == ["profiler_info_12.json"]
    assert json.loads((folder / "profiler_info_12.json").read_text())["rank_id"] == "12"


@pytest.mark.parametrize("rank", ["../x", "-1", "\u00b2", "9" * 300])
def test_an_invalid_rank_is_ignored(rank: str, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", rank)
    assert (_capture() / "profiler_info.json").is_file()


def test_metadata(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCCL_ALGO", "ring")
    folder = _capture()
    found = json.loads((folder / "profiler_metadata.json").read_text())
    assert found["mine"] == "yes"
    assert found["ENV_VARIABLES"] == {
        "ASCEND_GLOBAL_LOG_LEVEL": "",
        "HCCL_RDMA_TC": "",
        "HCCL_RDMA_SL": "",
        "ACLNN_CACHE_LIMIT": "",
        "HOST_CACHE_CAPACITY": "",
        "ASCEND_ENHANCE_ENABLE": "",
        "PYTORCH_NPU_ALLOC_CONF": "",
        "ASCEND_LAUNCH_BLOCKING": "",
        "HCCL_ALGO": "ring",
    }
    assert found["tb_npu_simulated"] == {"by": "fake"}
    assert recorded.recorders[0].settings.environment == found["ENV_VARIABLES"]


class Odd:
    """A schedule with attributes that JSON does not have."""

    def __init__(self) -> None:
        self.itself, self.limit, self.table = self, float("inf"), {(1, 2): 3}

    def __call__(self, step: int) -> ProfilerAction:
        return ProfilerAction.RECORD

    def __str__(self) -> str:
        raise RuntimeError


def test_values_that_json_does_not_have_become_texts(recorded: Recorded) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET, schedule=Odd())
    with prof:
        prof.metadata.update({"lr": float("nan"), "size": 10**5000, (1, 2): {3}, "file": "\udcff"})  # type: ignore[dict-item]
    folder = Path(prof.prof_if.prof_path)
    info, metadata = (
        json.loads((folder / name).read_text(), parse_constant=refuse)
        for name in ("profiler_info.json", "profiler_metadata.json")
    )
    assert info["config"]["common_config"]["schedule"] == {"itself": "Odd", "limit": "inf", "table": "{(1, 2): 3}"}
    assert {key: metadata[key] for key in ("lr", "size", "(1, 2)", "file")} == {
        "lr": "nan",
        "size": "int",
        "(1, 2)": "{3}",
        "file": "?",
    }


def test_the_database_form_keeps_the_environment_elsewhere(recorded: Recorded) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, export_type="db")
    found = json.loads((_capture(experimental_config=config) / "profiler_metadata.json").read_text())
    assert "ENV_VARIABLES" not in found


def test_metadata_are_of_one_capture(recorded: Recorded) -> None:
    prof = profile(on_trace_ready=lambda prof: None, experimental_config=QUIET)
    prof.add_metadata_json("numbers", "[1, 2]")
    found = []
    for _ in range(2):
        prof.start()
        prof.stop()
        found.append(json.loads(Path(prof.prof_if.prof_path, "profiler_metadata.json").read_text()))
    assert found[0]["numbers"] == [1, 2]
    assert "numbers" not in found[1]
    assert prof.metadata == {}
