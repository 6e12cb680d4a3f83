"""The communication of torch.distributed on the device: this rank is recorded, of the others only when the last arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.exchanges import outputs_of, transfer_of, type_of
from tb_npu_plugin.capture.mock.host import Communication, Wait
from tb_npu_plugin.capture.mock.kineto import Call
from tb_npu_plugin.capture.mock.notes import Notes
from tb_npu_plugin.capture.mock.waits import Waits
from tb_npu_plugin.capture.mock.works import works_of
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import Exchange, in_group, planes, schedule
from tb_npu_plugin.capture.simulation.device import Device
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND, Group, HostOp
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.schema.communicators import group_hash

_DEFAULT = "default_group"
#: ns by which ranks arrive apart, at most, where nothing tells.
_SKEW = 120_000
#: What gloo takes when all have arrived: ns of each work, ns of a byte. What a work takes longer, it waited for others.
_GLOO, _GLOO_BYTE = 300_000, 1.0


class Peers:
    """The groups of this rank. `notes` tell which group an operator of `calls` used; without one it is that of all ranks,
    or of the last note without an end. waits: as HostData.waits; works: those of gloo."""

    def __init__(
        self, settings: Settings, chip: Chip, notes: Iterable[Communication], calls: Iterable[Call],
        waits: Iterable[Wait] = (), works: Iterable[Call] = (),
    ) -> None:  # fmt: skip
        calls = list(calls)
        self._topology = Topology(chip)
        self._named: dict[str, Group] = {}
        self._notes = Notes(notes, calls)
        self._works = works_of(calls, works)
        self.waits = Waits(waits, calls)
        self._counts: Counter[tuple[int, str]] = Counter()
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
        self._named[name] = Group(len(self._named), group_hash(name), ranks, rank, 0, name, role)

    def _give_planes(self, calls: Iterable[Call]) -> None:
        """Rows for the groups that communicate."""
        rows: Counter[str] = Counter()
        for call in calls:
            type_ = type_of(call.signature)
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
        two = type_of(call.signature) in (SEND, RECEIVE)
        return group if group is not None and (len(group.ranks) == 2 if two else len(group.ranks) > 1) else None

    def transfer(self, call: Call) -> Transfer | None:
        """The communication of an operator; None for one that does not communicate."""
        group = None if type_of(call.signature) is None else self._group(call)
        return None if group is None else transfer_of(call, group.name, len(group.ranks))

    def communicate(
        self, device: Device, transfer: Transfer, op: HostOp, call: Call, start: int, end: int, later: bool
    ) -> None:
        """Launch it, between start and end as shown. The compute stream waits for it where the script did; where that is
        not known now, or `later` in `wait`."""
        group = self._named[transfer.group]
        arrival = device.arrive(transfer.type, group.index, op, start, end)
        exchange, number = self._exchange(transfer, group)
        member = exchange.members.index(group.ranks[group.rank])
        last = self._last_arrival(call, transfer)
        arrivals = _arrivals(exchange, member, arrival.at, None if last is None else start + last - call.start)
        ends, tasks = schedule(exchange, arrivals, self._topology, member)
        tasks = in_group(tasks, exchange, group.ranks)
        name = f"{transfer.type}_{group.id[-3:]}_{number}_1"
        device.communicate(name, transfer, exchange, group, arrival, ends[member], tasks)
        if self._notes.functional(call) is not None:
            self.waits.functional(outputs_of(call.signature), ends[member])
            return
        note = self._notes.inside(call)
        if note is not None and self.waits.told:
            self.waits.noted(note[0], ends[member])
        elif later:
            self.waits.later(ends[member])
        else:
            device.wait_until(ends[member])

    def _last_arrival(self, call: Call, transfer: Transfer) -> int | None:
        """When the last of the others arrived, as recorded; None: nothing tells. A sender does not wait for gloo."""
        work = self._works.get((call.tid, call.start))
        if work is None or transfer.type == SEND:
            return None
        return work.end - _GLOO - int(transfer.size * _GLOO_BYTE)

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


def _arrivals(exchange: Exchange, member: int, own: int, last: int | None) -> tuple[int, ...]:
    """When each member arrives, this one at `own`. last: the last of the others; None: not known, before or after."""
    random = Random(exchange.seed)
    skews = [random.randrange(_SKEW) for _ in exchange.members]
    if last is None:
        return tuple(own + skew - skews[member] for skew in skews)
    least = min(skew for at, skew in enumerate(skews) if at != member)
    return tuple(own if at == member else last + least - skew for at, skew in enumerate(skews))
