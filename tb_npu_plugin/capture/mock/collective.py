"""The communication of torch.distributed on the device: this rank is recorded, the others are assumed to arrive with it."""

from __future__ import annotations

import hashlib
from math import prod
from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.kineto import Signature
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import Exchange, planes, schedule
from tb_npu_plugin.capture.simulation.device import Device
from tb_npu_plugin.capture.simulation.kernels import TYPES
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import Group, HostOp
from tb_npu_plugin.capture.simulation.topology import Topology

_WORLD = "world"
#: Operators of torch.distributed -> those of the device. Their names end in "_" or not, by the release of PyTorch.
_TYPES = {
    "c10d::allreduce": "hcom_allReduce_", "c10d::allreduce_coalesced": "hcom_allReduce_",
    "c10d::allgather": "hcom_allGather_", "c10d::_allgather_base": "hcom_allGather_",
    "c10d::reduce_scatter": "hcom_reduceScatter_", "c10d::_reduce_scatter_base": "hcom_reduceScatter_",
    "c10d::broadcast": "hcom_broadcast_", "c10d::alltoall": "hcom_alltoall_", "c10d::alltoall_base": "hcom_alltoall_",
}  # fmt: skip
#: ns by which ranks arrive apart, at most.
_SKEW = 120_000


class Peers:
    """The groups of this rank. PyTorch's profiler does not tell the group of an operator: it is that of all ranks."""

    def __init__(self, settings: Settings, chip: Chip) -> None:
        self._topology = Topology(chip)
        self.groups: list[Group] = []
        self._count = 0
        for name, group in settings.groups.items():
            ranks = tuple(group["global_ranks"])
            self._add(name, str(group["group_name"]), ranks, int(group["group_rank"]))
        if not self.groups and settings.world > 1 and settings.rank is not None and settings.rank < settings.world:
            self._add("simulated", "default_group", tuple(range(settings.world)), settings.rank)

    def _add(self, name: str, role: str, ranks: tuple[int, ...], rank: int) -> None:
        id_ = str(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
        used = len(ranks) > 1 and not any(group.planes for group in self.groups)
        rows = planes("hcom_allReduce_", ranks, self._topology) if used else 0
        self.groups.append(Group(len(self.groups), id_, ranks, rank, rows, name, role))

    def _group(self) -> Group | None:
        return next((group for group in self.groups if group.planes), None)

    def transfer(self, signature: Signature) -> Transfer | None:
        """The communication of an operator; None for one that does not communicate."""
        type_ = _TYPES.get(signature.name.rstrip("_"))
        if type_ is None or self._group() is None:
            return None
        item = TYPES.get(signature.tensors[0][1], ("", 4))[1] if signature.tensors else 4
        size = item * sum(prod(shape) for shape, _ in signature.tensors)
        return Transfer(_WORLD, type_, max(size, item), item)

    def communicate(self, device: Device, transfer: Transfer, op: HostOp, start: int, end: int) -> None:
        """Launch it, and let the compute stream wait for it."""
        group = self._group()
        assert group is not None
        arrival = device.arrive(transfer.type, group.index, op, start, end)
        exchange = Exchange(transfer.type, transfer.size, group.ranks, f"{group.id}/{self._count}")
        random = Random(exchange.seed)
        skews = [random.randrange(_SKEW) for _ in group.ranks]
        arrivals = tuple(arrival.at + skew - skews[group.rank] for skew in skews)
        ends, tasks = schedule(exchange, arrivals, self._topology, group.rank)
        name = f"{transfer.type}_{group.id[-3:]}_{self._count}_1"
        self._count += 1
        device.communicate(name, transfer.type, exchange, group, arrival, ends[group.rank], transfer.item, tasks)
        device.wait_for(group.index)
