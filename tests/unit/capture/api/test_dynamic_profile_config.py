"""The file of dynamic_profile: its values, their defaults and what becomes of wrong ones (2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api.dynamic_profile import config
from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerActivity
from tests.unit.capture.api.conftest import Said

#: Values of the file, fields of Config, warned.
VALUES: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {"start_step": 0, "warmup": 0, "active": 1, "prof_dir": "./", "analyse": False, "rank_list": None}, 0),
    ({"active": 0}, {"active": 1}, 1),
    ({"active": "x"}, {"active": 1}, 1),
    ({"warmup": -1}, {"warmup": 0}, 1),
    ({"start_step": -2}, {"start_step": 0}, 1),
    ({"start_step": "3"}, {"start_step": 0}, 1),
    ({"start_step": True}, {"start_step": 0}, 1),
    ({"start_step": -1}, {"start_step": -1}, 0),
    ({"analyse": 1}, {"analyse": False}, 1),
    ({"analyse": True}, {"analyse": True, "async_mode": False}, 0),
    ({"analyse": True, "is_rank": True, "rank_list": [1, "2", -1]}, {"analyses_ranks": False, "rank_list": {1}}, 0),
    ({"analyse": True, "async_mode": True, "is_rank": True, "rank_list": [1]}, {"analyses_ranks": True}, 0),
    ({"analyse": True}, {"analyses_ranks": True}, 0),
    ({"async_mode": True}, {"analyse": False, "async_mode": True}, 1),
    ({"activities": ["cpu", "NPU"]}, {}, 0),
    ({"activities": ["CPU", "GPU", 5]}, {}, 1),
    ({"activities": "CPU"}, {}, 1),
    ({"is_rank": "yes"}, {"rank_list": None}, 1),
    ({"is_rank": True, "rank_list": 1}, {"rank_list": frozenset()}, 1),
    ({"metadata": {"a": [1]}}, {"metadata": {"a": [1]}}, 0),
    ({"metadata": "a"}, {"metadata": {}}, 0),
]


@pytest.mark.parametrize(("values", "fields", "warned"), VALUES)
def test_values(values: dict[str, Any], fields: dict[str, Any], warned: int) -> None:
    warnings: list[str] = []
    found = config.parse(values, warnings.append)
    assert {name: getattr(found, name) for name in fields} == fields
    assert len(warnings) == warned


def test_arguments_of_the_profile(said: Said) -> None:
    experimental = {"profiler_level": "Level1", "aic_metrics": "MemoryUB", "export_type": ["db"], "mstx": True}
    warned: list[str] = []
    found = config.parse(
        {"activities": ["npu", "GPU", 5], "with_stack": True, "experimental_config": experimental}, warned.append
    ).arguments
    assert warned == ["Set activity failed, activity must be CPU OR NPU!"]
    assert found["activities"] == [ProfilerActivity.NPU]
    assert (found["with_stack"], found["with_modules"]) == (True, False)
    made = found["experimental_config"]
    assert (made._profiler_level, made._aic_metrics) == ("Level1", AiCMetrics.MemoryUB)
    assert (made._export_type, made._mstx) == (["db"], True)
    assert said() == []
    assert config.parse({"experimental_config": {}}, print).arguments["experimental_config"] is None
    assert config.parse({"activities": "CPU"}, warned.append).arguments["activities"] == []


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "5", '"text"'])
def test_a_bad_file_is_no_config(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    warnings: list[str] = []
    assert config.read(path, warnings.append) is None
    [text] = warnings
    assert str(path) in text
