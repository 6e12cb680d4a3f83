"""The communication of torch.distributed on the device: this rank is recorded, of the others only when the last arrived."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.exchanges import outputs_of, transfer_of, type_of
from tb_npu_plugin.capture.mock.host import Batch, HostData
from tb_npu_plugin.capture.mock.kineto import Call
from tb_npu_plugin.capture.mock.notes import Notes
from tb_npu_plugin.capture.mock.waits import Waits
from tb_npu_plugin.capture.mock.works import works_of
from tb_npu_plugin.capture.simulation.batch import PLANES, Item
from tb_npu_plugin.capture.simulation.batch import batch as schedule_batch
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import Exchange, in_group, planes, schedule
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice
from tb_npu_plugin.capture.simulation.records import BATCH, P2P_TYPES, RECEIVE, SEND, Group, HostOp
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.schema.communicators import group_hash

#: Argument of sends and receives that is the other rank, counted in the group.
_PEER = 2


class Batches:
    """`batches`: as HostData.batches. The last call of each stands for all of it."""

    def __init__(self, batches: Iterable[Batch], calls: Iterable[Call]) -> None:
        spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for start, end, tid in sorted(batches):
            spans[tid].append((start, end))
        self._first: dict[tuple[int, int], tuple[int, int]] = {}  # call -> its batch
        self._calls: dict[tuple[int, int], list[Call]] = defaultdict(list)
        for call in calls if spans else ():
            if type_of(call.signature) not in (SEND, RECEIVE) or not _peer(call).isdigit():
                continue
            mine = spans.get(call.tid, [])
            middle = (call.start + call.end) // 2
            place = bisect_right(mine, (middle, middle)) - 1
            if place >= 0 and middle <= mine[place][1]:
                self._first[call.tid, call.start] = key = (call.tid, mine[place][0])
                self._calls[key].append(call)
        for found in self._calls.values():
            found.sort(key=lambda call: call.start)

    def of(self, call: Call) -> list[Call] | None:
        """All of the batch that this call stands for; empty: another call stands for its batch; None: it is in none."""
        key = self._first.get((call.tid, call.start))
        if key is None:
            return None
        calls = self._calls[key]
        return calls if calls[-1].start == call.start else []

    @staticmethod
    def items(calls: Iterable[Call]) -> list[Item]:
        """What a batch sends and receives."""
        found = [(call, transfer_of(call, "", 1)) for call in calls]
        return [Item(what.type == SEND, int(_peer(call)), what.size) for call, what in found if what is not None]


def _peer(call: Call) -> str:
    values = call.signature.values
    return values[_PEER] if len(values) > _PEER else ""


_DEFAULT = "default_group"
#: ns by which ranks arrive apart, at most, where nothing tells.
_SKEW = 120_000
#: What gloo takes when all have arrived: ns of each work, ns of a byte. What a work takes longer, it waited for others.
_GLOO, _GLOO_BYTE = 300_000, 1.0


class Peers:
    """The groups of this rank. The notes of `data` tell which group an operator of `calls` used; without one it is that
    of all ranks, or of the last note without an end. works: those of gloo."""

    def __init__(self, settings: Settings, chip: Chip, data: HostData, calls: list[Call], works: list[Call]) -> None:
        self._topology = Topology(chip)
        self._named: dict[str, Group] = {}
        self._notes = Notes(data.communication, calls)
        self._works = works_of(calls, works)
        self._batches = Batches(data.batches, calls)
        self.waits = Waits(data.waits, calls)
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
            type_ = self._type(call)
            group = None if type_ is None else self._group(call)
            if type_ is not None and group is not None:
                count = PLANES if type_ == BATCH else planes(type_, group.ranks, self._topology)
                rows[group.name] = max(rows[group.name], count)
        self._named = {name: replace(group, planes=rows[name]) for name, group in self._named.items()}

    @property
    def groups(self) -> list[Group]:
        """All of them."""
        return list(self._named.values())

    def _type(self, call: Call) -> str | None:
        """Type of the operator on the device; None: none."""
        batch = self._batches.of(call)
        return type_of(call.signature) if batch is None else BATCH if batch else None

    def _group(self, call: Call) -> Group | None:
        """Whose members communicate; None: nobody but this rank, or it is not known between which two."""
        name = self._notes.of(call)
        group = self._named.get(name) if name is not None else None
        group = group or self._default
        two = self._type(call) in (SEND, RECEIVE)
        return group if group is not None and (len(group.ranks) == 2 if two else len(group.ranks) > 1) else None

    def transfer(self, call: Call) -> Transfer | None:
        """The communication of an operator; None for one that does not communicate."""
        type_ = self._type(call)
        group = None if type_ is None else self._group(call)
        transfer = None if group is None else transfer_of(call, group.name, len(group.ranks))
        if transfer is not None and type_ == BATCH:
            size = sum(item.size for item in self._batches.items(self._batches.of(call) or ()))
            return replace(transfer, type=BATCH, size=size)
        return transfer

    def communicate(
        self, device: RecordedDevice, transfer: Transfer, op: HostOp, call: Call, start: int, end: int, later: bool
    ) -> None:
        """Launch it, between start and end as shown. The compute stream waits for it where the script did; where that is
        not known now, or `later` in `wait`."""
        group = self._named[transfer.group]
        arrival = device.arrive(transfer.type, group.index, op, start, end)
        exchange, number = self._exchange(transfer, group)
        member = exchange.members.index(group.ranks[group.rank])
        batch = self._batches.of(call) or [call]
        last = self._last_arrival(batch, transfer)
        arrivals = _arrivals(exchange, member, arrival.at, None if last is None else start + last - call.start)
        if transfer.type == BATCH:
            done, tasks = schedule_batch(self._batches.items(batch), exchange, arrivals, self._topology, member)
        else:
            ends, tasks = schedule(exchange, arrivals, self._topology, member)
            done, tasks = ends[member], in_group(tasks, exchange, group.ranks)
        name = f"{transfer.type}_{group.id[-3:]}_{number}_1"
        device.communicate(name, transfer, exchange, group, arrival, done, tasks, op)
        self._wait(device, batch, done, later)

    def _wait(self, device: RecordedDevice, calls: list[Call], done: int, later: bool) -> None:
        """Let the compute stream wait for what these calls began, now or when the script does."""
        if self._notes.functional(calls[0]) is not None:
            self.waits.functional(outputs_of(calls[0].signature), done)
            return
        notes = [note for note in map(self._notes.inside, calls) if note is not None]
        if notes and self.waits.told:
            for note in notes:
                self.waits.noted(note[0], done)
        elif later:
            self.waits.later(done)
        else:
            device.wait_until(done)

    def _last_arrival(self, calls: list[Call], transfer: Transfer) -> int | None:
        """When the last of the others arrived, as recorded; None: nothing tells. A sender does not wait for gloo."""
        works = [self._works.get((call.tid, call.start)) for call in calls if type_of(call.signature) != SEND]
        ends = [work.end for work in works if work is not None]
        return max(ends) - _GLOO - int(transfer.size * _GLOO_BYTE) if ends else None

    def _exchange(self, transfer: Transfer, group: Group) -> tuple[Exchange, int]:
        """The operator as all members see it, and how many like it came before: equal on all of them. Of two ranks the
        sender comes first."""
        two = transfer.type in (SEND, RECEIVE)
        key = (group.index, transfer.type if transfer.type in P2P_TYPES else "")
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
