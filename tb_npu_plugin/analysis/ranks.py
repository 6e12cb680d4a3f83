"""Numbers of ranks: inside a communicator (as communication_matrix.json has them) and in the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tb_npu_plugin.model import Capture
from tb_npu_plugin.tables import Table, known


class WorldRanks:
    """Maps ranks of a group, as the links of one rank have them, to ranks of the world.

    parallel_group_info of the capture tells; without it, the rank itself is known still: it is the one source of all
    its links of a group.
    """

    def __init__(self, capture: Capture, links: Table) -> None:
        named = {name: ranks for name, group in capture.groups.items() if (ranks := _ranks(group))}
        self._ranks = {**{group_hash(name): ranks for name, ranks in named.items()}, **named}
        sources: dict[str | None, set[int]] = {}
        for group, source in zip(links.text("group").tolist(), links.ints("src").tolist()):
            sources.setdefault(group, set()).add(source)
        self._own = {(group, min(found)): capture.rank for group, found in sources.items() if len(found) == 1}

    def of(self, group: str | None, local: int) -> int | None:
        """Rank in the world; None where nothing tells."""
        ranks = self._ranks.get(group or "", [])
        return ranks[local] if 0 <= local < len(ranks) else self._own.get((group, local))


def group_hash(name: str) -> str:
    """The decimal id under which communication.json files a communicator of this name: two 32-bit polynomial hashes
    side by side (checked against the name and the id in a recorded database)."""
    high = low = 0
    for byte in name.encode():
        high = (high * 29 + byte) & 0xFFFFFFFF
        low = (low * 131 + byte) & 0xFFFFFFFF
    return str(high << 32 | low)


def world_size(captures: Sequence[Capture], link_tables: Sequence[Table | None]) -> int | None:
    """Ranks of the job: from distributed_args, else from the groups, else the largest group seen in the links
    (a lower bound); None where nothing tells."""
    told = [_whole(capture.distributed_args.get("world_size")) for capture in captures]
    if any(told):
        return max(value for value in told if value)
    ranks = {
        rank for capture in captures for group in capture.groups.values() for rank in _ranks(group) if rank is not None
    }
    highest = [max(ranks)] if ranks else []
    for table in link_tables:
        if table is not None:
            ends = np.concatenate([table.ints("src"), table.ints("dst")])
            highest += [int(ends[known(ends)].max())] if known(ends).any() else []
    return max(highest) + 1 if highest else None


def _ranks(group: Mapping[str, Any]) -> list[int | None]:
    ranks = group.get("global_ranks")
    return [_whole(rank) for rank in ranks] if isinstance(ranks, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
