"""Which operator of a data pipeline holds up the others."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis import data_pipeline as analysis
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Table, from_lists


def table(name: str, rows: list[dict[str, Any]]) -> Table:
    columns = TABLES[name]
    return from_lists(columns, {column.key: [row.get(column.key) for row in rows] for column in columns})


def op(op_id: int, name: str, parent: int | None, usage: float | None, **more: Any) -> dict[str, Any]:
    return {"op_id": op_id, "name": name, "parent_id": parent, "queue_usage": usage, "workers": 4, **more}


def pipeline(*rows: dict[str, Any]) -> Table:
    return table("minddata_ops", list(rows))


def batches(host: list[int | None], device: list[int | None] = []) -> Table:  # noqa: B006
    rows = [{"queue": "host", "batch": number, "size": size} for number, size in enumerate(host, 1)]
    rows += [{"queue": "device", "batch": number, "size": size} for number, size in enumerate(device, 1)]
    return table("minddata_batches", rows)


SLOW_MAP = pipeline(op(0, "Batch", None, 0.05), op(1, "Map", 0, 0.03), op(2, "TFReader", 1, 0.90))


def test_the_operator_between_a_full_and_an_empty_queue_is_the_bottleneck() -> None:
    found = analysis.analyse_pipeline(SLOW_MAP, None, None)
    assert found.bottleneck == 1
    assert {one.op_id: one.input_usage for one in found.ops} == {0: 0.03, 1: 0.90, 2: None}
    assert {one.op_id: one.score for one in found.ops} == {0: 0.0, 1: pytest.approx(0.87), 2: pytest.approx(0.10)}
    held = [finding for finding in found.findings if finding.rule == "held_up"]
    assert [(finding.op_id, finding.limit) for finding in held] == [(1, analysis.HELD_UP)]


def test_a_slow_source_empties_all_queues() -> None:
    slow = pipeline(op(0, "BatchOp", None, 0.02), op(1, "MapOp", 0, 0.03), op(2, "GeneratorOp", 1, 0.04))
    found = analysis.analyse_pipeline(slow, None, None)
    assert found.bottleneck == 2 and found.ops[2].kind == "Generator"
    assert [finding.rule for finding in found.findings] == ["slow_source"]


def test_full_queues_name_nobody() -> None:
    full = pipeline(op(0, "Batch", None, 0.97), op(1, "Map", 0, 0.95), op(2, "TFReader", 1, 0.99))
    found = analysis.analyse_pipeline(full, None, None)
    assert found.bottleneck is None and not found.findings


def test_an_operator_whose_queue_is_full_enough_holds_up_nobody() -> None:
    found = analysis.analyse_pipeline(
        pipeline(op(0, "Batch", None, 1.0), op(1, "Map", 0, 0.85), op(2, "TFReader", 1, 1.0)), None, None
    )
    assert found.ops[1].score == pytest.approx(0.15) and found.bottleneck is None and not found.findings


def test_nothing_before_a_full_queue_holds_up() -> None:
    """The source of a branch whose later queue is full is fast enough: its own is empty because all is taken at once."""
    branches = pipeline(
        op(0, "Zip", None, None),
        op(1, "Map", 0, 0.05),
        op(2, "TFReader", 1, 0.90),
        op(3, "Map", 0, 0.90),
        op(4, "Generator", 3, 0.0),
    )
    found = analysis.analyse_pipeline(branches, None, None)
    assert found.ops[4].score == 1.0 and found.bottleneck == 1
    assert [(finding.rule, finding.op_id) for finding in found.findings] == [("held_up", 1)]
    chain = pipeline(op(0, "Batch", None, 0.9), op(1, "Map", 0, 0.2), op(2, "TFReader", 1, 0.1))
    assert analysis.analyse_pipeline(chain, None, None).bottleneck is None


def test_what_is_unknown_takes_no_part() -> None:
    # MindSpore's own analyser takes an unknown CPU of -1 for low and names Batch here.
    unknown = pipeline(op(0, "Batch", None, None), op(1, "Map", 0, 0.03), op(2, "TFReader", 1, 0.90))
    found = analysis.analyse_pipeline(unknown, None, None)
    assert found.bottleneck == 1 and found.ops[0].score is None and found.ops[0].cpu is None


def test_operators_that_pass_rows_on_are_stepped_over() -> None:
    steps = pipeline(op(0, "Repeat", None, 0.1), op(1, "Batch", 0, 0.1), op(2, "Skip", 1, None), op(3, "Map", 2, 0.8))
    found = analysis.analyse_pipeline(steps, None, None)
    assert found.ops[0].score is None
    assert found.ops[1].input_usage == 0.8 and found.bottleneck == 1


def test_a_circle_of_parents_ends() -> None:
    circle = pipeline(op(0, "Map", 1, None), op(1, "Map", 0, None))
    assert analysis.analyse_pipeline(circle, None, None).bottleneck is None


def test_cpu_comes_from_the_samples_where_the_table_has_none() -> None:
    rows = [{"scope": "op", "op_id": 1, "user": user, "sys": 10.0} for user in (300.0, 320.0)]
    rows += [{"scope": "op", "op_id": 2, "user": 10.0, "sys": 0.0}]
    rows += [{"scope": "machine", "idle": idle} for idle in (10.0, 6.0, None)]
    found = analysis.analyse_pipeline(SLOW_MAP, None, table("minddata_cpu", rows))
    assert found.ops[1].cpu == 320.0 and found.machine_cpu == 92.0
    rules = {(finding.rule, finding.op_id): finding.value for finding in found.findings}
    assert rules["busy_workers", 1] == 80.0 and rules["idle_workers", 2] == 2.5 and rules["busy_machine", None] == 92.0


@pytest.mark.parametrize(
    ("host", "device", "expected"),
    [
        ([0] + [0] * 4 + [3] * 7, [], "processing"),
        ([0] + [0] * 3 + [3] * 8, [], "compute"),
        ([3] * 12, [2] * 11 + [0], "transfer"),
        ([3] * 12, [0] + [2] * 11, "compute"),
        ([3] * 10, [], "unknown"),
        ([None] * 20, [], "unknown"),
    ],
    ids=["empty", "first batch and 3 of 11", "device ran empty", "first of the device", "few", "unknown sizes"],
)
def test_verdict(host: list[int | None], device: list[int | None], expected: str) -> None:
    assert analysis.analyse_pipeline(None, batches(host, device), None).verdict == expected


def test_queues_count_without_the_first_batch() -> None:
    found = analysis.queues(batches([0, 0, 1, None, 0]))
    assert [(queue.queue, queue.batches, queue.empty) for queue in found] == [("host", 3, 2)]


def test_loader_sums_what_pytorch_calls_taking_a_batch() -> None:
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    rows = [{"name": name, "host_total_ns": 5}, {"name": "aten::add", "host_total_ns": 100}]
    rows += [{"name": name, "host_total_ns": 7}, {"name": name}]
    assert analysis.loader(table("operators", rows)) == analysis.Loader(2, 12, 7)
    around = [{"name": "dataloader", "host_total_ns": 8}]
    assert analysis.loader(table("operators", [*rows, *around])) == analysis.Loader(2, 12, 7)
    assert analysis.loader(table("operators", around)) == analysis.Loader(1, 8, 8)
    assert analysis.loader(table("operators", rows[1:2])) is None
