"""Names of result folders, the two side files, and which folders are deleted.
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

from tb_npu_plugin.capture.api import paths, settings
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.options import ProfilerActivity
from tb_npu_plugin.capture.api.parsing import analyse
from tb_npu_plugin.capture.api.profile import schedule, tensorboard_trace_handler
from tests.unit.capture.api.conftest import Recorded, Said, collect_frames, make_profile, quiet

NAME = re.compile(r"(?P<worker>.+)_(?P<pid>\d+)_(?P<time>\d{17})_ascend_pt")
HOST = socket.gethostname()


def _capture(**arguments: Any) -> Path:
    with make_profile(**arguments) as prof:
        pass
    return Path(prof.prof_if.prof_path)


def _metadata(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "profiler_metadata.json").read_text())


def _named(folder: Path) -> re.Match[str]:
    found = NAME.fullmatch(folder.name)
    assert found, folder.name
    return found


# -- the folder --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o700), (0o000, 0o750)])
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


#: Bytes of a worker name that fit into a file name.
LEFT = 255 - len(f"_{os.getpid()}_20260102030405999_ascend_pt")
#: worker_name, worker in the name.
WORKERS: list[tuple[Any, str]] = [
    (None, HOST),
    ("w0", "w0"),
    ("a\\b", "a\\b"),
    ("x" * 225, "x" * LEFT),
    ("é" * 225, "é" * (LEFT // 2)),
    *((unusable, HOST) for unusable in ("x" * 226, "", "a/b", 5, "a\nb", "\x1b[31m", "a\udc80")),
]


@pytest.mark.parametrize(("name", "worker"), WORKERS)
def test_worker_names(name: Any, worker: str, recorded: Recorded, said: Said) -> None:
    tensorboard_trace_handler("result", name)
    warned = name is not None and worker == HOST
    assert said() == [("WARNING", "Invalid parameter worker_name, reset it to default.")] * warned
    found = _named(_capture())
    assert (found["worker"], found["pid"]) == (worker, str(os.getpid()))


@pytest.mark.parametrize("name", ["", 5, "a\0b", "a\ud800b"])
def test_invalid_folder_names(name: Any, recorded: Recorded, said: Said) -> None:
    tensorboard_trace_handler(name)
    assert said() == [("WARNING", "Invalid parameter dir_name, reset it to default.")]
    assert _capture().parent == Path.cwd()


#: dir_name, ASCEND_WORK_PATH, handler?, expected parent.
PLACES = [
    ("given", "work", True, "given"),
    (None, "work", True, "work/profiling_data"),
    (None, "", True, "."),
    (None, "work", False, "work/profiling_data"),
    (None, "", False, "."),
    ("given", "", False, "."),  # start() without a handler forgets the dir_name
]


@pytest.mark.parametrize(("given", "work", "handled", "parent"), PLACES)
def test_places(
    given: Any, work: str, handled: bool, parent: str, recorded: Recorded, said: Said, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", work)
    tensorboard_trace_handler(given)
    prof = make_profile() if handled else make_profile(on_trace_ready=None)
    prof.start()
    prof.stop()
    folder = Path(prof.prof_if.prof_path)
    assert folder.parent == Path(parent).absolute()
    del prof
    collect_frames()
    assert (folder / "FRAMEWORK").is_dir()
    assert any(f"analyse('{folder}')" in text for _, text in said()) != handled


def test_a_capture_without_a_handler_is_parsed_later(recorded: Recorded) -> None:
    folder = _capture(on_trace_ready=None)
    analyse(".")
    assert (folder / "ASCEND_PROFILER_OUTPUT/trace_view.json").is_file()


def test_a_capture_for_exports_alone_is_temporary(recorded: Recorded) -> None:
    prof = _KinetoProfile(experimental_config=quiet())
    prof.start()
    prof.stop()
    folder = Path(prof.prof_if.prof_path)
    assert folder.parent == Path("export_only_prof_dir").absolute() and folder.is_dir()
    del prof
    collect_frames()
    assert not folder.parent.exists()


def test_two_folders_in_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frozen(paths.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> paths.datetime:
            return cls(2026, 1, 2, 3, 4, 5, 999_000)

    monkeypatch.setattr(paths, "datetime", Frozen)
    place = paths.Place()
    assert [_named(place.create()[0])["time"] for _ in range(2)] == ["20260102030405999", "20260102030406000"]


@pytest.mark.parametrize("path", ["", ".", "results", "host_1_20260101000000000_ascend_pt"])
def test_only_absolute_paths_of_result_folders_are_deleted(path: str, tmp_path: Path) -> None:
    """Cause: an empty path is the working directory; with `Path("")`, a capture whose folder could not be made once deleted
    all that the user had there."""
    kept = {"results", "host_1_20260101000000000_ascend_pt"}
    for name in kept:
        (tmp_path / name).mkdir()
    paths.remove(Path(path))
    paths.remove(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == kept


def test_another_rank_removes_the_folder_of_temporary_ones(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    place = paths.Place()
    place.configure(export_only=True)
    # Another rank removes the folder above between the making of it and of this rank's own below it.
    real, failures = Path.mkdir, [FileNotFoundError(2, "No such file or directory")]

    def mkdir(path: Path, *mode: int, **arguments: Any) -> None:
        if failures:
            raise failures.pop()
        real(path, *mode, **arguments)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    folder, temporary = place.create()
    assert folder.is_dir() and temporary
    assert said() == []


#: Switches of the experimental config.
OFF = ("_l2_cache", "_msprof_tx", "_mstx", "_op_attr", "_sys_io", "_sys_interconnection", "record_op_args")


# -- profiler_info.json ------------------------------------------------------------------------------
def test_profiler_info(recorded: Recorded) -> None:
    before = time.time_ns()
    arguments: dict[str, Any] = {"record_shapes": True, "activities": [ProfilerActivity.NPU]}
    assert _capture(schedule=schedule(1, 2, 3, 4, 5), **arguments) == Path()  # step 0 waits: nothing was recorded
    text = (_capture(schedule=schedule(0, 2, 0, 4), **arguments) / "profiler_info.json").read_text()
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
    assert found["config"]["experimental_config"] == {
        "_profiler_level": "Level0",
        "_aic_metrics": "ACL_AICORE_NONE",
        "_data_simplification": True,
        "_export_type": ["text"],
        "_gc_detect_threshold": None,
        **dict.fromkeys(OFF, False),
        **{name: [] for name in ("_host_sys", "_mstx_domain_include", "_mstx_domain_exclude")},
    }
    assert set(found["start_info"]) == {"syscnt_enable", "freq", "start_cnt", "start_monotonic"}
    assert before <= found["end_info"]["collectionTimeEnd"] <= time.time_ns()
    assert found["start_info"]["start_monotonic"] <= found["end_info"]["MonotonicTimeEnd"] <= time.monotonic_ns()
    assert "rank_id" not in found


def test_a_rank_from_the_environment_is_a_text(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    prof = make_profile()
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


# -- profiler_metadata.json --------------------------------------------------------------------------
def test_metadata(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCCL_ALGO", "ring")
    prof = make_profile()
    prof.add_metadata_json("numbers", "[1, 2]")
    found = []
    for _ in range(2):
        prof.start()
        prof.stop()
        found.append(_metadata(Path(prof.prof_if.prof_path)))
    assert [one.get("numbers") for one in found] == [[1, 2], None]  # they are of one capture
    unset = "ASCEND_GLOBAL_LOG_LEVEL HCCL_RDMA_TC HCCL_RDMA_SL ACLNN_CACHE_LIMIT HOST_CACHE_CAPACITY"
    unset += " ASCEND_ENHANCE_ENABLE PYTORCH_NPU_ALLOC_CONF ASCEND_LAUNCH_BLOCKING"
    assert found[0]["ENV_VARIABLES"] == {**dict.fromkeys(unset.split(), ""), "HCCL_ALGO": "ring"}
    assert found[0]["tb_npu_simulated"] == {"by": "fake"}
    assert recorded.recorders[0].settings.environment == found[0]["ENV_VARIABLES"]
    database = _capture(experimental_config=quiet(export_type="db"))  # it has a table for them
    assert "ENV_VARIABLES" not in _metadata(database)


def test_values_that_json_does_not_have_become_texts(recorded: Recorded) -> None:
    plan = schedule(0, 1)
    vars(plan).update(limit=float("inf"), table={(1, 2): 3})
    odd: dict[Any, Any] = {"lr": float("nan"), "size": 10**5000, (1, 2): {3}, "file": "\udcff"}
    with make_profile(schedule=plan) as prof:
        prof.metadata.update(odd)
    folder = Path(prof.prof_if.prof_path)
    found = json.loads((folder / "profiler_info.json").read_text())["config"]["common_config"]["schedule"]
    assert (found["limit"], found["table"]) == ("inf", "{(1, 2): 3}")
    texts = {"lr": "nan", "size": "int", "(1, 2)": "{3}", "file": "?"}
    assert texts.items() <= _metadata(folder).items()


TYPE = "The key and value of metadata must be string. Skip this metadata."
LONG = "Invalid input key or value. Skip this metadata."
JSON = "The metadata value must be json format string. Skip this metadata"

#: JSON?, key, value, what is stored or printed.
ROWS: list[tuple[bool, Any, Any, Any]] = [
    (False, "k" * 4096, "v" * 4096, {"k" * 4096: "v" * 4096}),
    (False, "k" * 4097, "v", LONG),
    (False, "k", "v" * 4097, LONG),
    (False, "key", 5, TYPE),
    (True, "key", '{"a": [null, 1e308]}', {"key": {"a": [None, 1e308]}}),
    (False, "key", [1, 2, 3], {"key": [1, 2, 3]}),  # as the vendor's guide does
    (True, "key", [1, 2, 3], {"key": [1, 2, 3]}),
    (False, "key", ["v" * 4097], LONG),
    (True, "key", "[1, 2", JSON),
    (True, "key", "[NaN]", JSON),  # Python's json takes it; those who read the file do not
    (True, "key", "[-1e999]", JSON),
    (True, "key", "v" * 4097, LONG),
]


@pytest.mark.parametrize(("as_json", "key", "value", "expected"), ROWS)
def test_what_may_be_added(as_json: bool, key: Any, value: Any, expected: Any, said: Said) -> None:
    found: dict[str, Any] = {}
    settings.add_metadata(found, key, value, as_json)
    stored = isinstance(expected, dict)
    assert (found, said()) == ((expected, []) if stored else ({}, [("WARNING", expected)]))


def test_a_second_value_overrides(said: Said) -> None:
    found: dict[str, Any] = {"key": "one"}
    settings.add_metadata(found, "key", "2", is_json=True)
    assert found == {"key": 2}
    assert said() == [("WARNING", "key is already saved as metadata, override it.")]


@pytest.mark.parametrize(("entries", "added"), [(500, True), (2000, False)])
def test_there_is_a_limit_to_all_of_it(entries: int, added: bool, said: Said) -> None:
    """50 KiB of the table (not of the texts in it), as sys.getsizeof counts."""
    found: dict[str, Any] = dict.fromkeys(map(str, range(entries)))
    settings.add_metadata(found, "key", "value", is_json=False)
    assert ("key" in found) == added
    assert said() == ([] if added else [("WARNING", "Too many metadata added. Skip this metadata")])
