"""Communication of torch.distributed, one rank alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.collective import Peers
from tb_npu_plugin.capture.mock.groups import Groups
from tb_npu_plugin.capture.mock.host import Batch, Communication, HostData
from tb_npu_plugin.capture.mock.kineto import Call, Signature
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice
from tb_npu_plugin.capture.simulation.records import CommOp, HostOp, OpInfo, Segment

CHIP = CHIPS[DEFAULT_CHIP]
MAIN = 1
ALL = {"group_name": "default_group", "group_rank": 2, "global_ranks": [0, 1, 2, 3]}
HALF = {"group_name": "1", "group_rank": 0, "global_ranks": [2, 3]}
GROUPS = {"all": ALL, "half": HALF}


def call(name: str, start: int, *shapes: tuple[int, ...], tid: int = MAIN) -> Call:
    """An operator of 100 ns."""
    return Call(start, start + 100, tid, Signature(name, tuple((shape, "float") for shape in shapes)))


def peers_of(settings: Settings, notes: list[Communication], *calls: Call, batches: tuple[Batch, ...] = ()) -> Peers:
    data = HostData(settings, 1, 0, 0, communication=notes, batches=list(batches))
    return Peers(settings, CHIP, data, list(calls), [])


def run(settings: Settings, notes: list[Communication], *calls: Call) -> tuple[Segment, Peers]:
    peers = peers_of(settings, notes, *calls)
    device = RecordedDevice(CHIP, Random(1), 0, 9, runtime=False)
    for one in calls:
        transfer = peers.transfer(one)
        assert transfer is not None
        op = HostOp(OpInfo(one.signature.name), one.tid, one.start, one.end)
        peers.communicate(device, transfer, op, one, one.start + 1, one.end - 1, later=False)
    return device.segment, peers


def four(notes: list[Communication], *calls: Call) -> Sequence[CommOp]:
    """What rank 2 of four does."""
    return run(Settings(rank=2, world=4, groups=GROUPS), notes, *calls)[0].comm


def test_a_process_stands_for_one_rank_of_eight() -> None:
    segment, _ = run(Settings(rank=3, world=8), [], call("c10d::allreduce_", 1000, (1024, 4)))
    (op,) = segment.comm
    assert op.group.ranks == tuple(range(8)) and op.group.rank == 3 and op.count == 4096
    assert {task.dst for task in op.planes if task.link == "HCCS"} == set(range(8)) - {3}
    assert segment.tasks[-1].kernel.name == "EVENT_WAIT" and segment.tasks[-1].end >= op.end


def test_alone_nothing_communicates() -> None:
    one = call("c10d::allreduce_", 0, (8,))
    assert peers_of(Settings(), [], one).transfer(one) is None
    view = call("aten::view", 0, (8,))
    assert peers_of(Settings(rank=0, world=2), [], view).transfer(view) is None


def test_an_operator_belongs_to_the_group_whose_note_it_is_in() -> None:
    notes: list[Communication] = [(0, 990, MAIN, "all"), (995, 1105, MAIN, "half"), (3000, 3200, 77, "half")]
    calls = [call("c10d::allreduce_", at, (8,)) for at in (500, 1000, 2000, 3050)]
    ops = four(notes, *calls)
    assert [op.group.name for op in ops] == ["all", "half", "all", "all"], "the last note is of another thread"
    assert [op.name.split("__")[1].split("_", 1)[1] for op in ops] == ["0_1", "0_1", "1_1", "2_1"]
    assert [op.group.planes for op in ops] == [4, 2, 4, 4]


def test_what_no_note_tells_belongs_to_the_last_parallel_model() -> None:
    notes: list[Communication] = [(500, None, 5, "half"), (1000, 1200, MAIN, "all")]
    ops = four(notes, *(call("c10d::allreduce_", at, (8,)) for at in (100, 1050, 1300)))
    assert [op.group.name for op in ops] == ["all", "all", "half"]


def test_groups_that_do_not_communicate_have_no_rows() -> None:
    _, peers = run(Settings(rank=2, world=4, groups=GROUPS), [], call("c10d::barrier", 0))
    assert [(group.name, group.planes) for group in peers.groups] == [("all", 4), ("half", 0)]


@pytest.mark.parametrize(
    ("name", "shapes", "type_", "elements", "count"),
    [
        ("c10d::allgather_", [(10,)], "hcom_allGather_", 40, 10),
        ("c10d::allgather_coalesced_", [(10,), (2,)], "hcom_allGather_", 48, 12),
        ("c10d::gather_", [(10,)], "hcom_allGather_", 40, 10),
        ("c10d::_allgather_base_", [(40,), (10,)], "hcom_allGather_", 40, 10),
        ("c10d::_reduce_scatter_base_", [(10,), (40,)], "hcom_reduceScatter_", 40, 10),
        ("c10d::alltoall_base_", [(40,), (40,)], "hcom_alltoall_", 40, 10),
        ("c10d::alltoall_", [(10,)] * 4 + [(20,)] * 4, "hcom_alltoallv_", 80, 80),
        ("c10d::scatter_", [(10,)], "hcom_scatter_", 40, 10),
        ("c10d::allreduce_coalesced_", [(10,), (20,)], "hcom_allReduce_", 30, 30),
        ("c10d::reduce_", [(10,)], "hcom_reduce_", 10, 10),
        ("c10d::barrier", [(1,)], "hcom_allReduce_", 1, 1),
    ],
)
def test_the_size_is_that_of_the_whole(
    name: str, shapes: list[tuple[int, ...]], type_: str, elements: int, count: int
) -> None:
    one = call(name, 0, *shapes)
    transfer = peers_of(Settings(rank=2, world=4, groups=GROUPS), [], one).transfer(one)
    assert transfer is not None and (transfer.size, transfer.data_type) == (elements * 4, "FP32")
    (op,) = four([], one)
    assert (op.type, op.count) == (type_, count)


@pytest.mark.parametrize(
    ("element", "data_type", "size"),
    [
        ("c10::BFloat16", "BFP16", 16),
        ("c10::Half", "FP16", 16),
        ("double", "FP64", 64),
        ("long int", "INT64", 64),
        ("int", "INT32", 32),
        ("short int", "INT16", 16),
        ("signed char", "INT8", 8),
        ("bool", "UINT8", 8),
    ],
)
def test_types_of_elements(element: str, data_type: str, size: int) -> None:
    one = Call(0, 100, MAIN, Signature("c10d::broadcast_", (((8,), element),)))
    (op,) = four([], one)
    assert (op.data_type, op.count) == (data_type, 8)
    transfer = peers_of(Settings(rank=2, world=4, groups=GROUPS), [], one).transfer(one)
    assert transfer is not None and transfer.size == size


def test_an_all_to_all_with_sizes_is_another_operator() -> None:
    sizes = ("", "", "", "[1, 7]", "[4, 4]", "False", "-1")
    one = Call(0, 100, MAIN, Signature("c10d::alltoall_base_", (((8,), "float"), ((8,), "float")), sizes))
    (op,) = run(Settings(rank=0, world=2), [], one)[0].comm
    assert (op.type, op.count) == ("hcom_alltoallv_", 8)


def test_two_ranks_of_a_larger_group_get_a_communicator() -> None:
    groups = Groups(GROUPS)
    assert [groups.of("all", 0), groups.of("all", 3), groups.of("all", None)] == ["all_0_2", "all_2_3", "all"]
    assert groups.of("half", 1) == "half", "two ranks need no other"
    assert groups.of("new", 1) == "new", "made after the capture was prepared"
    assert groups.known["all_0_2"] == {"group_name": "p2p", "group_rank": 1, "global_ranks": [0, 2]}
    assert groups.known["all_2_3"] == {"group_name": "p2p", "group_rank": 0, "global_ranks": [2, 3]}


def test_sends_and_receives() -> None:
    notes: list[Communication] = [(0, 200, MAIN, "half"), (900, 1200, MAIN, "half"), (1900, 2200, MAIN, "half")]
    calls = (call("c10d::send", 50, (256,)), call("c10d::recv_", 1000, (256,)), call("c10d::send", 2000, (256,)))
    ops = four(notes, *calls)
    assert [(op.name.split("__")[0], op.name[-3:]) for op in ops] == [
        ("hcom_send", "0_1"),
        ("hcom_receive", "0_1"),
        ("hcom_send", "1_1"),
    ]
    assert all(op.is_p2p and op.main == 0 and op.group.planes == 1 for op in ops)
    moves = [{(task.src, task.dst) for task in op.planes if task.link == "HCCS" and task.size} for op in ops]
    assert moves == [set(), {(0, 1)}, set()], "inside a server the receiver reads"
    assert all(op.start < op.end for op in ops)


def test_between_which_two_is_not_known() -> None:
    one = call("c10d::send", 0, (8,))
    assert peers_of(Settings(rank=2, world=4, groups=GROUPS), [], one).transfer(one) is None


def test_the_backward_pass_goes_on_while_gradients_are_reduced() -> None:
    one = call("c10d::allreduce_", 0, (1 << 20,))
    peers = peers_of(Settings(rank=2, world=4, groups=GROUPS), [], one)
    device = RecordedDevice(CHIP, Random(1), 0, 9, runtime=False)
    transfer = peers.transfer(one)
    assert transfer is not None
    for start in (1000, 3000):
        op = HostOp(OpInfo(""), MAIN, start, start + 900)
        peers.communicate(device, transfer, op, one, start, start + 800, later=True)
    assert not device.segment.tasks
    peers.waits.backward_is_over(device)
    peers.waits.backward_is_over(device)
    (wait,) = device.segment.tasks
    assert wait.kernel.name == "EVENT_WAIT" and wait.end >= device.segment.comm[-1].end


def test_a_functional_collective_belongs_to_the_group_that_was_looked_up_before() -> None:
    around = Call(990, 1200, MAIN, Signature("_c10d_functional::all_reduce", (((8,), "float"),)))
    notes: list[Communication] = [(100, 100, MAIN, "all"), (980, 980, MAIN, "half"), (995, 995, 77, "all")]
    inside, after = call("c10d::allreduce_", 1000, (8,)), call("c10d::allreduce_", 1300, (8,))
    peers = peers_of(Settings(rank=2, world=4, groups=GROUPS), notes, around, inside, after)
    transfers = [peers.transfer(one) for one in (inside, after)]
    assert [transfer and transfer.group for transfer in transfers] == ["half", "all"], "the other one is not inside"
    assert peers.transfer(around) is None, "the operator inside communicates"


def functional(name: str, start: int, *sizes: int) -> list[Call]:
    """A functional collective of 100 ns with the operator inside it."""
    inside = call(name, start + 10, *((size,) for size in sizes))
    return [Call(start, start + 150, MAIN, Signature("_c10d_functional::some")), inside]


def test_the_device_waits_for_the_functional_collective_whose_result_is_waited_for() -> None:
    first, second = functional("c10d::_allgather_base_", 1000, 64, 16), functional("c10d::allreduce_", 2000, 32)
    waits = [call("_c10d_functional::wait_tensor", at, (size,)) for at, size in ((5000, 32), (6000, 7), (9000, 64))]
    calls = [*first, *second, *waits]
    peers = peers_of(Settings(rank=2, world=4, groups=GROUPS), [], *calls)
    device = RecordedDevice(CHIP, Random(1), 0, 9, runtime=False)
    waited = []
    for one in (first[1], second[1]):
        transfer = peers.transfer(one)
        assert transfer is not None
        op = HostOp(OpInfo(""), MAIN, one.start, one.end)
        peers.communicate(device, transfer, op, one, one.start, one.end, later=False)
    gathered, reduced = (op.end for op in device.segment.comm)
    assert gathered < reduced and not device.segment.tasks
    for at in (4000, 5500, 7000, 9500):
        peers.waits.until(device, at)
        waited.append([task.end >= reduced for task in device.segment.tasks])
    assert waited == [[], [True], [True], [True]], "the last one waits for what was done before"


def test_a_batch_of_sends_and_receives_is_one_operator() -> None:
    def one(name: str, start: int, peer: int, size: int) -> Call:
        return Call(start, start + 100, MAIN, Signature(name, (((size,), "float"),), ("", "", str(peer), "0")))

    calls = [one("c10d::send", 1000, 3, 4096), one("c10d::recv_", 1200, 0, 1024), one("c10d::recv_", 1400, 1, 2048)]
    settings = Settings(rank=2, world=4, groups=GROUPS)
    peers = peers_of(settings, [], *calls, batches=((990, 1600, MAIN),))
    transfers = [peers.transfer(each) for each in calls]
    assert transfers[:2] == [None, None], "the last one stands for all"
    (transfer,) = transfers[2:]
    assert transfer is not None and (transfer.type, transfer.size) == ("hcom_batchSendRecv_", 4 * (4096 + 1024 + 2048))
    device = RecordedDevice(CHIP, Random(1), 0, 9, runtime=False)
    peers.communicate(device, transfer, HostOp(OpInfo(""), MAIN, 1400, 1500), calls[2], 1400, 1490, later=False)
    (op,) = device.segment.comm
    assert op.is_p2p and op.name.split("__")[0] == "hcom_batchSendRecv" and op.group.planes == 2
    moves = {(task.plane, task.src, task.dst, task.size) for task in op.planes if task.link == "HCCS" and task.size}
    assert moves == {(1, 2, 0, 4 * 1024), (1, 2, 1, 4 * 2048)}, "the receiver reads; counted in the group"
    assert {task.plane for task in op.planes} == {0, 1} and op.main == 1
    assert all(op.start <= task.start and task.start + task.dur <= op.end for task in op.planes)
