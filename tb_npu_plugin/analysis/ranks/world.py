"""Maps rank numbers of a communicator (in communication_matrix.json) to world ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.steps.trajectory import stage_of
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import PARALLEL, PIPELINE, STAGES
from tb_npu_plugin.tables import Table, known


class WorldRanks:
    """Maps ranks of a group, as in communication_matrix.json, to world ranks, and names the group's role.

    Uses parallel_group_info of a capture: by the group's name, else by the members that its links show. Without it, only
    profiled ranks are known: each is the sole source of its links in a group.
    """

    def __init__(self, profiled: Sequence[tuple[Capture, Table | None]]) -> None:
        self._ranks: dict[str, list[int | None]] = {}
        self._roles: dict[str, str] = {}
        self._own: dict[tuple[str | None, int], int | None] = {}
        users: dict[str, list[tuple[Capture, int, int]]] = {}
        for capture, links in profiled:
            for name, group in capture.groups.items():
                for key in (name, group_hash(name)):
                    self._roles[key] = str(group.get("group_name") or "")
                    if ranks := _ranks(group):
                        self._ranks[key] = ranks
            for place, least in _sources(links) if links is not None else ():
                self._own[place] = capture.rank
                if place[0] is not None:
                    users.setdefault(place[0], []).append((capture, place[1], least))
        for name in users.keys() - self._roles.keys():
            self._find_members(name, users[name])

    def _find_members(self, name: str, users: Sequence[tuple[Capture, int, int]]) -> None:
        """Take the members and roles of a group whose name the metadata lack, if only one list of members has each user at its
        number and room for all numbers. users: capture, its number in the group, and least members of the group."""
        found: dict[tuple[int | None, ...], list[str]] = {}
        for group in (group for capture, _, _ in users for group in capture.groups.values()):
            ranks = tuple(_ranks(group))
            if all(len(ranks) >= least and ranks[number] == capture.rank for capture, number, least in users):
                found.setdefault(ranks, []).append(str(group.get("group_name") or ""))
        if len(found) == 1:
            ((ranks, roles),) = found.items()
            self._ranks[name] = list(ranks)
            self._roles[name] = "/".join(filter(None, dict.fromkeys(roles)))

    def role(self, group: str | None) -> str:
        """Role of a group, such as "tp"; those of equal members are joined by "/"; "" if unknown."""
        return self._roles.get(group or "", "")

    def members(self, group: str | None) -> list[int | None]:
        """World ranks of a group; [] if unknown."""
        return self._ranks.get(group or "", [])

    def of(self, group: str | None, local: int) -> int | None:
        """World rank; None if unknown."""
        ranks = self._ranks.get(group or "", [])
        return ranks[local] if 0 <= local < len(ranks) else self._own.get((group, local))

    def size(self, group: str | None) -> int:
        """Members of a group; 0 if unknown."""
        return len(self._ranks.get(group or "", []))


def world_size(captures: Sequence[Capture]) -> int | None:
    """Ranks of the job, from distributed_args or else the groups; None if neither is recorded. At least the number that
    the captures show."""
    told = [_int_or_none(capture.distributed_args.get("world_size")) or 0 for capture in captures]
    grouped = [
        rank + 1
        for capture in captures
        for group in capture.groups.values()
        for rank in _ranks(group)
        if rank is not None
    ]
    size = max(told, default=0) or max(grouped, default=0)
    return max(size, _least_world_size(captures)) if size else None


def least_world_size(captures: Sequence[Capture], link_tables: Sequence[Table | None]) -> int | None:
    """The same, or a lower bound if not recorded: from the captures and the largest group in the links."""
    size = world_size(captures)
    if size is not None:
        return size
    highest = [_least_world_size(captures) - 1] if _least_world_size(captures) > 1 else []
    for table in link_tables:
        if table is not None:
            ends = np.concatenate([table.ints("src"), table.ints("dst")])
            highest += [int(ends[known(ends)].max())] if known(ends).any() else []
    return max(highest) + 1 if highest else None


def _least_world_size(captures: Sequence[Capture]) -> int:
    """Lower bound of the job's ranks: the number of captures, or the highest rank among them."""
    ranks = {capture.rank for capture in captures if capture.rank is not None}
    return max(len(ranks), max(ranks, default=-1) + 1)


def pipeline_stage(capture: Capture) -> int | None:
    """Pipeline stage of a rank, from 1: its position in the pipeline group, else from distributed_args (Megatron
    numbers the ranks of a stage consecutively). None if neither is recorded.

    A pipeline group with fewer ranks than stages only joins two neighbours: its positions are not stages.
    """
    told = capture.distributed_args
    stages = _int_or_none(told.get(STAGES))
    for group in capture.groups.values():
        if group.get("group_name") == PIPELINE and not 0 < len(_ranks(group)) < (stages or 0):
            place = _int_or_none(group.get("group_rank"))
            return None if place is None else place + 1
    return stage_of(capture.rank, _int_or_none(told.get("world_size")), stages)


def pipeline_stages(captures: Sequence[Capture]) -> int:
    """Number of pipeline stages that captures name; 1 without a pipeline."""
    told = [_int_or_none(one.distributed_args.get(STAGES)) or 1 for one in captures]
    found = [
        len(_ranks(group)) for one in captures for group in one.groups.values() if group.get("group_name") == PIPELINE
    ]
    return max([1, *told, *found, *(pipeline_stage(one) or 1 for one in captures)])


def numbers_in_groups(capture: Capture) -> list[str]:
    """Numbers of a rank in the groups of parallelism that hold it, such as "tp 3"."""
    found = {str(group.get("group_name")): _int_or_none(group.get("group_rank")) for group in capture.groups.values()}
    return [f"{name} {found[name]}" for name in PARALLEL if found.get(name) is not None]


def number_in_group(capture: Capture, group: str | None, members: int, is_largest: bool) -> int | None:
    """Number of a rank inside a group; None if unknown. If the capture has no such group, the rank in the job for the largest
    group: it may hold all ranks.

    group: as in comm_ops.
    """
    for name, found in capture.groups.items():
        if group in (name, group_hash(name)) and len(_ranks(found)) == members:
            return _int_or_none(found.get("group_rank"))
    is_inside = is_largest and (world_size([capture]) or members) == members
    return capture.rank if is_inside and capture.rank is not None and capture.rank < members else None


def size_of_group(capture: Capture, group: str | None) -> int:
    """Members of a group that the capture lists; 0 if unknown. group: as in comm_ops."""
    return max(
        (len(_ranks(one)) for name, one in capture.groups.items() if group in (name, group_hash(name))), default=0
    )


def _sources(links: Table) -> list[tuple[tuple[str | None, int], int]]:
    """For groups whose links all start at one rank: the group, the recording process's rank inside it, and the number of ranks
    that the links show at least."""
    sources: dict[str | None, set[int]] = {}
    least: dict[str | None, int] = {}
    ends = (links.ints(key).tolist() for key in ("src", "dst"))
    for group, source, target in zip(links.text("group").tolist(), *ends):
        sources.setdefault(group, set()).add(source)
        least[group] = max(least.get(group, 0), source + 1, target + 1)
    return [((group, min(found)), least[group]) for group, found in sources.items() if len(found) == 1]


def _ranks(group: Mapping[str, Any]) -> list[int | None]:
    ranks = group.get("global_ranks")
    return [_int_or_none(rank) for rank in ranks] if isinstance(ranks, list) else []


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
