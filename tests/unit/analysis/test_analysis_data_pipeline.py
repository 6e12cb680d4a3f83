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


def pipeline(*rows: tuple[str, int | None, float | None]) -> Table:
    """Name, parent and use of the queue of each operator; ids count from 0."""
    keys = ("name", "parent_id", "queue_usage")
    return table("minddata_ops", [{"op_id": at, "workers": 4, **dict(zip(keys, row))} for at, row in enumerate(rows)])


def batches(host: list[int | None], device: list[int | None] = []) -> Table:  # noqa: B006
    rows = [{"queue": "host", "batch": number, "size": size} for number, size in enumerate(host, 1)]
    rows += [{"queue": "device", "batch": number, "size": size} for number, size in enumerate(device, 1)]
    return table("minddata_batches", rows)


SLOW_MAP = pipeline(("Batch", None, 0.05), ("Map", 0, 0.03), ("TFReader", 1, 0.90))


def test_the_operator_between_a_full_and_an_empty_queue_is_the_bottleneck() -> None:
    found = analysis.analyse_pipeline(SLOW_MAP, None, None)
    assert found.bottleneck == 1
    assert {one.op_id: one.input_usage for one in found.ops} == {0: 0.03, 1: 0.90, 2: None}
    assert {one.op_id: one.score for one in found.ops} == {0: 0.0, 1: pytest.approx(0.87), 2: pytest.approx(0.10)}
    held = [finding for finding in found.findings if finding.rule == "held_up"]
    assert [(finding.op_id, finding.limit) for finding in held] == [(1, analysis.HELD_UP)]


@pytest.mark.parametrize(
    ("ops", "bottleneck", "rules"),
    [
        ([("BatchOp", None, 0.02), ("MapOp", 0, 0.03), ("GeneratorOp", 1, 0.04)], 2, [("slow_source", 2)]),
        ([("Batch", None, 0.97), ("Map", 0, 0.95), ("TFReader", 1, 0.99)], None, []),
        ([("Batch", None, 1.0), ("Map", 0, 0.85), ("TFReader", 1, 1.0)], None, []),
        ([("Batch", None, 0.9), ("Map", 0, 0.2), ("TFReader", 1, 0.1)], None, []),
        (
            [("Zip", None, None), ("Map", 0, 0.05), ("TFReader", 1, 0.90), ("Map", 0, 0.90), ("Generator", 3, 0.0)],
            1,
            [("held_up", 1)],
        ),
        # MindSpore's own analyser takes an unknown CPU of -1 for low and names Batch here.
        ([("Batch", None, None), ("Map", 0, 0.03), ("TFReader", 1, 0.90)], 1, [("held_up", 1)]),
        ([("Repeat", None, 0.1), ("Batch", 0, 0.1), ("Skip", 1, None), ("Map", 2, 0.8)], 1, [("held_up", 1)]),
        ([("Map", 1, None), ("Map", 0, None)], None, []),
    ],
    ids=[
        "a slow source empties all queues",
        "full queues",
        "a queue that is full enough",
        "nothing before a full queue holds up",
        "nor a source of which all is taken at once",
        "what is unknown takes no part",
        "operators that pass rows on are stepped over",
        "a circle of parents ends",
    ],
)
def test_bottleneck(
    ops: list[tuple[str, int | None, float | None]], bottleneck: int | None, rules: list[tuple[str, int]]
) -> None:
    found = analysis.analyse_pipeline(pipeline(*ops), None, None)
    assert found.bottleneck == bottleneck
    assert [(finding.rule, finding.op_id) for finding in found.findings] == rules


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
