"""tb-npu check-config: what configurations record, and their traps. Source: docs/facts/mindspore_config.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb_npu_plugin.cli.config import check_config
from tb_npu_plugin.config_check.model import ConfigError
from tb_npu_plugin.config_check.registry import check

Settings = dict[str, Any]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, "1 to 10"),
        ({"profile_start_step": 4, "profile_stop_step": 6}, "4 to 6"),
        ({"init_start_profile": True, "profile_stop_step": 3}, "1 to 3"),
        ({"init_start_profile": True, "profile_start_step": 4, "profile_stop_step": 6}, "4 to 6"),
        ({"profile_start_step": 20, "profile_stop_step": 15}, "20"),
        ({"profile_start_step": 8, "profile_stop_step": 5}, "8 to 10"),
        (
            {"runner_config": {"sink_mode": True, "sink_size": 4}, "profile_start_step": 1, "profile_stop_step": 9},
            "4 to 10",
        ),
        (
            {"runner_config": {"sink_mode": True, "sink_size": 4}, "profile_start_step": 9, "profile_stop_step": 9},
            "8 to 12",
        ),
        (
            {"runner_config": {"sink_mode": True, "sink_size": 4}, "profile_start_step": 4, "profile_stop_step": 8},
            "4 to 8",
        ),
        ({"runner_config": {"sink_mode": False, "sink_size": 4}, "profile_stop_step": 9}, "1 to 9"),
    ],
)
def test_steps_of_mindformers(settings: Settings, steps: str) -> None:
    """The first five were recorded with mindformers' callback on the CPU."""
    assert check({"profile": True, **settings}).facts["Steps"] == steps


@pytest.mark.parametrize(
    ("settings", "level", "traps"),
    [
        ({"profile_communication": True}, "Level0", ["profile_communication: True"]),
        ({"profile_communication": True, "profiler_level": 0}, "Level1", []),
        ({"profiler_level": 2}, "Level2", []),
        ({"profiler_level": 3}, "Level2", ["profiler_level: 3"]),
        ({"profiler_level": "high"}, "Level0", ["profiler_level: 'high'"]),
        ({"profile_level": 1, "profile_end_step": 5}, "Level0", ["profile_level: 1", "profile_end_step: 5"]),
        ({"profile_memroy": True}, "Level0", ["profile_memroy"]),
        ({"profile_stop_step": "ten"}, "Level0", ["profile_stop_step: 'ten'"]),
        ({"profile_rank_ids": 3}, "Level0", ["profile_rank_ids: 3"]),
    ],
)
def test_levels_and_traps_of_mindformers(settings: Settings, level: str, traps: list[str]) -> None:
    report = check({"profile": True, **settings})
    assert report.facts["Level"] == level
    assert [trap.setting for trap in report.traps] == traps


#: Of the mindformers document: its own YAML, and what changes it.
DOCUMENT = {
    "profile": True,
    "profile_start_step": 1,
    "profile_stop_step": 10,
    "init_start_profile": True,
    "profile_communication": True,
    "profile_memory": True,
}


@pytest.mark.parametrize(
    ("settings", "steps", "trap"),
    [
        ({}, "1 to 10", ""),
        ({"profile": False}, "none: profile is False", ""),
        ({"profile_start_step": 4}, "1 to 10", "profile_start_step: 4: ignored by mindformers 1.0 because init_start"),
        (
            {"init_start_profile": False},
            "none: the run ends",
            "profile_communication: True: the run ends with ValueError",
        ),
        (
            {"init_start_profile": False, "use_parallel": True, "profile_start_step": 1},
            "1 to 10",
            "init_start_profile: False: ignored by mindformers 1.0 because use_parallel is True",
        ),
        (
            {"init_start_profile": False, "profile_communication": False, "profile_start_step": 4, "profiler_level": 1},
            "4 to 10",
            "profiler_level: 1: ignored by mindformers 1.0 because it does not read it",
        ),
        ({"runner_config": {"sink_mode": True}}, "1 to 10", "sink_mode: True: ignored"),
    ],
)
def test_rules_of_the_first_mindformers(settings: Settings, steps: str, trap: str) -> None:
    report = check({**DOCUMENT, **settings}, "1.0")
    assert "mindformers 1.0" in report.facts["Rules"]
    assert report.facts["Steps"].startswith(steps)
    assert [f"{one.setting}: {one.effect}".startswith(trap) for one in report.traps] == [True] * bool(trap)
    assert bool(report.call) != ("none" in steps)


def test_the_rules_of_a_version_are_named() -> None:
    report = check({**DOCUMENT, "profile_start_step": 4, "profiler_level": 1})
    assert "mindformers 2.1" in report.facts["Rules"] and report.facts["Steps"] == "4 to 10"
    assert [trap.effect for trap in report.traps] == [
        "ignored by mindformers 2.1 because profile_start_step is 4 and not 1"
    ]


def test_what_mindformers_records_is_a_call() -> None:
    settings = {
        "profile": True,
        "profile_output": "out",
        "profile_rank_ids": [0, 5],
        "profile_memory": True,
        "profiler_level": 1,
    }
    report = check(settings)
    assert report.facts["Ranks"] == "rank 0, rank 5"
    assert report.facts["Folder"] == "out/profile/rank_<rank>/<host>_<pid>_<time>_ascend_ms"
    called: Settings = {}

    def record(name: str) -> Any:
        return lambda *arguments, **named: called.update({name: (arguments, named)}) or name

    names = ("ProfilerActivity", "ProfilerLevel", "AicoreMetrics", "ExportType")
    scope = {name: type("Names", (), {"__getattr__": lambda self, member: member})() for name in names}
    functions = {name: record(name) for name in ("schedule", "tensorboard_trace_handler", "_ExperimentalConfig")}
    exec(report.call, {**scope, **functions, "profile": record("profile")})
    assert called["schedule"] == ((), {"wait": 0, "warmup": 0, "active": 10, "repeat": 1, "skip_first": 1})
    assert called["_ExperimentalConfig"][1]["aic_metrics"] == "PipeUtilization"
    assert called["profile"][1]["profile_memory"] is True


def test_profile_that_is_off_records_nothing() -> None:
    report = check({"profile": False, "profile_level": 1})
    assert report.facts["Steps"] == "none: profile is False" and not report.call


@pytest.mark.parametrize(
    ("settings", "traps"),
    [
        ({"start": "true"}, ["\"start\": 'true'"]),
        ({"start": True, "export_type": "db", "levl": 1}, ["levl", "export_type: 'db'"]),
        ({"start": True, "profiler_level": "LevelNone"}, ["profiler_level: LevelNone"]),
        ({"start": True, "aic_metrics": "Memory"}, ["aic_metrics: Memory"]),
        ({"start": True, "aic_metrics": "None"}, []),
        ({"start": True, "activities": ["NPU"], "record_shapes": True}, ["record_shapes: true"]),
        ({"start": True, "mstx_domain_include": ["a"]}, ["mstx_domain_include"]),
        (
            {"start": True, "mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]},
            ["mstx_domain_include, mstx_domain_exclude"],
        ),
        ({"start": True, "activities": []}, ["activities: []"]),
        ({"start": True, "hbm_ddr": True}, ['"hbm_ddr"']),
    ],
)
def test_traps_of_the_environment_variable(settings: Settings, traps: list[str]) -> None:
    assert [trap.setting for trap in check(settings).traps] == traps


@pytest.mark.parametrize(
    ("settings", "steps", "traps"),
    [
        ({"start_step": -1, "stop_step": -1}, "none", []),
        ({"start_step": 5, "stop_step": 2}, "none", ["start_step: 5, stop_step: 2"]),
        ({"start_step": 2, "stop_step": 5, "analyse": True}, "2 to 5 as a callback", []),
        ({"start_step": 2, "stop_step": 5}, "2 to 5 as a callback", ['no "analyse"']),
        ({"start_step": 0, "stop_step": 5, "analyse": True}, "0 to 5 as a callback", ["start_step: 0"]),
        ({"start_step": 2, "stop_step": 5, "analyse": True, "aic_metrics": -1}, "2 to 5", ['"aic_metrics": -1']),
    ],
)
def test_dynamic_profiles_of_mindspore(settings: Settings, steps: str, traps: list[str]) -> None:
    report = check(settings)
    assert report.facts["Steps"].startswith(steps)
    assert [trap.setting for trap in report.traps] == traps


def test_dynamic_profiles_of_torch_npu() -> None:
    inner = {"profiler_level": "Level1", "export_typ": ["db"]}
    report = check(
        {
            "start_step": 10,
            "active": 2,
            "analyse": True,
            "is_rank": True,
            "rank_list": [1],
            "experimental_config": inner,
        }
    )
    assert (report.facts["Steps"], report.facts["Ranks"]) == ("2 from step 10", "1")
    assert [trap.setting for trap in report.traps] == ["export_typ", '"rank_list" with "analyse"']
    assert "profiler_level=ProfilerLevel.Level1" in report.call


def test_other_content_is_no_configuration() -> None:
    for content in ([1], {"lr": 0.1}, None):
        with pytest.raises(ConfigError):
            check(content)


def test_the_command_reads_yaml_json_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = CliRunner().invoke
    file = tmp_path / "run.yaml"
    file.write_text("profile: True\nprofile_level: 1\n")
    found = run(check_config, [str(file), "--json"])
    assert found.exit_code == 3
    assert json.loads(found.output)["traps"][0]["fix"] == "profiler_level: 1"
    assert "mindformers 1.0" in run(check_config, [str(file), "--mindformers", "1.0"]).output
    monkeypatch.setenv("MS_PROFILER_OPTIONS", '{"start": true}')
    found = run(check_config, ["--env"])
    assert found.exit_code == 0 and "the whole run" in found.output
    file.write_text("a: [")
    assert run(check_config, [str(file)]).exit_code == 1
    assert run(check_config, []).exit_code == 2
