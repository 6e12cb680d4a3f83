from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.text.capture import read_capture
from tests.unit.readers.files import codes

INFO: dict[str, Any] = {
    "config": {
        "common_config": {
            "activities": ["ProfilerActivity.NPU", "ProfilerActivity.CPU"],
            "schedule": {"wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 4, "skip_first_wait": 0},
            "record_shapes": True,
            "with_flops": False,
        },
        "experimental_config": {
            "_profiler_level": "Level2",
            "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION",
            "_l2_cache": True,
            "record_op_args": False,
            "_data_simplification": None,
            "_export_type": ["text", "db"],
            "_gc_detect_threshold": None,
        },
    },
    "start_info": {"syscnt_enable": True, "freq": 100, "start_monotonic": 172163581670080},
    "end_info": {"collectionTimeEnd": 1736408884023552840, "MonotonicTimeEnd": 172164265133640},
    "torch_npu_version": "2.7.1",
    "cann_version": "8.3.RC1",
    "rank_id": "3",
}


def capture(
    folder: Path, info: Any = None, name: str = "profiler_info.json", metadata: Any = None
) -> tuple[Capture, list[Problem]]:
    """The capture of a folder with these files; text is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in ((name, info), ("profiler_metadata.json", metadata)):
        if content is not None:
            (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
    log = ProblemLog()
    return read_capture(folder, log), log.list()


def changed(**parts: Any) -> dict[str, Any]:
    """INFO with other values for these keys, at any depth."""

    def walk(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: parts[key] if key in parts else walk(item) for key, item in value.items()}

    return walk(INFO)


def test_everything_that_is_recorded(tmp_path: Path) -> None:
    found, problems = capture(tmp_path / "node7_3178231_20250109074803340_ascend_pt", INFO)
    assert problems == []
    assert (found.rank, found.rank_source) == (3, "rank_id")
    assert (found.host, found.pid) == ("node7", 3178231)
    assert (found.level, found.aic_metrics) == ("Level2", "ACL_AICORE_PIPE_UTILIZATION")
    assert found.activities == ("CPU", "NPU")
    assert found.schedule == {
        "wait": 0,
        "active": 2,
        "warmup": 1,
        "repeat": 1,
        "skip_first": 4,
        "skip_first_wait": 0,
    }
    assert found.switches == {"record_shapes": True, "with_flops": False, "l2_cache": True, "record_op_args": False}
    assert found.export_types == ("text", "db")
    assert found.versions == {"torch_npu": "2.7.1", "CANN": "8.3.RC1"}
    assert found.end_ns == 1736408884023552840
    assert found.start_ns == 1736408884023552840 - (172164265133640 - 172163581670080)
    assert not found.simulated


@pytest.mark.parametrize(
    ("name", "rank_id", "folder", "rank", "source"),
    [
        ("profiler_info_0.json", 0, "x_ascend_pt", 0, "profiler_info_0.json"),
        ("profiler_info_12.json", None, "rank_3_ascend_pt", 12, "profiler_info_12.json"),
        ("profiler_info.json", 5, "rank_3_ascend_pt", 5, "rank_id"),
        ("profiler_info.json", "5", "x_ascend_pt", 5, "rank_id"),
        ("profiler_info.json", -1, "x_ascend_pt", None, ""),
        ("profiler_info.json", None, "rank_3_ascend_pt", 3, "folder name"),
        ("profiler_info.json", None, "rank0_ascend_pt", 0, "folder name"),
        ("profiler_info.json", None, "rank0_start2_stop5_20250109074803340_ascend_pt", 0, "folder name"),
        ("profiler_info.json", None, "rank_9/node_1_20250109074803340_ascend_pt", 9, "folder name"),
        ("profiler_info.json", None, "frank3_ascend_pt", None, ""),
    ],
)
def test_where_the_rank_comes_from(
    tmp_path: Path, name: str, rank_id: Any, folder: str, rank: int | None, source: str
) -> None:
    found, problems = capture(tmp_path / folder, {"rank_id": rank_id}, name)
    assert (found.rank, found.rank_source) == (rank, source)
    assert problems == []


def test_ranks_that_contradict_each_other(tmp_path: Path) -> None:
    found, problems = capture(tmp_path / "x_ascend_pt", {"rank_id": 4}, "profiler_info_2.json")
    assert found.rank == 2
    assert [(p.code, p.file, p.where, p.found) for p in problems] == [
        ("inconsistent", "profiler_info_2.json", "rank_id", "4")
    ]


@pytest.mark.parametrize("value", ["three", True, [3], 1.5, 9999999999999999999, "9" * 12])
def test_a_rank_that_is_none(tmp_path: Path, value: Any) -> None:
    found, problems = capture(tmp_path / "x_ascend_pt", {"rank_id": value})
    assert found.rank is None
    assert codes(problems) == ["not_a_number x1"]


def test_settings_of_2023(tmp_path: Path) -> None:
    info = changed(schedule={"_wait": 1, "_active": 2, "_warmup": 0}, _export_type="text")
    found, problems = capture(tmp_path / "x_ascend_pt", info)
    assert found.schedule == {"wait": 1, "active": 2, "warmup": 0}
    assert found.export_types == ("text",)
    assert problems == []


@pytest.mark.parametrize("schedule", [None, {}])
def test_no_schedule(tmp_path: Path, schedule: Any) -> None:
    assert capture(tmp_path / "x_ascend_pt", changed(schedule=schedule))[0].schedule is None


def test_the_start_needs_both_clocks(tmp_path: Path) -> None:
    found, problems = capture(tmp_path / "x_ascend_pt", changed(start_info={}))
    assert (found.start_ns, found.end_ns) == (None, 1736408884023552840)
    assert problems == []
    found, problems = capture(tmp_path / "x_ascend_pt", changed(end_info={}))
    assert (found.start_ns, found.end_ns) == (None, None)


def test_a_start_after_the_end_is_reported(tmp_path: Path) -> None:
    found, problems = capture(tmp_path / "x_ascend_pt", changed(MonotonicTimeEnd=1))
    assert found.start_ns is None
    assert codes(problems) == ["inconsistent x1"]


def test_metadata(tmp_path: Path) -> None:
    metadata = {
        "ENV_VARIABLES": {"HCCL_ALGO": "", "ACLNN_CACHE_LIMIT": "100"},
        "parallel_group_info": {
            "group_name_5": {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1]}
        },
        "distributed_args": {"tensor_model_parallel_size": 2},
        "tb_npu_simulated": True,
        "trace_id": "ABC",
        "loss": float("nan"),
    }
    found, problems = capture(tmp_path / "x_ascend_pt", INFO, metadata=metadata)
    assert problems == []
    assert found.environment == {"HCCL_ALGO": "", "ACLNN_CACHE_LIMIT": "100"}
    assert found.groups["group_name_5"]["global_ranks"] == [0, 1]
    assert found.distributed_args == {"tensor_model_parallel_size": 2}
    assert found.simulated
    assert found.metadata == {"trace_id": "ABC", "loss": None}


def test_a_folder_without_settings(tmp_path: Path) -> None:
    found, problems = capture(tmp_path / "rank_3_ascend_pt")
    assert (found.rank, found.level, found.activities, found.switches) == (3, None, None, {})
    assert [(p.code, p.severity) for p in problems] == [("no_settings", "info")]


def test_no_folder(tmp_path: Path) -> None:
    log = ProblemLog()
    assert read_capture(tmp_path / "rank_2_ascend_pt", log).rank == 2
    assert codes(log.list()) == ["missing_file x1", "no_settings x1"]


@pytest.mark.parametrize(
    ("text", "code"), [("", "empty_file"), ('{"config": {', "bad_json"), ("[]", "unexpected_shape"), ("\ud800", None)]
)
def test_broken_settings_leave_the_rank_of_the_name(tmp_path: Path, text: str, code: str | None) -> None:
    folder = tmp_path / "x_ascend_pt"
    folder.mkdir()
    (folder / "profiler_info_7.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    (folder / "profiler_metadata.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    log = ProblemLog()
    assert read_capture(folder, log).rank == 7
    assert {problem.file for problem in log.list()} == {"profiler_info_7.json", "profiler_metadata.json"}
    assert {problem.code for problem in log.list()} == ({code} if code else {"bad_bytes", "bad_json"})


def test_settings_of_a_wrong_shape_cost_themselves(tmp_path: Path) -> None:
    info = changed(end_info="late", _export_type=7, schedule={"wait": "soon", "active": 1}, activities="CPU")
    metadata = {"ENV_VARIABLES": 3, "parallel_group_info": {"g": 1, "h": {}}}
    found, problems = capture(tmp_path / "x_ascend_pt", info, metadata=metadata)
    assert (found.level, found.activities, found.export_types) == ("Level2", None, None)
    assert (found.schedule, found.groups) == ({"active": 1}, {"h": {}})
    assert {(problem.code, problem.where) for problem in problems} == {
        ("unexpected_shape", where)
        for where in (
            "end_info",
            "_export_type",
            "schedule, wait",
            "activities",
            "ENV_VARIABLES",
            "parallel_group_info, g",
        )
    }


def test_of_several_settings_one_that_names_a_rank_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "x_ascend_pt"
    capture(folder, {"torch_npu_version": "old"})
    found, problems = capture(folder, {"torch_npu_version": "new"}, "profiler_info_1.json")
    assert (found.rank, found.versions) == (1, {"torch_npu": "new"})
    assert codes(problems) == ["several_settings x1"]


def test_a_pipe_in_place_of_the_settings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "profiler_info_0.json")
    log = ProblemLog()
    assert read_capture(tmp_path, log).rank == 0
    assert codes(log.list()) == ["not_a_file x1"]


def test_numbers_of_thousands_of_digits_cost_themselves(tmp_path: Path) -> None:
    # int() raises an error for them, which ended the reading of all tables.
    content = json.dumps({**INFO, "rank_id": "@"}).replace('"@"', "9" * 5000)
    (tmp_path / "profiler_info.json").write_text(content)
    log = ProblemLog()
    capture = read_capture(tmp_path, log)
    assert capture.rank is None and capture.level == "Level2" and codes(log.list()) == ["not_a_number x1"]
