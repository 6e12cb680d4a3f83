"""Results of MindSpore have the shapes of docs/facts/ascend_ms.md; files of its data pipeline agree with the truth."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.simulation.data_pipeline import BATCH, MAP
from tests.oracle.raw import Raw
from tests.support.mock_mindspore import RUNS, folders, run

ALWAYS = {"trace_view.json", "dataset.csv", "operator_details.csv"}
KERNELS = {"kernel_details.csv", "step_trace_time.csv", "l2_cache.csv"}
LEVEL_1 = {"op_statistic.csv", "api_statistic.csv"}
MEMORY = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
COMMUNICATION = {"communication.json", "communication_matrix.json", "communication_analyzer.db"}
DATABASE = {"ascend_mindspore_profiler_0.db"}


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("level_none", ALWAYS | MEMORY),
        ("level0", ALWAYS | KERNELS | MEMORY | DATABASE),
        ("level1", ALWAYS | KERNELS | LEVEL_1 | MEMORY | DATABASE),
        ("level2", ALWAYS | KERNELS | LEVEL_1 | MEMORY | DATABASE | {"data_preprocess.csv"}),
        ("no_memory", ALWAYS | KERNELS | LEVEL_1),
        ("no_shapes", (ALWAYS | KERNELS | LEVEL_1 | MEMORY) - {"operator_details.csv"}),
        ("cluster", (ALWAYS | KERNELS | LEVEL_1 | MEMORY | COMMUNICATION | DATABASE) - {"l2_cache.csv"}),
        ("db_only", DATABASE | {"communication_analyzer.db"}),
    ],
)
def test_files_and_settings_of_a_result(name: str, files: set[str]) -> None:
    recipe, found = RUNS[name], folders(name)
    assert {path.name for path in Raw(found[0]).output.iterdir()} == files
    assert len(found) == len(recipe.only or range(recipe.ranks))
    for folder in found:
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
    kernels = Raw(folders("level1")[0]).kernels
    first = "Step ID,Model ID,Task ID,Stream ID,Name"
    assert ",".join(kernels[0]).startswith(first) and "Block Num" in kernels[0]
    assert {row["Step ID"] for row in kernels} == {"11", "12"}
    pattern = r"Kernel::KernelLaunch::(Gradients/)?Default/.*-op\d+/[^/]+"
    assert [row["Name"] for row in kernels if not re.fullmatch(pattern, row["Name"])] == []
    level0 = f"{first},Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num"
    assert ",".join(Raw(folders("level0")[0]).kernels[0]) == level0


def test_memory_record_counts_kb_by_1000_and_operators_by_1024() -> None:
    raw = Raw(folders("level1")[0])
    records = raw.csv("memory_record.csv")
    by_time = {row["Timestamp(us)"]: row for row in records if row["Component"] == "MindSpore"}
    for row in raw.csv("operator_memory.csv"):
        size = float(row["Allocation Total Allocated(MB)"])
        total = by_time[row["Allocation Time(us)"]]["Total Allocated(MB)"]
        assert float(total) == pytest.approx(size * 1.024, rel=1e-12)
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


def test_the_trace_has_the_processes_and_flows_of_mindspore() -> None:
    found: list[dict[str, Any]] = json.loads(Raw(folders("cluster")[0]).content("trace_view.json"))
    names = {event["args"]["name"]: event["pid"] for event in found if event["name"] == "process_name"}
    assert names["MindSpore"] == 1 and names["Scope Layer"] == 3 and "HCCL" in names
    assert not {"Python", "Communication", "Python GC"} & set(names)
    framework = [event for event in found if event["pid"] == 1 and event["ph"] == "X"]
    assert all(re.fullmatch(r"\d+\.\d{3} \d+\.\d{3}", f"{event['ts']} {event['dur']}") for event in framework)
    python = [event["name"] for event in framework if event.get("cat") == "python_function"]
    assert python and not [name for name in python if "torch/" in name or name.startswith("nn.")]
    others = {event["name"] for event in framework if event.get("cat") is None}
    patterns = r"ProfilerStep#\d+|RunGraph|(Dataset|RuntimeFramework|Kernel)::\w+::.+"
    assert [name for name in others if not re.fullmatch(patterns, name)] == []
    places = {(event["pid"], event["tid"], event["ts"]): event for event in found if event["ph"] == "X"}
    flows: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for event in found:
        if event["ph"] in "sf" and event["cat"].startswith("async"):
            place = event["pid"], event["tid"], event["ts"]
            flows[event["cat"], event["name"], event["id"]][event["ph"]] = places[place]
    kinds = {("async_mindspore", "mindspore_to_self"), ("async_npu", "mindspore_to_npu")}
    assert {key[:2] for key in flows} == kinds
    for (category, *_), ends in flows.items():
        start, end = ends["s"], ends["f"]
        if category == "async_npu":
            assert end["args"]["mindspore_op"] == start["name"] and "KernelLaunch" in start["name"]
        else:
            assert start["name"].split("::")[2] == end["name"].split("::")[2]
            assert Decimal(start["ts"]) <= Decimal(end["ts"])


# -- the data pipeline ------------------------------------------------------------------------------
KEPT_UP, SLOW = 0, 1
each_rank = pytest.mark.parametrize("rank", [KEPT_UP, SLOW])


def recorded(rank: int, name: str) -> str:
    return (folders("data")[rank] / "FRAMEWORK" / name).read_text()


def parsed(rank: int, name: str) -> Path:
    return Raw(folders("data")[rank]).output / name


def pipeline(rank: int) -> dict[int, dict[str, str]]:
    with parsed(rank, f"minddata_pipeline_raw_{rank}.csv").open(newline="") as file:
        return {int(row["op_id"]): row for row in csv.DictReader(file)}


def summary(rank: int) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(parsed(rank, f"minddata_pipeline_summary_{rank}.json").read_text())
    return found


@each_rank
def test_tables_of_the_pipeline_are_what_was_recorded(rank: int) -> None:
    content, table = json.loads(recorded(rank, f"pipeline_profiling_{rank}.json")), pipeline(rank)
    by_id = {info["op_id"]: info for info in content["op_info"]}
    assert by_id[1]["metrics"] is None and by_id[1]["op_type"] == "EpochCtrlOp"
    # breadth-first; EpochCtrl has no queue and is stepped over
    links = [(id_, row["parent_id"], row["children_id"]) for id_, row in table.items()]
    assert links == [(0, "", "[2]"), (2, "0", "[3]"), (3, "2", "[4]"), (4, "3", "")]
    for id_, row in table.items():
        assert row["op_type"] == by_id[id_]["op_type"] and row["sample_interval"] == str(content["sampling_interval"])
        queue = (by_id[id_]["metrics"] or {}).get("output_queue")
        if queue is None:
            assert row["output_queue_size"] == row["output_queue_length"] == row["output_queue_usage_rate"] == ""
            continue
        sizes = json.loads(row["output_queue_size"])
        average = sum(sizes) / len(sizes)
        assert sizes == queue["size"] and 0 <= min(sizes) <= max(sizes) <= queue["length"]
        assert float(row["output_queue_average_size"]) == average
        assert float(row["output_queue_usage_rate"]) == average / queue["length"]
    whole = summary(rank)
    with parsed(rank, f"minddata_pipeline_summary_{rank}.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [[name, *map(str, values)] for name, values in whole.items()]
    assert whole["op_names"] == ["DeviceQueue", "EpochCtrl", "Batch", "Map", "TFReader"]
    assert whole["queue_average_size"][:2] == [-1, -1]
    usage = {id_: 100 * float(row["output_queue_usage_rate"]) for id_, row in table.items() if row["output_queue_size"]}
    assert {id_: whole["queue_utilization_pct"][id_] for id_ in usage} == pytest.approx(usage, abs=0.1)


def test_the_truth_names_the_operator_between_a_full_and_an_empty_queue() -> None:
    truth = run("data")[1]["data_pipeline"]
    assert truth["bottleneck"] == {"0": None, "1": MAP.id}
    for rank in (KEPT_UP, SLOW):
        usage = {id_: float(row["output_queue_usage_rate"] or -1) for id_, row in pipeline(rank).items()}
        drop = {id_: usage[id_ + 1] - usage[id_] for id_ in (2, 3)}
        if rank == SLOW:
            assert max(drop, key=lambda id_: drop[id_]) == MAP.id and drop[MAP.id] > 0.9
        else:
            assert max(drop.values()) < 0.2 and min(usage[id_] for id_ in (2, 3, 4)) > 0.8
    for known in truth["operators"]:
        row = pipeline(SLOW).get(known["op_id"])
        if row is not None:
            assert (row["op_type"], row["num_workers"]) == (f"{known['type']}Op", str(known["workers"]))
            assert row["output_queue_length"] == str(known["queue"] or "")


@each_rank
def test_batches_are_on_the_device_before_the_training_takes_them(rank: int) -> None:
    lines = recorded(rank, f"device_queue_profiling_{rank}.txt").splitlines()
    records = [tuple(map(int, line.split())) for line in lines]
    events = json.loads(parsed(rank, "trace_view.json").read_text())
    gets = [event for event in events if event["name"] == "Dataset::GetNext::DataQueue"]
    taken = sorted((float(event["ts"]) / 1000, float(event["dur"]) / 1000) for event in gets)
    queued = {record[3] for record in records if record[0] != 0}
    assert queued == {0 if rank == SLOW else BATCH.capacity}
    pipelined, pushing = (summary(rank)[key] for key in ("per_pipeline_time", "per_push_queue_time"))
    if rank == SLOW:  # it waits for the pipeline, and so does the training: it gets each batch at once
        pushed = [record[4] for record in records if record[:2] == (0, 1)]
        assert len(pushed) == len(taken)
        assert all(start < at <= start + dur < at + 2 for at, (start, dur) in zip(pushed, taken))
        assert pipelined[0] > 100 > 1 > pushing[0]
    else:
        assert max(dur for _, dur in taken) < 2
        assert pushing[0] > 100 > 1 > pipelined[0]
