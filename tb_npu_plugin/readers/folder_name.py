"""What the name of a result folder says: {worker}_{pid}_{timestamp}_ascend_pt, and every variation of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_RESULT = re.compile(r"(?P<rest>.*?)_?ascend_(?:pt|ms)", re.IGNORECASE)
_TIMESTAMP = re.compile(r"(?P<worker>.*?)_?(?P<timestamp>\d{14,17})")
_PID = re.compile(r"(?P<worker>.+)_(?P<pid>\d{1,10})")
_RANK = re.compile(r"(?:^|[_\-.])rank[_\-]?(\d{1,9})(?=$|[_\-.])", re.IGNORECASE)
#: Words before a number that is not a process id: rank_3, node_1.
_NUMBERED = re.compile(r"(?:^|[_\-.])(rank|node|device|start|stop|step)$", re.IGNORECASE)


@dataclass(frozen=True)
class FolderName:
    """Parts of a folder name; "" and None where it lacks them.

    timestamp is local time, 14 digits (YYYYmmddHHMMSS) or up to 17 (with ms).
    """

    worker: str
    pid: int | None
    timestamp: str


def parse_folder(name: str) -> FolderName:
    """Parts of a result folder's name.

    >>> parse_folder("node-7_3178231_20250109074803340_ascend_pt")
    FolderName(worker='node-7', pid=3178231, timestamp='20250109074803340')
    >>> parse_folder("rank_3_ascend_pt")
    FolderName(worker='rank_3', pid=None, timestamp='')
    """
    result = _RESULT.fullmatch(name)
    rest = result.group("rest") if result else name
    timed = _TIMESTAMP.fullmatch(rest)
    if timed is None:
        return FolderName(rest, None, "")
    worker, timestamp = timed.group("worker"), timed.group("timestamp")
    with_pid = _PID.fullmatch(worker)
    if with_pid is None or _NUMBERED.search(with_pid.group("worker")):
        return FolderName(worker, None, timestamp)
    return FolderName(with_pid.group("worker"), int(with_pid.group("pid")), timestamp)


def rank_of_folder(folder: Path) -> int | None:
    """The rank in the folder's name (rank_3_ascend_pt, rank0_start2_stop5_..._ascend_pt), else in that of the folder
    around it if that says nothing but a rank (rank_3/)."""
    own = _RANK.search(folder.name)
    if own:
        return int(own.group(1))
    around = _RANK.fullmatch(folder.parent.name)
    return int(around.group(1)) if around else None
