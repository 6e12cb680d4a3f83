"""Works of gloo beside the operators that began them, and types of tensors in lists."""

from __future__ import annotations

from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.collective import Peers
from tb_npu_plugin.capture.mock.host import HostData
from tb_npu_plugin.capture.mock.kineto import LIST, Call, Recorded, Signature
from tb_npu_plugin.capture.mock.works import name_list_types, works_of
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment, Task

MAIN, GLOO, BF16 = 1, 99, "c10::BFloat16"
CHIP = CHIPS[DEFAULT_CHIP]
MS = 1_000_000


def call(name: str, start: int, end: int, *tensors: tuple[tuple[int, ...], str], tid: int = MAIN) -> Call:
    return Call(start, end, tid, Signature(name, tensors))


def work(name: str, start: int, end: int, type_: str = BF16) -> Call:
    return call(f"gloo:{name}", start, end, ((8,), type_), tid=GLOO)


def test_works_come_in_the_order_of_the_operators_of_their_kind() -> None:
    calls = [call("c10d::broadcast_", 10, 20), call("c10d::allreduce_", 30, 40), call("c10d::allreduce_", 50, 60)]
    begun = [
        work("all_reduce", 70, 90),
        work("all_reduce", 35, 80),
        work("broadcast", 45, 46),
        work("all_reduce", 5, 29),
    ]
    found = works_of(calls, begun)
    assert {place: (one.start, one.end) for place, one in found.items()} == {
        (MAIN, 10): (45, 46),
        (MAIN, 30): (35, 80),
        (MAIN, 50): (70, 90),
    }, "the one before the first operator is of a call that was not recorded"


def test_an_operator_with_a_work_for_each_tensor_is_done_with_the_last() -> None:
    shapes = (((4,), "float"), ((2,), "float"), ((8,), "float"), ((4,), "float"))
    calls = [call("c10d::reduce_scatter_tensor_coalesced_", 10, 90, *shapes), call("c10d::allreduce_", 100, 110)]
    found = works_of(calls, [work("all_reduce", 20, 30), work("all_reduce", 40, 80), work("all_reduce", 105, 140)])
    assert [one.end for one in found.values()] == [80, 140]


def named(*calls: Call, works: tuple[Call, ...] = ()) -> list[tuple[str, ...]]:
    recorded = Recorded(list(calls), list(works))
    name_list_types(recorded)
    return [tuple(type_ for _, type_ in one.signature.tensors) for one in recorded.calls]


def test_the_type_of_a_list_is_that_of_the_work_of_gloo() -> None:
    reduce = call("c10d::allreduce_", 10, 20, ((8,), LIST))
    assert named(call("aten::add", 0, 5, ((8,), "float")), reduce, works=(work("all_reduce", 12, 40),)) == [
        ("float",),
        (BF16,),
    ]


def test_or_that_of_a_tensor_of_its_shape_beside_it() -> None:
    cat = call("aten::cat", 10, 20, ((8,), LIST), ((4,), LIST))
    before = call("aten::mm", 0, 5, ((8,), BF16), ((3,), "float"))
    inside = call("aten::add_", 12, 15, ((8,), "c10::Half"))
    elsewhere = call("aten::add_", 6, 7, ((8,), "double"), tid=2)
    assert named(before, elsewhere, cat)[-1] == (BF16, BF16)
    assert named(before, cat, inside)[1] == ("c10::Half", "c10::Half")
    other_shape = call("aten::mm", 0, 5, ((9,), "long int"), ((3,), BF16))
    assert named(other_shape, cat)[-1] == (BF16, BF16), "the last floating point type"
    assert named(cat) == [("float", "float")]


def reduced(end_of_work: int | None, waits: list[tuple[int, int, int]]) -> tuple[Segment, Peers, RecordedDevice]:
    """An all-reduce of two ranks that this one reaches at 10 ms."""
    one = call("c10d::allreduce_", 10 * MS, 10 * MS + 100, ((1024,), BF16))
    works = [] if end_of_work is None else [work("all_reduce", 10 * MS + 50, end_of_work)]
    group = {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1]}
    note = (10 * MS - 20, 10 * MS + 200, MAIN, "all")
    data = HostData(Settings(rank=0, world=2, groups={"all": group}), 1, 0, 0, communication=[note], waits=waits)
    peers = Peers(data.settings, CHIP, data, [one], works)
    device = RecordedDevice(CHIP, Random(1), 0, 9, runtime=False)
    transfer = peers.transfer(one)
    assert transfer is not None
    peers.communicate(
        device, transfer, HostOp(OpInfo(""), MAIN, one.start, one.end), one, one.start, one.end, later=False
    )
    return device.segment, peers, device


def waited(segment: Segment) -> int:
    (op,) = segment.comm
    return max(task.dur for task in op.planes if task.name == "Notify_Wait")


def test_the_device_waits_for_others_as_long_as_gloo_did() -> None:
    assert 29 * MS < waited(reduced(40 * MS, [])[0]) < 30 * MS
    assert waited(reduced(10 * MS + 200_000, [])[0]) < 100_000, "all had arrived before"
    assert waited(reduced(None, [])[0]) < 200_000


def test_the_compute_stream_waits_where_the_script_does() -> None:
    def rows(segment: Segment) -> list[Task]:
        return [task for task in segment.tasks if task.kernel.name == "EVENT_WAIT"]

    segment, peers, device = reduced(40 * MS, [(30 * MS, MAIN, 10 * MS - 20)])
    assert not rows(segment)
    peers.waits.until(device, 29 * MS)
    assert not rows(segment)
    peers.waits.until(device, 31 * MS)
    (row,) = rows(segment)
    assert row.end >= segment.comm[0].end
    segment, peers, device = reduced(40 * MS, [(30 * MS, MAIN, 5)])
    peers.waits.until(device, 99 * MS)
    assert not rows(segment), "it is waited for another one only"
    assert rows(reduced(40 * MS, [])[0]), "no wait was noted: at once"
