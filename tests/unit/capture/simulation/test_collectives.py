"""The waits of one member are the arrivals of the others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.collectives import Exchange, planes, schedule
from tb_npu_plugin.capture.simulation.topology import Topology

CHIP = CHIPS["910B2"]
MESH, RING = (0, 1, 2, 3, 4, 5, 6, 7), (0, 8, 16, 24)
KINDS = ("hcom_allReduce_", "hcom_allGather_", "hcom_reduceScatter_", "hcom_broadcast_")
SIZE = 64 << 20


def late(members: tuple[int, ...], who: int, ns: int) -> tuple[int, ...]:
    return tuple(10**9 + (ns if number == who else 0) for number in range(len(members)))


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize("members", [MESH, RING])
def test_nobody_is_done_before_the_last_one_is_there(type_: str, members: tuple[int, ...]) -> None:
    arrivals = late(members, 2, 5_000_000)
    ends, _ = schedule(Exchange(type_, SIZE, members, "x"), arrivals, Topology(CHIP))
    on_time, _ = schedule(Exchange(type_, SIZE, members, "x"), late(members, 2, 0), Topology(CHIP))
    assert min(ends) > max(arrivals)
    # the late one makes all late, by as much as it is late
    assert [end - other for end, other in zip(ends, on_time)] == pytest.approx([5_000_000] * len(members), abs=100_000)


def test_first_wait_of_each_member_tells_how_late_its_peer_is() -> None:
    arrivals = (10**9, 10**9 + 300_000, 10**9 + 2_000_000, 10**9 + 50_000)
    members = (0, 1, 2, 3)
    for member in range(4):
        _, tasks = schedule(Exchange("hcom_allReduce_", SIZE, members, "x"), arrivals, Topology(CHIP), member)
        for peer in set(range(4)) - {member}:
            first = next(t for t in tasks if t.name == "Notify_Wait" and t.dst == peer)
            assert first.dur == pytest.approx(max(20, arrivals[peer] - arrivals[member]), abs=3_000)


@given(st.lists(st.integers(0, 10**7), min_size=2, max_size=8), st.sampled_from(KINDS), st.integers(1, 1 << 28))
@settings(max_examples=60)
def test_tasks_lie_inside_the_operator_and_do_not_overlap_on_a_plane(skews: list[int], type_: str, size: int) -> None:
    for members in (tuple(range(len(skews))), tuple(range(0, 8 * len(skews), 8))):
        arrivals = tuple(10**9 + skew for skew in skews)
        for member in range(len(skews)):
            ends, tasks = schedule(Exchange(type_, size, members, "s"), arrivals, Topology(CHIP), member)
            assert arrivals[member] == tasks[0].start
            assert max(task.start + task.dur for task in tasks) <= ends[member]
            assert max(task.plane for task in tasks) < planes(type_, members, Topology(CHIP))
            for plane in {task.plane for task in tasks}:
                rows = sorted((t.start, t.start + t.dur) for t in tasks if t.plane == plane)
                assert all(a[1] <= b[0] for a, b in zip(rows, rows[1:]))


@pytest.mark.parametrize(("type_", "phases"), [("hcom_allReduce_", 2), ("hcom_allGather_", 1)])
def test_each_member_moves_its_share_once_per_peer_and_phase(type_: str, phases: int) -> None:
    for members in (MESH, RING):
        count = len(members)
        _, tasks = schedule(Exchange(type_, SIZE, members, "x"), (10**9,) * count, Topology(CHIP), 1)
        moved = sum(task.size for task in tasks if task.link != "ON_CHIP")
        assert moved == phases * (count - 1) * (SIZE // count)


@pytest.mark.parametrize(
    ("count", "share", "last"),
    [
        (4_097_000, 2_064_384, 1_937_312),
        (16_781_312, 8_404_992, 8_290_304),
        (37_752_832, 18_890_752, 18_776_064),
        (2_469_696, 1_245_184, 1_162_496),
    ],
)
def test_an_all_reduce_has_the_tasks_of_a_real_910b(count: int, share: int, last: int) -> None:
    """Counts of the operators of the public sample (FP32, 8 ranks) and the sizes of their tasks on rank 0."""
    _, tasks = schedule(Exchange("hcom_allReduce_", 4 * count, MESH, "x"), (10**9,) * 8, Topology(CHIP), 0)
    for name in ("Reduce_Inline", "Memcpy"):
        moves = {task.dst: task.size for task in tasks if task.name == name and task.link == "HCCS"}
        assert moves == {**dict.fromkeys(range(1, 7), share), 7: last}
    own = [(task.name, task.size) for task in tasks if task.plane == 0]
    assert own == [("Reduce_Inline", 4), ("Memcpy", share), ("Memcpy", share), ("Reduce_Inline", 4)]
    names = [task.name for task in tasks if task.plane]
    assert (names.count("Notify_Record"), names.count("Notify_Wait")) == (28, 28)
    # on plane 1 the next rank comes first, in the second phase the one before
    assert [task.dst for task in tasks if task.plane == 1 and task.size] == [1, 7]
    assert len({(task.name, task.dst, task.notify) for task in tasks if task.notify}) == 28  # both phases use the same


@pytest.mark.parametrize("members", [MESH, RING])
def test_few_bytes_are_not_divided(members: tuple[int, ...]) -> None:
    _, tasks = schedule(Exchange("hcom_allReduce_", 4, members, "x"), (10**9,) * len(members), Topology(CHIP), 1)
    assert {task.size for task in tasks if task.link in ("HCCS", "RDMA")} == {4}
    assert sum(task.link in ("HCCS", "RDMA") for task in tasks) == len(members) - 1


def test_shares_are_the_whole(members: tuple[int, ...] = MESH) -> None:
    for size in (140_001, 300_000, 1 << 20):
        _, tasks = schedule(Exchange("hcom_allReduce_", size, members, "x"), (10**9,) * 8, Topology(CHIP), 0)
        first = sum(task.size for task in tasks if task.name == "Reduce_Inline" and task.link == "HCCS")
        own = next(task.size for task in tasks if task.name == "Memcpy" and task.link == "ON_CHIP")
        assert first + own == size


def test_links_follow_the_chip() -> None:
    links = {name: [Topology(CHIPS[name]).link(0, other) for other in (1, 4, 8, 400)] for name in CHIPS}
    assert links["910B2"] == ["HCCS", "HCCS", "RDMA", "RDMA"]
    assert links["910A"] == ["HCCS", "PCIE", "RDMA", "RDMA"]
    assert links["910_93"] == ["SIO", "HCCS", "HCCS", "RDMA"]
    assert links["910B4"] == ["HCCS", "HCCS", "RDMA", "RDMA"]
    assert links["310P"] == ["PCIE", "PCIE", "RDMA", "RDMA"]


def test_a_slow_link_is_slow_both_ways_and_no_other() -> None:
    plain, slow = Topology(CHIP), Topology(CHIP, {(2, 5): 4.0})
    for one in MESH:
        for other in MESH:
            if one != other:
                factor = 4 if {one, other} == {2, 5} else 1
                times = [topology.move_ns(one, other, SIZE, False) for topology in (plain, slow)]
                assert times[1] == pytest.approx(factor * times[0], rel=1e-6)


@pytest.mark.parametrize(("one", "other", "link"), [(0, 1, "HCCS"), (0, 8, "RDMA")])
def test_a_transfer_moves_once_and_the_other_side_waits(one: int, other: int, link: str) -> None:
    exchange = Exchange("hcom_send_", SIZE, (one, other), "x")
    arrivals = (10**9, 10**9 + 4_000_000)
    sides = [schedule(exchange, arrivals, Topology(CHIP), member)[1] for member in (0, 1)]
    moves = [[task for task in tasks if task.link == link] for tasks in sides]
    assert sorted(len(tasks) for tasks in moves) == [0, 1]
    (move,) = moves[0] + moves[1]
    assert move.size == SIZE and move.start > arrivals[1]
    assert max(task.dur for task in sides[0] if task.name == "Notify_Wait") > 3_000_000


def test_bandwidth_is_of_the_order_of_a_real_910b() -> None:
    """Medians of the tasks of the public sample, in GB/s: plain moves, and those that reduce."""
    topology = Topology(CHIP)
    for size, plain, reducing in (
        (1_245_184, 15.5, 13.4),
        (2_064_384, 16.4, 15.0),
        (8_404_992, 14.7, 11.4),
        (18_890_752, 20.0, 14.6),
    ):
        assert size / topology.move_ns(0, 1, size, False) == pytest.approx(plain, rel=0.2)
        assert size / topology.move_ns(0, 1, size, True) == pytest.approx(reducing, rel=0.2)


def test_a_few_bytes_take_a_few_us() -> None:
    assert 3_000 < Topology(CHIP).move_ns(0, 1, 512, False) < 12_000


@pytest.mark.parametrize("count", [2, 3, 17])
def test_a_ring_goes_on_when_the_member_before_has_gone_on(count: int) -> None:
    """Recomputed member by member: no round of anybody begins before its own last one and that of the one before it."""
    members = tuple(range(0, 8 * count, 8))  # one a node
    arrivals = tuple(1_000_000 + 7_919 * number * number % 50_000 for number in range(count))
    found = []
    for member in range(count):
        ends, tasks = schedule(Exchange("hcom_allReduce_", 1 << 20, members, "s"), arrivals, Topology(CHIP), member)
        found.append([task for task in tasks if task.name == "RDMASend"])
        assert max(task.start + task.dur for task in tasks) <= ends[member]
    assert {len(moves) for moves in found} == {2 * (count - 1)}
    for member in range(count):
        for number, move in enumerate(found[member]):
            assert (move.src, move.dst) == (member, (member - 1) % count)
            if number:
                own, before = found[member][number - 1], found[member - 1][number - 1]
                ready, told = own.start + own.dur + 100 + 940, before.start + before.dur + 100 + 6_000
                assert move.start == max(ready, told)
