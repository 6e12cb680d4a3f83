"""Communicators of a capture: those of torch.distributed, and one for each two ranks of a larger group that send to each
other, as torch_npu makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: group_name of the communicators of two ranks.
_BETWEEN_TWO = "p2p"


class Groups:
    """`known`: as Settings.groups."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = dict(known)

    def of(self, communicator: str, peer: int | None) -> str:
        """The communicator that is used for all members (peer None), or with one of them (counted in the group)."""
        group = self.known.get(communicator)
        if peer is None or group is None or len(group["global_ranks"]) <= 2:
            return communicator
        ranks: list[int] = group["global_ranks"]
        own = ranks[group["group_rank"]]
        pair = sorted((own, ranks[peer]))
        name = f"{communicator}_{pair[0]}_{pair[1]}"
        self.known[name] = {"group_name": _BETWEEN_TWO, "group_rank": pair.index(own), "global_ranks": pair}
        return name
