"""Results of MindSpore have the shapes of docs/facts/ascend_ms.md."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.mock_mindspore import RUNS, folders

ALWAYS = {"trace_view.json", "dataset.csv", "operator_details.csv"}
KERNELS = {"kernel_details.csv", "step_trace_time.csv"}
LEVEL_1 = {"op_statistic.csv", "api_statistic.csv"}
MEMORY = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
COMMUNICATION = {"communication.json", "communication_matrix.json"}
L2 = {"l2_cache.csv"}
DATABASE = {"ascend_mindspore_profiler_0.db"}


def output(folder: Path) -> Path:
    return folder / "ASCEND_PROFILER_OUTPUT"


def rows(folder: Path, name: str) -> tuple[list[str], list[dict[str, str]]]:
    with (output(folder) / name).open(newline="", encoding="utf-8") as file:
        found = list(csv.reader(file))
    return found[0], [dict(zip(found[0], row)) for row in found[1:]]


def events(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((output(folder) / "trace_view.json").read_text())
    return found


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("level_none", ALWAYS | MEMORY),
        ("level0", ALWAYS | KERNELS | L2 | MEMORY | DATABASE),
        ("level1", ALWAYS | KERNELS | L2 | LEVEL_1 | MEMORY | DATABASE),
        ("level2", ALWAYS | KERNELS | L2 | LEVEL_1 | MEMORY | DATABASE | {"data_preprocess.csv"}),
        ("no_memory", ALWAYS | KERNELS | L2 | LEVEL_1),
        ("no_shapes", (ALWAYS | KERNELS | L2 | LEVEL_1 | MEMORY) - {"operator_details.csv"}),
        ("cluster", ALWAYS | KERNELS | LEVEL_1 | MEMORY | COMMUNICATION | DATABASE | {"communication_analyzer.db"}),
        ("db_only", DATABASE | {"communication_analyzer.db"}),
    ],
)
def test_level_and_switches_decide_which_files_there_are(name: str, files: set[str]) -> None:
    assert {path.name for path in output(folders(name)[0]).iterdir()} == files


@pytest.mark.parametrize("name", sorted(RUNS))
def test_names_and_settings_of_a_result(name: str) -> None:
    recipe = RUNS[name]
    assert len(folders(name)) == len(recipe.only or range(recipe.ranks))
    for folder in folders(name):
        assert re.fullmatch(r"node0_\d+_20250615070000\d{3}_ascend_ms", folder.name)
        assert json.loads((folder / "profiler_metadata.json").read_text())["tb_npu_simulated"] is True
        (path,) = folder.glob("profiler_info_*.json")
        info = json.loads(path.read_text())
        assert {"profiler_parameters", "ms_profiler_info", "ms_version", "cann_version", "jit_level"} <= set(info)
        assert info["ms_profiler_info"]["rank_id"] == path.stem.rsplit("_", 1)[1]
        parameters = info["profiler_parameters"]
        assert parameters["is_set_schedule"] is not recipe.options.data_process
        assert set(parameters["schedule"]) == {"wait", "active", "warmup", "repeat", "skip_first"}
        assert parameters["profiler_level"] == ("LevelNone" if name == "level_none" else f"Level{recipe.options.level}")


def test_kernel_details_begin_with_the_step_and_name_the_launch() -> None:
    header, kernels = rows(folders("level1")[0], "kernel_details.csv")
    assert header[:5] == ["Step ID", "Model ID", "Task ID", "Stream ID", "Name"] and "Block Num" in header
    assert {row["Step ID"] for row in kernels} == {"11", "12"}
    for row in kernels:
        assert re.fullmatch(r"Kernel::KernelLaunch::(Gradients/)?Default/.*-op\d+/[^/]+", row["Name"])
    header, _ = rows(folders("level0")[0], "kernel_details.csv")
    assert header == [
        "Step ID",
        "Model ID",
        "Task ID",
        "Stream ID",
        "Name",
        "Type",
        "Accelerator Core",
        "Start Time(us)",
        "Duration(us)",
        "Wait Time(us)",
        "Block Num",
    ]


def test_memory_record_counts_kb_by_1000_and_operators_by_1024() -> None:
    folder = folders("level1")[0]
    _, operators = rows(folder, "operator_memory.csv")
    _, records = rows(folder, "memory_record.csv")
    by_time = {row["Timestamp(us)"]: row for row in records if row["Component"] == "MindSpore"}
    for row in operators:
        now = by_time[row["Allocation Time(us)"]]
        size = float(row["Allocation Total Allocated(MB)"])
        assert float(now["Total Allocated(MB)"]) == pytest.approx(size * 1.024, rel=1e-12)
        assert row["Active Release Time(us)"] == row["Active Duration(us)"] == "N/A"
        assert row["Allocation Total Active(MB)"] == row["Allocation Total Allocated(MB)"]
        assert row["Device Type"] == "NPU:0"
        if row["Release Time(us)"] == "N/A":
            assert {row[key] for key in row if key.startswith("Release")} == {"N/A"} == {row["Duration(us)"]}
        else:
            lasted = Decimal(row["Release Time(us)"]) - Decimal(row["Allocation Time(us)"])
            assert lasted == Decimal(row["Duration(us)"])
    components = [row["Component"] for row in records]
    assert set(components) == {"MindSpore", "GE", "MindSpore+GE", "APP"}
    first = components.index("APP")
    assert set(components[first:]) == {"APP"}
    assert all(float(row["Total Allocated(MB)"]) == 0 for row in records[first:])


def test_the_trace_has_the_processes_of_mindspore() -> None:
    found = events(folders("cluster")[0])
    names = {event["args"]["name"]: event["pid"] for event in found if event["name"] == "process_name"}
    assert names["MindSpore"] == 1 and names["Scope Layer"] == 3 and "HCCL" in names
    assert not {"Python", "Communication", "Python GC"} & set(names)
    framework = [event for event in found if event["pid"] == 1 and event["ph"] == "X"]
    for event in framework:
        assert re.fullmatch(r"\d+\.\d{3}", event["ts"]) and re.fullmatch(r"\d+\.\d{3}", event["dur"])
    python = [event for event in framework if event.get("cat") == "python_function"]
    assert python and not any("torch/" in event["name"] or event["name"].startswith("nn.") for event in python)
    others = {event["name"] for event in framework if event.get("cat") is None}
    patterns = r"ProfilerStep#\d+|RunGraph|(Dataset|RuntimeFramework|Kernel)::\w+::.+"
    assert [name for name in others if not re.fullmatch(patterns, name)] == []


def test_flows_have_both_ends_and_the_kernel_knows_its_launch() -> None:
    found = events(folders("cluster")[0])
    places = {(e["pid"], e["tid"], e["ts"]): e for e in found if e["ph"] == "X"}
    ends: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for event in found:
        if event["ph"] in "sf" and event["cat"].startswith("async"):
            ends.setdefault((event["cat"], event["name"]), {}).setdefault(event["id"], {})[event["ph"]] = event
    assert set(ends) == {("async_mindspore", "mindspore_to_self"), ("async_npu", "mindspore_to_npu")}
    for (category, _), flows in ends.items():
        for flow in flows.values():
            start, end = (places[flow[ph]["pid"], flow[ph]["tid"], flow[ph]["ts"]] for ph in "sf")
            if category == "async_npu":
                assert end["args"]["mindspore_op"] == start["name"] and "KernelLaunch" in start["name"]
            else:
                assert start["name"].split("::")[2] == end["name"].split("::")[2]
                assert Decimal(start["ts"]) <= Decimal(end["ts"])
