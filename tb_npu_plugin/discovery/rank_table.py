"""Maps devices of hosts to ranks: hccl.json and host_ips_mapping.txt of the old cluster layout.
Source: docs/facts/mindinsight.md, Cluster folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tb_npu_plugin.discovery.found import is_file
from tb_npu_plugin.discovery.looks import HOSTS, TABLE_RANKS, Look, TooExpensive

T = TypeVar("T")

HOSTS_FILE = "host_ips_mapping.txt"
CLUSTER_FOLDER = "cluster_profiler"
#: Devices of one host, assumed for ranks that are not in the table.
DEVICES = 8
ASSUMED = "assumed from the order of the hosts"


@dataclass(frozen=True)
class RankTable:
    """Ranks by host address and device; host addresses by host number; source of the ranks."""

    ranks: dict[tuple[str, int], int] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    source: str = ""

    def rank_of(self, host: str, device: int, hosts: Sequence[str]) -> tuple[int, str]:
        """Rank of a device and its source; if the table lacks it, counted over the hosts."""
        rank = self.ranks.get((self.addresses.get(host, host), device))
        if rank is not None:
            return rank, self.source
        return hosts.index(host) * DEVICES + device, ASSUMED

    def devices_of(self, host: str) -> dict[int, int]:
        """Devices of a host that the table lists, with their ranks."""
        address = self.addresses.get(host, host)
        return {device: rank for (of, device), rank in self.ranks.items() if of == address}


class Ask(Protocol):
    """Looks at a file; None if that fails."""

    def __call__(self, look: Look[T], entry: os.DirEntry[str], /) -> T | None:
        """What is inside."""


def read_rank_table(entries: Iterable[os.DirEntry[str]], ask: Ask) -> RankTable:
    """The table in a run folder with these entries, sorted by name. A file that cannot be read counts as empty, and links are
    not followed; the ranks are then assumed."""
    files = [entry for entry in entries if is_file(entry) and not entry.is_symlink()]
    ranks: dict[tuple[str, int], int] = {}
    source = ""
    for entry in files:
        found = ask(TABLE_RANKS, entry) if entry.name.endswith(".json") else None
        if found:
            ranks = {(address, device): rank for address, device, rank in found}
            source = entry.name
            break
    hosts = (ask(HOSTS, entry) for entry in files if entry.name == HOSTS_FILE)
    return RankTable(ranks, {number: address for one in hosts for number, address in one or ()}, source)


def read_here(look: Look[T], entry: os.DirEntry[str]) -> T | None:
    """Looks at a file in this process, which must not be the server's. Raises OSError."""
    try:
        return look.read(entry.path)
    except TooExpensive:
        return None
