"""Communication of torch.distributed, one rank alone."""

from __future__ import annotations

from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.collective import Peers
from tb_npu_plugin.capture.mock.kineto import Signature
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.device import Device
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment

CHIP = CHIPS[DEFAULT_CHIP]
ALL_REDUCE = Signature("c10d::allreduce_", (((1024, 4), "float"),))


def test_a_process_stands_for_one_rank_of_eight() -> None:
    peers = Peers(Settings(rank=3, world=8), CHIP)
    transfer = peers.transfer(ALL_REDUCE)
    assert transfer is not None and (transfer.type, transfer.size) == ("hcom_allReduce_", 16384)
    device = Device(CHIP, Random(1), 0, 9, False, 1.0)
    device.segment = Segment()
    peers.communicate(device, transfer, HostOp(OpInfo("c10d::allreduce_"), 1, 1000, 90_000), 1100, 2000)
    (op,) = device.segment.comm
    assert op.group.ranks == tuple(range(8)) and op.group.rank == 3
    assert {task.dst for task in op.planes if task.link == "HCCS"} == set(range(8)) - {3}
    assert device.segment.tasks[-1].kernel.name == "EVENT_WAIT" and device.segment.tasks[-1].end >= op.end


def test_groups_are_those_of_torch_distributed() -> None:
    groups = {"a_gloo_0": {"group_name": "default_group", "group_rank": 1, "global_ranks": [0, 1]}}
    peers = Peers(Settings(rank=1, world=2, groups=groups), CHIP)
    assert [(group.name, group.ranks, group.rank, group.planes) for group in peers.groups] == [
        ("a_gloo_0", (0, 1), 1, 2)
    ]


def test_alone_nothing_communicates() -> None:
    assert Peers(Settings(), CHIP).transfer(ALL_REDUCE) is None
    assert Peers(Settings(rank=0, world=2), CHIP).transfer(Signature("c10d::barrier")) is None
