"""Samples of the links: every byte once, in the time in which it moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.collectives import Exchange, in_group, schedule
from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.links import PIECE, LinkMeters
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.records import (
    RECEIVE,
    SEND,
    CommOp,
    Group,
    HostOp,
    OpInfo,
    Process,
    Segment,
    Task,
)
from tb_npu_plugin.capture.simulation.samples import LinkSample
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.schema.link_files import SYS_INTERCONNECTION_EVERY as EVERY

START, END = 10**18, 1 << 63
MS = 1_000_000


def process(chip: str = "910A", world: int = 16) -> Process:
    return Process(1, 0, 0, world, START, START + 60 * MS, soc=CHIPS[chip].soc)


def meters(chip: str = "910A", world: int = 16) -> LinkMeters:
    return LinkMeters(process(chip, world), io=True, interconnection=True)


def copy(start: int, dur: int, size: int, to_host: bool = False) -> Task:
    return Task(COPIES[to_host], START + start, dur, 2, 1, 1, size=size)


def operator(type_: str, size: int, members: tuple[int, ...], member: int, chip: str = "910A") -> CommOp:
    """One of rank members[member]; of two, the first one sends."""
    kind = SEND if type_ in (SEND, RECEIVE) else type_
    exchange = Exchange(kind, size, members, "x")
    arrivals = tuple(START + 1_000 * number for number in range(len(members)))
    ends, tasks = schedule(exchange, arrivals, Topology(CHIPS[chip]), member)
    return operation(type_, in_group(tasks, exchange, members), ends[member])


def operation(type_: str, tasks: Planes, end: int) -> CommOp:
    group = Group(0, "1", (0, 1), 0, 1)
    return CommOp("op", type_, group, START, end - START, 1, START, 1, 1, tasks, HostOp(OpInfo("op"), 1, START))


def totals(samples: list[LinkSample]) -> Counter[tuple[str, str]]:
    """Bytes by link and kind, without the requests."""
    out: Counter[tuple[str, str]] = Counter()
    for sample in samples:
        for kind, moved in sample.moved.items():
            if "nonpost" not in kind:
                out[sample.link, kind] += moved.total
    return +out


@given(st.lists(st.tuples(st.integers(0, 59 * MS), st.integers(0, 50 * MS), st.integers(1, 1 << 40)), max_size=8))
def test_no_byte_is_lost(moves: list[tuple[int, int, int]]) -> None:
    found = meters().take(Segment(until=END, tasks=[copy(*move) for move in moves]))
    assert totals(found)["PCIe", "rx_cpl"] == sum(size for _, _, size in moves)
    times = [sample.at for sample in found if sample.link == "PCIe"]
    assert times == [START + EVERY * number for number in range(1, len(times) + 1)]
    assert times[-1] >= max([START + 60 * MS, *(START + start + dur for start, dur, _ in moves)])


def test_bytes_are_in_the_window_in_which_they_moved() -> None:
    """10 ms before the end of a window, 30 ms behind it: a quarter, two quarters, a quarter."""
    found = meters().take(Segment(until=END, tasks=[copy(10 * MS, 40 * MS, 4_000_000)]))
    moved = [sample.moved["rx_cpl"] for sample in found if sample.link == "PCIe"]
    assert [one.total for one in moved] == [1_000_000, 2_000_000, 1_000_000]
    each = 4_000_000 * PIECE // (40 * MS)
    assert [(one.least, one.most) for one in moved] == [(0, each), (each, each), (0, each)]


def test_what_lasts_goes_into_the_samples_of_later_segments() -> None:
    meter = meters()
    first = meter.take(Segment(until=START + 25 * MS, tasks=[copy(10 * MS, 40 * MS, 4_000_000)]))
    last = meter.take(Segment(until=END, tasks=[copy(55 * MS, MS, 7)]))
    assert (
        max(sample.at for sample in first)
        <= START + 25 * MS
        < min(sample.at for sample in last if sample.link == "PCIe")
    )
    assert totals([*first, *last]) == {("PCIe", "rx_cpl"): 4_000_007}
    assert [sample.at for sample in last] == sorted(sample.at for sample in last)


def test_copies_in_both_directions() -> None:
    found = meters().take(Segment(until=END, tasks=[copy(0, MS, 640), copy(MS, MS, 50, to_host=True)]))
    assert totals(found) == {("PCIe", "rx_cpl"): 640, ("PCIe", "tx_post"): 50}
    assert sum(sample.moved["tx_nonpost"].total for sample in found if sample.link == "PCIe") == 640 // 32


#: Members of a collective, which one, over which links it receives and sends.
RINGS = [
    ((0, 1, 2, 3), 1, "HCCS", "HCCS"),
    ((1, 3, 5, 7, 9, 11, 13, 15), 2, "PCIe", "HCCS"),
    ((1, 3, 5, 7, 9, 11, 13, 15), 4, "RoCE", "HCCS"),
    ((1, 3, 5, 7, 9, 11, 13, 15), 3, "HCCS", "RoCE"),
]


@pytest.mark.parametrize(("members", "member", "receives", "sends"), RINGS)
def test_collectives(members: tuple[int, ...], member: int, receives: str, sends: str) -> None:
    size = 1 << 20
    found = totals(meters().take(Segment(until=END, comm=[operator("hcom_allGather_", size, members, member)])))
    share = size // len(members) * (len(members) - 1)
    for link, way in ((receives, "rx"), (sends, "tx")):
        assert found[link, f"{way}_cpl" if link == "PCIe" else way] == share
    if "RoCE" in (receives, sends):
        assert {way: found["NIC", way] for way in ("rx", "tx")} == {way: found["RoCE", way] for way in ("rx", "tx")}
    assert sum(size for (link, _), size in found.items() if link != "NIC") == 2 * share


def test_an_all_reduce_moves_each_share_twice() -> None:
    found = totals(
        meters("910B2").take(Segment(until=END, comm=[operator("hcom_allReduce_", 1 << 20, (0, 1), 0, "910B2")]))
    )
    assert found == {("HCCS", "rx"): 1 << 20, ("HCCS", "tx"): 1 << 20}


@pytest.mark.parametrize("size", [3 * (16 << 10) + 512, 4 * (16 << 10), (16 << 10) + 1, 700])
def test_shares_that_are_not_equal(size: int) -> None:
    """Each member gets its share of all others and theirs as they are, and sends as much: a small tensor moves whole."""
    members = (0, 1, 2)
    both = [
        totals(
            meters("910B2").take(Segment(until=END, comm=[operator("hcom_allReduce_", size, members, one, "910B2")]))
        )
        for one in members
    ]
    assert all(found["HCCS", "rx"] == found["HCCS", "tx"] > 0 for found in both)
    assert sum(found["HCCS", "rx"] for found in both) == (4 * size if size > 3 * (16 << 10) else 6 * size)


#: Ranks, and the link between them.
PAIRS = [((0, 1), "HCCS", ""), ((0, 5), "PCIe", "_cpl"), ((0, 9), "RoCE", "")]


@pytest.mark.parametrize(("ranks", "link", "kind"), PAIRS)
def test_two_ranks(ranks: tuple[int, ...], link: str, kind: str) -> None:
    """What one sends the other receives, at the same time: also the one that only waits in its tasks."""
    both = [
        meters().take(Segment(until=END, comm=[operator(type_, 3 << 20, ranks, member)]))
        for member, type_ in enumerate((SEND, RECEIVE))
    ]
    assert totals(both[0])[link, f"tx{kind}"] == totals(both[1])[link, f"rx{kind}"] == 3 << 20
    assert len(totals(both[0])) == len(totals(both[1])) == 1 + (link == "RoCE")
    for sent, received in zip(*both):
        if sent.link == link:
            assert sent.moved[f"tx{kind}"] == received.moved[f"rx{kind}"]


@pytest.mark.parametrize(
    ("chip", "world", "links"),
    [
        ("910B2", 8, {"NIC", "RoCE", "PCIe", "HCCS"}),
        ("910B2", 1, {"NIC", "RoCE", "PCIe"}),
        ("310P", 8, {"NIC", "PCIe"}),
        ("910_93", 2, {"NIC", "RoCE", "PCIe", "HCCS"}),
    ],
)
def test_which_links_a_chip_has(chip: str, world: int, links: set[str]) -> None:
    assert {sample.link for sample in meters(chip, world).take(Segment(until=END))} == links


def test_only_what_is_switched_on() -> None:
    one = LinkMeters(process(), io=False, interconnection=True).take(Segment(until=END))
    assert {sample.link for sample in one} == {"PCIe", "HCCS"} and {sample.every for sample in one} == {20 * MS}
    other = LinkMeters(replace(process()), io=True, interconnection=False).take(Segment(until=END))
    assert {sample.link for sample in other} == {"NIC", "RoCE"} and {sample.every for sample in other} == {10 * MS}
