"""Settings of a capture: everything that is recorded, where the rank comes from, broken and contradictory files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.text.reader import read_capture
from tests.unit.readers.files import codes

SCHEDULE = {"wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 4, "skip_first_wait": 0}
START = {"syscnt_enable": True, "freq": 100, "start_monotonic": 172163581670080}
END = {"collectionTimeEnd": 1736408884023552840, "MonotonicTimeEnd": 172164265133640}
COMMON = {
    "activities": ["ProfilerActivity.NPU", "ProfilerActivity.CPU"],
    "schedule": SCHEDULE,
    "record_shapes": True,
    "with_flops": False,
}
EXPERIMENTAL = {
    "_profiler_level": "Level2",
    "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION",
    "_l2_cache": True,
    "_msprof_tx": False,
    "record_op_args": False,
    "_data_simplification": None,
    "_export_type": ["text", "db"],
    "_op_attr": False,
    "_gc_detect_threshold": None,
}


def info(common: dict[str, Any] = COMMON, experimental: dict[str, Any] = EXPERIMENTAL, **more: Any) -> dict[str, Any]:
    config = {"common_config": common, "experimental_config": experimental}
    return {"config": config, "start_info": START, "end_info": END, **more}


def capture(
    folder: Path, content: Any = None, name: str = "profiler_info.json", metadata: Any = None
) -> tuple[Capture, list[str]]:
    """The capture of a folder with these files, and its problems: code, file, place, what was found."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, written in ((name, content), ("profiler_metadata.json", metadata)):
        if written is not None:
            data = written if isinstance(written, str) else json.dumps(written)
            (folder / file).write_bytes(data.encode("utf-8", "surrogatepass"))
    log = ProblemLog()
    return read_capture(folder, sorted(path.name for path in folder.iterdir()), log), [
        f"{one.code} {one.file} {one.where} {one.found}" for one in log.list()
    ]


def test_everything_that_is_recorded(tmp_path: Path) -> None:
    groups = {"group_name_5": {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1]}}
    metadata = {
        "ENV_VARIABLES": {"HCCL_ALGO": "", "ACLNN_CACHE_LIMIT": "100"},
        "parallel_group_info": groups,
        "distributed_args": {"tensor_model_parallel_size": 2},
        "tb_npu_simulated": True,
        "trace_id": "ABC",
        "loss": float("nan"),
    }
    written = info(torch_npu_version="2.7.1", cann_version="8.3.RC1", rank_id="3")
    folder = tmp_path / "node7_3178231_20250109074803340_ascend_pt"
    assert not capture(folder, written)[0].simulated
    assert capture(folder, metadata=metadata) == (
        Capture(
            rank=3,
            rank_source="rank_id",
            worker_name="node7_3178231",
            host="node7",
            pid=3178231,
            level="Level2",
            aic_metrics="ACL_AICORE_PIPE_UTILIZATION",
            activities=("CPU", "NPU"),
            schedule=SCHEDULE,
            switches={
                "record_shapes": True,
                "with_flops": False,
                "l2_cache": True,
                "msprof_tx": False,
                "record_op_args": False,
                "op_attr": False,
            },
            export_types=("text", "db"),
            versions={"torch_npu": "2.7.1", "CANN": "8.3.RC1"},
            start_ns=1736408884023552840 - (172164265133640 - 172163581670080),
            end_ns=1736408884023552840,
            environment={"HCCL_ALGO": "", "ACLNN_CACHE_LIMIT": "100"},
            groups=groups,
            distributed_args={"tensor_model_parallel_size": 2},
            simulated=True,
            simulated_host=True,
            metadata={"trace_id": "ABC", "loss": None},
        ),
        [],
    )


@pytest.mark.parametrize(
    ("name", "rank_id", "folder", "rank", "source", "problem"),
    [
        ("profiler_info_0.json", 0, "x", 0, "profiler_info_0.json", ""),
        ("profiler_info_12.json", None, "rank_3", 12, "profiler_info_12.json", ""),
        ("profiler_info_2.json", 4, "x", 2, "profiler_info_2.json", "inconsistent profiler_info_2.json rank_id 4"),
        ("profiler_info.json", 5, "rank_3", 5, "rank_id", ""),
        ("profiler_info.json", "5", "x", 5, "rank_id", ""),
        ("profiler_info.json", -1, "x", None, "", ""),
        ("profiler_info.json", None, "rank_3", 3, "folder name", ""),
        ("profiler_info.json", None, "rank0_start2_stop5_20250109074803340", 0, "folder name", ""),
        ("profiler_info.json", None, "rank_9/node_1_20250109074803340", 9, "folder name", ""),
        ("profiler_info.json", None, "frank3", None, "", ""),
        *(
            ("profiler_info.json", bad, "x", None, "", f"not_a_number profiler_info.json rank_id {bad}")
            for bad in ("three", True, [3], 1.5, 9999999999999999999, "9" * 12)
        ),
    ],
)
def test_where_the_rank_comes_from(
    tmp_path: Path, name: str, rank_id: Any, folder: str, rank: int | None, source: str, problem: str
) -> None:
    found, problems = capture(tmp_path / f"{folder}_ascend_pt", info(rank_id=rank_id), name)
    assert (found.rank, found.rank_source, problems) == (rank, source, [problem] if problem else [])


@pytest.mark.parametrize(
    ("parts", "start", "end", "problem"),
    [
        ({"start_info": {}}, None, 1736408884023552840, ""),
        ({"end_info": {}}, None, None, ""),
        (
            {"end_info": {**END, "MonotonicTimeEnd": 1}},
            None,
            1736408884023552840,
            "inconsistent profiler_info.json start_monotonic 172163581670080",
        ),
    ],
)
def test_the_start_needs_both_clocks(
    tmp_path: Path, parts: dict[str, Any], start: int | None, end: int | None, problem: str
) -> None:
    found, problems = capture(tmp_path, info(**parts))
    assert (found.start_ns, found.end_ns, problems) == (start, end, [problem] if problem else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {"empty_file"}),
        ('{"config": {', {"bad_json"}),
        ("[]", {"unexpected_shape"}),
        ("\ud800", {"bad_bytes", "bad_json"}),
    ],
)
def test_broken_settings_leave_the_rank_of_the_name(tmp_path: Path, text: str, found: set[str]) -> None:
    settings, problems = capture(tmp_path, text, "profiler_info_7.json", text)
    assert settings.rank == 7
    assert {tuple(problem.split()[:2]) for problem in problems} == {
        (code, file) for code in found for file in ("profiler_info_7.json", "profiler_metadata.json")
    }


def test_settings_of_a_wrong_shape_are_skipped(tmp_path: Path) -> None:
    common = {**COMMON, "schedule": {"wait": "soon", "active": 1}, "activities": "CPU"}
    content = info(common, {**EXPERIMENTAL, "_export_type": 7}, end_info="late")
    metadata = {"ENV_VARIABLES": 3, "parallel_group_info": {"g": 1, "h": {}}}
    found, problems = capture(tmp_path, content, metadata=metadata)
    assert (found.level, found.activities, found.export_types) == ("Level2", None, None)
    assert (found.schedule, found.groups) == ({"active": 1}, {"h": {}})
    assert set(problems) == {
        "unexpected_shape profiler_info.json end_info late",
        "unexpected_shape profiler_info.json _export_type 7",
        "unexpected_shape profiler_info.json schedule, wait soon",
        "unexpected_shape profiler_info.json activities CPU",
        "unexpected_shape profiler_metadata.json ENV_VARIABLES 3",
        "unexpected_shape profiler_metadata.json parallel_group_info, g 1",
    }


def test_of_several_settings_one_that_names_a_rank_is_read(tmp_path: Path) -> None:
    capture(tmp_path, info(torch_npu_version="old", cann_version="8"))
    found, problems = capture(tmp_path, info(torch_npu_version="new", cann_version="8"), "profiler_info_1.json")
    assert (found.rank, found.versions) == (1, {"torch_npu": "new", "CANN": "8"})
    assert [problem.split()[0] for problem in problems] == ["several_settings"]


def test_without_settings_the_rank_is_that_of_the_folder(tmp_path: Path) -> None:
    folder, log = tmp_path / "rank_2_ascend_pt", ProblemLog()
    found = read_capture(folder, [], log)
    assert (found.rank, found.level, found.activities, found.switches) == (2, None, None, {})
    assert codes(log.list()) == ["no_settings x1"]
    assert [problem.severity for problem in log.list()] == ["info"]
    folder.mkdir()
    os.mkfifo(folder / "profiler_info_0.json")
    log = ProblemLog()
    assert read_capture(folder, ["profiler_info_0.json"], log).rank == 0
    assert codes(log.list()) == ["not_a_file x1"]
