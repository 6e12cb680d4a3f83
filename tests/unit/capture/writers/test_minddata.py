"""The files of the data pipeline agree with each other, with the trace, and with the truth."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.data_pipeline import BATCH, MAP
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.errors import BadRequest
from tests.support.mock_mindspore import folders, run

KEPT_UP, SLOW = 0, 1


def parsed(rank: int) -> Path:
    return folders("data")[rank] / "ASCEND_PROFILER_OUTPUT"


def raw(rank: int, name: str) -> str:
    return (folders("data")[rank] / "FRAMEWORK" / name).read_text()


def pipeline(rank: int) -> dict[int, dict[str, str]]:
    with (parsed(rank) / f"minddata_pipeline_raw_{rank}.csv").open(newline="") as file:
        return {int(row["op_id"]): row for row in csv.DictReader(file)}


def summary(rank: int) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads((parsed(rank) / f"minddata_pipeline_summary_{rank}.json").read_text())
    return found


def waits(rank: int) -> list[tuple[float, float]]:
    """(start, duration) of getting the data, in ms."""
    found = json.loads((parsed(rank) / "trace_view.json").read_text())
    return sorted(
        (float(e["ts"]) / 1000, float(e["dur"]) / 1000) for e in found if e["name"] == "Dataset::GetNext::DataQueue"
    )


@pytest.mark.parametrize("rank", [KEPT_UP, SLOW])
def test_raw_table_and_raw_data_are_the_same(rank: int) -> None:
    content = json.loads(raw(rank, f"pipeline_profiling_{rank}.json"))
    table = pipeline(rank)
    assert list(table) == [0, 2, 3, 4]  # breadth-first; EpochCtrl has no queue and is stepped over
    by_id = {info["op_id"]: info for info in content["op_info"]}
    assert by_id[1]["metrics"] is None and by_id[1]["op_type"] == "EpochCtrlOp"
    for id_, row in table.items():
        assert row["op_type"] == by_id[id_]["op_type"] and row["sample_interval"] == str(content["sampling_interval"])
        queue = (by_id[id_]["metrics"] or {}).get("output_queue")
        if queue is None:
            assert row["output_queue_size"] == row["output_queue_length"] == row["output_queue_usage_rate"] == ""
            continue
        sizes = json.loads(row["output_queue_size"])
        assert sizes == queue["size"] and 0 <= min(sizes) <= max(sizes) <= queue["length"]
        average = sum(sizes) / len(sizes)
        assert float(row["output_queue_average_size"]) == average
        assert float(row["output_queue_usage_rate"]) == average / queue["length"]
    assert [(row["parent_id"], row["children_id"]) for row in table.values()] == [
        ("", "[2]"),
        ("0", "[3]"),
        ("2", "[4]"),
        ("3", ""),
    ]


@pytest.mark.parametrize("rank", [KEPT_UP, SLOW])
def test_summary_csv_is_the_json_transposed(rank: int) -> None:
    content = summary(rank)
    with (parsed(rank) / f"minddata_pipeline_summary_{rank}.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert [line[0] for line in lines] == list(content)
    assert [line[1:] for line in lines] == [[str(value) for value in values] for values in content.values()]
    assert content["op_names"] == ["DeviceQueue", "EpochCtrl", "Batch", "Map", "TFReader"]
    assert content["queue_average_size"][:2] == [-1, -1]
    for id_, row in pipeline(rank).items():
        if row["output_queue_usage_rate"]:
            expected = 100 * float(row["output_queue_usage_rate"])
            assert content["queue_utilization_pct"][id_] == pytest.approx(expected, abs=0.1)


def test_the_truth_names_the_operator_between_a_full_and_an_empty_queue() -> None:
    _, truth = run("data")
    assert truth["data_pipeline"]["bottleneck"] == {"0": None, "1": MAP.id}
    for rank in (KEPT_UP, SLOW):
        usage = {id_: float(row["output_queue_usage_rate"] or -1) for id_, row in pipeline(rank).items()}
        drop = {id_: usage[id_ + 1] - usage[id_] for id_ in (2, 3)}
        if rank == SLOW:
            assert max(drop, key=lambda id_: drop[id_]) == MAP.id and drop[MAP.id] > 0.9
        else:
            assert max(drop.values()) < 0.2 and min(usage[id_] for id_ in (2, 3, 4)) > 0.8
    for known in truth["data_pipeline"]["operators"]:
        row = pipeline(SLOW).get(known["op_id"])
        if row is not None:
            assert (row["op_type"], row["num_workers"]) == (f"{known['type']}Op", str(known["workers"]))
            assert row["output_queue_length"] == str(known["queue"] or "")


@pytest.mark.parametrize("rank", [KEPT_UP, SLOW])
def test_batches_are_on_the_device_before_the_training_takes_them(rank: int) -> None:
    records = [tuple(map(int, line.split())) for line in raw(rank, f"device_queue_profiling_{rank}.txt").splitlines()]
    taken = waits(rank)
    batches = {record[2] for record in records}
    assert len(records) == 4 * len(batches)
    sums: dict[int, dict[int, int]] = {}
    for kind, first, number, value, _ in records:
        if kind == 0:
            sums.setdefault(number, {})[first] = value
        else:
            assert first == BATCH.capacity and value == (0 if rank == SLOW else BATCH.capacity)
    assert all(times[2] == times[0] + times[1] for times in sums.values())
    content = summary(rank)
    later = [times for number, times in sums.items() if number >= 2]
    assert content["per_pipeline_time"] == [round(sum(times[0] for times in later) / len(later), 3)]
    if rank == SLOW:  # it waits for the pipeline, and so does the training: it gets each batch at once
        pushed = [record[4] for record in records if record[:2] == (0, 1)]
        assert len(pushed) == len(taken)
        for at, (start, dur) in zip(pushed, taken):
            assert start < at <= start + dur < at + 2
        assert content["per_pipeline_time"][0] > 100 > 1 > content["per_push_queue_time"][0]
    else:
        assert max(dur for _, dur in taken) < 2
        assert content["per_push_queue_time"][0] > 100 > 1 > content["per_pipeline_time"][0]


def test_only_mindspore_profiles_the_pipeline(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="only MindSpore"):
        Recipe("tiny", options=Options(data_process=True)).cluster()
