"""Tasks of operators as a pattern and times: the records are those that the times were worked out for."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.batch import Item, batch
from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.collectives import Exchange, schedule
from tb_npu_plugin.capture.simulation.planes import Planes, PlaneTask
from tb_npu_plugin.capture.simulation.topology import Topology

TASKS = [
    PlaneTask(0, "Memcpy", 100, 7, 1, 1, 64, "ON_CHIP"),
    PlaneTask(1, "Notify_Wait", 120, 30, 1, 0, notify=4, peer=PlaneTask(1, "Memcpy", 130, 9, 0, 1, 32, "HCCS")),
    PlaneTask(1, "Memcpy", 155, 5, 1, 0, 16, "HCCS"),
]


def plain(tasks: Planes) -> list[str]:
    return list(map(repr, tasks))


def test_records_are_the_tasks_that_it_was_made_of() -> None:
    planes = Planes.of(TASKS)
    assert plain(planes) == list(map(repr, TASKS)) and len(planes) == 3
    assert planes.pattern.moves == [0, 2] and planes.pattern.size == 80


def test_other_ranks_and_another_plane() -> None:
    found = Planes.of(TASKS).renamed((5, 3), 2)
    assert [(task.plane, task.src, task.dst, task.start) for task in found] == [
        (2, 3, 3, 100),
        (2, 3, 5, 120),
        (2, 3, 5, 155),
    ]
    peer = found[1].peer
    assert peer is not None and (peer.start, peer.dur, peer.size) == (130, 9, 32)


def test_joined_ones_follow_each_other() -> None:
    other = Planes.of(TASKS[1:])
    assert plain(Planes.joined([Planes.of(TASKS), other])) == list(map(repr, [*TASKS, *TASKS[1:]]))


def test_operators_of_one_kind_share_their_pattern() -> None:
    topology, members = Topology(CHIPS["910B2"]), (0, 1, 2, 3)
    found = [
        schedule(Exchange("hcom_allReduce_", size, members, seed), (10**9,) * 4, topology, 1)[1]
        for size, seed in ((1 << 20, "a"), (1 << 20, "b"), (1 << 21, "a"))
    ]
    assert found[0].pattern is found[1].pattern and found[0].pattern is not found[2].pattern
    assert found[0].durs != found[1].durs


def test_times_of_a_batch_are_those_of_its_transfers() -> None:
    """Sends on one plane, what is received on the other, each behind the one before."""
    topology, items = (
        Topology(CHIPS["910B2"]),
        [Item(True, 1, 1 << 20), Item(False, 2, 1 << 21), Item(True, 2, 1 << 20)],
    )
    done, tasks = batch(items, Exchange("hcom_batchSendRecv_", 1 << 22, (4, 5, 6), "x"), (10**9,) * 3, topology, 0)
    assert {task.plane for task in tasks} == {0, 1}
    assert {(task.src, task.dst) for task in tasks if task.plane} == {(0, 2), (0, 0)}
    assert max(task.start + task.dur for task in tasks) <= done
    for plane in (0, 1):
        rows = [(task.start, task.start + task.dur) for task in tasks if task.plane == plane]
        assert all(first[1] <= second[0] for first, second in zip(rows, rows[1:]))


def test_where_a_member_has_nothing_the_other_side_still_moves() -> None:
    """Of these bytes the first three members have a unit of two, the next one half of it and a byte, the last two nothing."""
    exchange = Exchange("hcom_allReduce_", (7 << 14) + 1, (0, 1, 2, 3, 4, 5), "x")
    _, tasks = schedule(exchange, (10**9,) * 6, Topology(CHIPS["910B2"]), 0)
    moves = [task for task in tasks if task.link == "HCCS" and task.name == "Reduce_Inline"]
    others = [task for task in tasks if task.peer is not None and task.peer.name == "Reduce_Inline"]
    assert [task.size for task in moves] == [2 << 14, 2 << 14, (1 << 14) + 1]
    assert [(task.plane, task.name, task.size) for task in others] == [
        (3, "Reduce_Inline", (1 << 14) + 1),
        (4, "Notify_Wait", 0),
        (5, "Notify_Wait", 0),
    ]
    assert {task.peer.start for task in others if task.peer} == {task.start for task in moves}
    assert [task.peer.dur == task.dur for task in others if task.peer] == [True, False, False]
