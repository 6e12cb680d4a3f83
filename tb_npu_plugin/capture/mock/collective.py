"""The communication of torch.distributed on the device: this rank is recorded, the others are assumed to arrive with it."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from math import prod
from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.host import Communication
from tb_npu_plugin.capture.mock.kineto import Call, Signature
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import Exchange, in_group, planes, schedule
from tb_npu_plugin.capture.simulation.device import Device
from tb_npu_plugin.capture.simulation.kernels import TYPES
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND, Group, HostOp
from tb_npu_plugin.capture.simulation.topology import Topology

_REDUCE, _GATHER, _SCATTER = "hcom_allReduce_", "hcom_allGather_", "hcom_reduceScatter_"
#: Operators of torch.distributed -> those of the device. Their names end in "_" or not, by the release of PyTorch.
_TYPES = {
    "c10d::allreduce": _REDUCE, "c10d::allreduce_coalesced": _REDUCE, "c10d::barrier": _REDUCE,
    "c10d::reduce": "hcom_reduce_", "c10d::broadcast": "hcom_broadcast_", "c10d::scatter": "hcom_scatter_",
    "c10d::allgather": _GATHER, "c10d::_allgather_base": _GATHER, "c10d::allgather_into_tensor_coalesced": _GATHER,
    "c10d::reduce_scatter": _SCATTER, "c10d::_reduce_scatter_base": _SCATTER,
    "c10d::reduce_scatter_tensor_coalesced": _SCATTER,
    "c10d::alltoall": "hcom_alltoall_", "c10d::alltoall_base": "hcom_alltoall_",
    "c10d::send": SEND, "c10d::recv": RECEIVE,
}  # fmt: skip
#: Operators whose arguments are recorded for one rank only: the whole is as many times as large.
_OF_ONE = frozenset(("c10d::allgather", "c10d::reduce_scatter", "c10d::scatter"))
#: Operators with outputs and inputs, as many of each: one of both is the whole.
_BOTH = frozenset((
    "c10d::_allgather_base", "c10d::allgather_into_tensor_coalesced", "c10d::_reduce_scatter_base",
    "c10d::reduce_scatter_tensor_coalesced", "c10d::alltoall", "c10d::alltoall_base",
))  # fmt: skip
_DEFAULT = "default_group"
#: ns by which ranks arrive apart, at most.
_SKEW = 120_000


class Peers:
    """The groups of this rank. `notes` tell which group an operator of `calls` used; without one it is that of all ranks,
    or of the last note without an end."""

    def __init__(self, settings: Settings, chip: Chip, notes: Iterable[Communication], calls: Iterable[Call]) -> None:
        self._topology = Topology(chip)
        self._named: dict[str, Group] = {}
        self._notes = _Notes(notes)
        self._counts: Counter[tuple[int, str]] = Counter()
        self._waiting: list[int] = []
        for name, group in settings.groups.items():
            ranks = tuple(group["global_ranks"])
            self._add(name, str(group["group_name"]), ranks, int(group["group_rank"]))
        if not self._named and settings.world > 1 and settings.rank is not None and settings.rank < settings.world:
            self._add("simulated", _DEFAULT, tuple(range(settings.world)), settings.rank)
        larger = [group for group in self._named.values() if len(group.ranks) > 1]
        whole = [group for group in larger if group.group_name == _DEFAULT]
        self._default = next(iter(whole or larger), None)
        self._give_planes(calls)

    def _add(self, name: str, role: str, ranks: tuple[int, ...], rank: int) -> None:
        id_ = str(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
        self._named[name] = Group(len(self._named), id_, ranks, rank, 0, name, role)

    def _give_planes(self, calls: Iterable[Call]) -> None:
        """Rows for the groups that communicate."""
        rows: Counter[str] = Counter()
        for call in calls:
            type_ = _type(call.signature)
            group = None if type_ is None else self._group(call)
            if type_ is not None and group is not None:
                rows[group.name] = max(rows[group.name], planes(type_, group.ranks, self._topology))
        self._named = {name: replace(group, planes=rows[name]) for name, group in self._named.items()}

    @property
    def groups(self) -> list[Group]:
        """All of them."""
        return list(self._named.values())

    def _group(self, call: Call) -> Group | None:
        """Whose members communicate; None: nobody but this rank, or it is not known between which two."""
        name = self._notes.of(call)
        group = self._named.get(name) if name is not None else None
        group = group or self._default
        two = _type(call.signature) in (SEND, RECEIVE)
        return group if group is not None and (len(group.ranks) == 2 if two else len(group.ranks) > 1) else None

    def transfer(self, call: Call) -> Transfer | None:
        """The communication of an operator; None for one that does not communicate."""
        type_ = _type(call.signature)
        group = None if type_ is None else self._group(call)
        if type_ is None or group is None:
            return None
        tensors = call.signature.tensors
        item = TYPES.get(tensors[0][1], ("", 4))[1] if tensors else 4
        return Transfer(group.name, type_, max(_size(call.signature, item, len(group.ranks)), item), item)

    def communicate(self, device: Device, transfer: Transfer, op: HostOp, start: int, end: int, later: bool) -> None:
        """Launch it. The compute stream waits for it, now or where `wait` is called `later`."""
        group = self._named[transfer.group]
        arrival = device.arrive(transfer.type, group.index, op, start, end)
        exchange, number = self._exchange(transfer, group)
        member = exchange.members.index(group.ranks[group.rank])
        random = Random(exchange.seed)
        skews = [random.randrange(_SKEW) for _ in exchange.members]
        arrivals = tuple(arrival.at + skew - skews[member] for skew in skews)
        ends, tasks = schedule(exchange, arrivals, self._topology, member)
        tasks = in_group(tasks, exchange, group.ranks)
        name = f"{transfer.type}_{group.id[-3:]}_{number}_1"
        device.communicate(name, transfer.type, exchange, group, arrival, ends[member], transfer.item, tasks)
        self._waiting.append(group.index)
        if not later:
            self.wait(device)

    def wait(self, device: Device) -> None:
        """Let the compute stream wait for all communication before."""
        for index in dict.fromkeys(self._waiting):
            device.wait_for(index)
        self._waiting.clear()

    def _exchange(self, transfer: Transfer, group: Group) -> tuple[Exchange, int]:
        """The operator as all members see it, and how many like it came before: equal on all of them. Of two ranks the
        sender comes first."""
        two = transfer.type in (SEND, RECEIVE)
        key = (group.index, transfer.type if two else "")
        number = self._counts[key]
        self._counts[key] += 1
        members, type_, seed = group.ranks, transfer.type, f"{group.id}/{number}"
        if two:
            first = group.rank if transfer.type == SEND else 1 - group.rank
            members, type_, seed = (members[first], members[1 - first]), SEND, f"{group.id}/{first}/{number}"
        return Exchange(type_, transfer.size, members, seed), number


class _Notes:
    """Which group an operator used."""

    def __init__(self, notes: Iterable[Communication]) -> None:
        self._inside: dict[int, list[Communication]] = defaultdict(list)
        self._onward: list[Communication] = []
        for note in sorted(notes, key=lambda note: note[0]):
            (self._onward if note[1] is None else self._inside[note[2]]).append(note)
        self._starts = {id(found): [note[0] for note in found] for found in (self._onward, *self._inside.values())}

    def of(self, call: Call) -> str | None:
        """Name of a communicator; None: no note tells."""
        middle = (call.start + call.end) // 2  # the clock of the notes is not quite that of PyTorch
        found = self._before(self._inside.get(call.tid, self._onward), middle)
        if found is None or (found[1] is not None and middle > found[1]):
            found = self._before(self._onward, middle)
        return None if found is None else found[3]

    def _before(self, notes: list[Communication], at: int) -> Communication | None:
        """The last one that began before."""
        place = bisect_right(self._starts[id(notes)], at)
        return notes[place - 1] if place else None


def _type(signature: Signature) -> str | None:
    name = signature.name
    return _TYPES.get(name.rstrip("_")) if name.startswith("c10d::") else None


def _size(signature: Signature, item: int, members: int) -> int:
    """Bytes of the whole tensor."""
    name = signature.name.rstrip("_")
    if name == "c10d::barrier":
        return item
    sizes = [prod(shape) for shape, _ in signature.tensors]
    if name in _BOTH:
        half = len(sizes) // 2
        return item * max(sum(sizes[:half]), sum(sizes[half:]))
    return item * sum(sizes) * (members if name in _OF_ONE else 1)
