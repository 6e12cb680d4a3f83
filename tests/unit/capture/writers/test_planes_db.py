"""Rows of the tasks of communication, many by one statement, against those worked out task by task."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.collectives import Exchange, planes, schedule
from tb_npu_plugin.capture.simulation.records import CommOp, Group, HostOp, OpInfo, Process
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.capture.writers.database import Database, Strings
from tb_npu_plugin.capture.writers.dialect import NEW, Options
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.plane_tasks import data_type_of, notify_id, rate_of, target_of, transport_of
from tb_npu_plugin.capture.writers.planes_db import PlaneTables
from tb_npu_plugin.schema import torch_npu_db as schema

PID, DEVICE, STREAM, NAME, GROUP = 77, 3, 9, 501, 502
_ENUMS = schema.ENUMS


def operator(type_: str, size: int, members: tuple[int, ...], number: int) -> CommOp:
    topology = Topology(CHIPS["910B2"])
    ends, tasks = schedule(Exchange(type_, size, members, str(number)), (10**9,) * len(members), topology, 1)
    group = Group(0, "1", members, 1, planes(type_, members, topology))
    start = 10**9
    return CommOp(
        "op",
        type_,
        group,
        start,
        ends[1] - start,
        40 + number,
        0,
        0,
        0,
        tasks,
        HostOp(OpInfo("op"), 1, 0),
        main=int(group.planes > 1),
        data_type="BFP16",
    )


def written(ops: list[CommOp], path: Path) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]], dict[int, str]]:
    output = Output(path, Process(PID, DEVICE, 0, 8, 0), Options(), NEW)
    database = Database(path / "x.db", schema.TABLES)
    strings = Strings(database, 0)
    tables, id_ = PlaneTables(output, database, strings), 0
    for number, op in enumerate(ops, 1):
        tables.add(op, number, NAME, GROUP, STREAM, id_)
        id_ += len(op.planes)
    strings.flush()
    database.close()
    with sqlite3.connect(path / "x.db") as found:
        tasks, infos, texts = (
            found.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
            for table in ("TASK", "COMMUNICATION_TASK_INFO", "STRING_IDS")
        )
    return tasks, infos, dict(texts)


def expected_task(op: CommOp, number: int, id_: int, place: int) -> tuple[object, ...]:
    task = op.planes[place]
    kind = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}.get(
        task.name, "SDMA"
    )
    return (
        task.start,
        task.start + task.dur,
        DEVICE,
        op.connection,
        id_,
        PID,
        kind,
        schema.NO_ID,
        STREAM + task.plane,
        number,
        schema.NO_ID,
    )


def expected_info(op: CommOp, number: int, id_: int, place: int) -> tuple[object, ...]:
    task = op.planes[place]
    notify = notify_id(task)
    return (
        NAME,
        id_,
        task.name,
        task.plane,
        GROUP,
        (1 << 63) - 1 if notify < 0 else notify,
        _ENUMS["ENUM_HCCL_RDMA_TYPE"]["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"],
        task.src,
        target_of(task),
        _ENUMS["ENUM_HCCL_TRANSPORT_TYPE"][transport_of(task)],
        task.size,
        _ENUMS["ENUM_HCCL_DATA_TYPE"][data_type_of(task, op.data_type)],
        _ENUMS["ENUM_HCCL_LINK_TYPE"]["ROCE" if task.link == "RDMA" else task.link],
        number,
        int(task.plane == op.main),
        rate_of(task.size, task.dur),
    )


@pytest.mark.parametrize(
    ("type_", "sizes", "members"),
    [
        ("hcom_allReduce_", (1 << 24, 1 << 24, 4, (7 << 14) + 1), (0, 1, 2, 3, 4, 5)),
        ("hcom_allGather_", (1 << 20, 1 << 21), tuple(range(0, 8 * 90, 8))),  # 89 rounds on one plane
        ("hcom_reduceScatter_", (1 << 20, 5), (0, 1, 8, 9)),
        ("hcom_send_", (1 << 20, 1 << 10), (0, 8)),
    ],
)
def test_rows_are_those_of_each_task(
    type_: str, sizes: tuple[int, ...], members: tuple[int, ...], tmp_path: Path
) -> None:
    ops = [operator(type_, size, members, number) for number, size in enumerate(sizes)]
    tasks, infos, texts = written(ops, tmp_path)
    places = [(op, number, place) for number, op in enumerate(ops, 1) for place in range(len(op.planes))]
    assert len(tasks) == len(infos) == len(places)
    for id_, (where, task, info) in enumerate(zip(places, tasks, infos)):
        op, number, place = where
        assert (*task[:6], texts[int(str(task[6]))], *task[7:]) == expected_task(op, number, id_, place)
        assert (*info[:2], texts[int(str(info[2]))], *info[3:]) == expected_info(op, number, id_, place)


def test_operators_of_any_size_have_the_same_statements(tmp_path: Path) -> None:
    """A statement is prepared once: that takes longer than what it writes."""
    database = Database(tmp_path / "x.db", schema.TABLES)
    output = Output(tmp_path, Process(PID, DEVICE, 0, 8, 0), Options(), NEW)
    tables, seen = PlaneTables(output, database, Strings(database, 0)), set[str]()
    run = database.run

    def note(statement: str, values: object) -> None:
        seen.add(statement)
        run(statement, values)  # type: ignore[arg-type]

    database.run = note  # type: ignore[method-assign]
    members = tuple(range(0, 8 * 400, 8))
    for number in range(5):
        tables.add(operator("hcom_allReduce_", 1 << (20 + number), members, number), number, NAME, GROUP, STREAM, 0)
    assert len(operator("hcom_allReduce_", 1 << 20, members, 0).planes) > 2_000
    assert len(seen) <= 6  # the first, the last and all others of each table
    database.close()
