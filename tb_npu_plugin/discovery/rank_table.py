"""Maps devices of hosts to ranks: hccl.json and host_ips_mapping.txt of the old cluster layout.
Source: docs/facts/mindinsight.md, Cluster folders.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb_npu_plugin.discovery.identity import MAX_DIGITS, MAX_INFO
from tb_npu_plugin.discovery.timeouts import read_file

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


def read_rank_table(folder: Path) -> RankTable:
    """Read the two files of a run folder. An unreadable file counts as empty; the ranks are then assumed."""
    ranks: dict[tuple[str, int], int] = {}
    source = ""
    for path in sorted(folder.glob("*.json")):
        found = _ranks(path)
        if found:
            ranks, source = found, path.name
            break
    return RankTable(ranks, _addresses(folder / HOSTS_FILE), source)


def _addresses(path: Path) -> dict[str, str]:
    """{number: address} from lines "address number"."""
    lines = _content(path).decode("utf-8", "replace").splitlines()
    pairs = [line.split() for line in lines]
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def _ranks(path: Path) -> dict[tuple[str, int], int]:
    """{(address, device): rank} of a rank table; {} for other files."""
    try:
        content = json.loads(_content(path))
    except (ValueError, RecursionError):
        return {}
    found: dict[tuple[str, int], int] = {}
    for server in _list(content, "server_list"):
        for device in _list(server, "device"):
            number, rank = (_int_or_none(device, key) for key in ("device_id", "rank_id"))
            if number is not None and rank is not None:
                found[str(server.get("server_id", "")), number] = rank
    return found


def _list(value: object, key: str) -> list[dict[str, object]]:
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _int_or_none(value: dict[str, object], key: str) -> int | None:
    text = str(value.get(key, "")).strip()
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def _content(path: Path) -> bytes:
    """Content of a small regular file; empty for links, other and unreadable files."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_INFO:
            return b""
        return read_file(str(path), MAX_INFO)
    except OSError:
        return b""
