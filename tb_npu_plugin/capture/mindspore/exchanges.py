"""The collectives of MindSpore on the simulated device."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod

from tb_npu_plugin.capture.mindspore.operators import TYPES, WORLD, WORLDS
from tb_npu_plugin.capture.mindspore.raw_data import Launch, RawData
from tb_npu_plugin.capture.recording.exchanges import DATA_TYPES, arrivals_of
from tb_npu_plugin.capture.recording.recorded_host import RecordedHost
from tb_npu_plugin.capture.simulation import work
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import Exchange, Transfer, planes, schedule
from tb_npu_plugin.capture.simulation.records import Group
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.schema.communicators import group_hash

#: Types of operators that communicate -> those of HCCL.
COLLECTIVES = {
    "AllReduce": "hcom_allReduce_",
    "AllGather": "hcom_allGather_",
    "ReduceScatter": "hcom_reduceScatter_",
    "Broadcast": "hcom_broadcast_",
    "AlltoAll": "hcom_alltoall_",
}


def group_of(launch: Launch) -> str:
    """The group of a collective; that of all processes where MindSpore does not say it."""
    return WORLD if launch.group in WORLDS else launch.group


class Exchanges:
    """The groups of this rank, and its collectives. later: (group, number of its collective) -> rank -> ns by which it came
    later than this one."""

    def __init__(self, data: RawData, chip: Chip, later: dict[tuple[str, int], dict[int, int]]) -> None:
        capture = data.capture
        self._topology, self._rank, self._later = Topology(chip), capture["rank"], later
        self._counts: Counter[str] = Counter()
        self._named: dict[str, Group] = {}
        self._add(WORLD, tuple(range(capture["world"])))
        for name, ranks in data.groups.items():
            self._add(name, tuple(ranks))
        for name, type_ in {(group_of(one), COLLECTIVES[one.type]) for one in data.launches if one.type in COLLECTIVES}:
            group = self._named.get(name)
            if group is not None:
                rows = max(group.planes, planes(type_, group.ranks, self._topology))
                self._named[name] = replace(group, planes=rows)

    def _add(self, name: str, ranks: tuple[int, ...]) -> None:
        if name not in self._named and len(ranks) > 1 and self._rank in ranks:
            own = ranks.index(self._rank)
            self._named[name] = Group(len(self._named), group_hash(name), ranks, own, 0, name, name)

    @property
    def groups(self) -> list[Group]:
        """All of them."""
        return list(self._named.values())

    def run(self, host: RecordedHost, launch: Launch) -> None:
        """Launch a collective, and let the compute stream wait for it. Nothing where nobody but this rank is in its group."""
        group = self._named.get(group_of(launch))
        if group is None:
            return
        number = self._counts[group.name]
        self._counts[group.name] += 1
        transfer = _transfer(launch, group)
        host.communicate(transfer)
        exchange = Exchange(transfer.type, transfer.size, group.ranks, f"{group.id}/{number}")
        later = self._later.get((group.name, number), {})
        arrivals = arrivals_of(exchange, group.rank, host.arrival, later)
        ends, tasks = schedule(exchange, arrivals, self._topology, group.rank)
        host.communicated(number, transfer, exchange, group, ends[group.rank], tasks)
        host.wait(group.name)


def _transfer(launch: Launch, group: Group) -> Transfer:
    """What a collective moves: its larger side. The input of an AllGather is the share of one rank."""
    type_ = COLLECTIVES[launch.type]
    data_type, item = work.TYPES[TYPES.get(launch.types[0] if launch.types else "", "float")]
    size = item * sum(map(prod, launch.shapes or ((1,),))) * (len(group.ranks) if launch.type == "AllGather" else 1)
    return Transfer(group.name, type_, max(item, size), item, DATA_TYPES.get(data_type, data_type))
