"""Rank, worker and time of a result, from names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tb_npu_plugin.discovery import layout
from tb_npu_plugin.discovery.report import decode_name
from tb_npu_plugin.schema.scan_keys import MAX_DIGITS


@dataclass(frozen=True)
class Identity:
    """Facts about one result folder; None and "" are unknown.

    rank_source   "profiler_info_3.json", "rank_id", "folder name" or ""
    worker_name   "{host}_{pid}" as the profiler wrote it
    stamp         digits of the recorder's local time in the name (UTC if it is a number of ms), 14 to 17
    node          folded folders that hold a host number, e.g. "node1"
    device        physical device id, only read to separate processes of one rank
    window        first and last step of dynamic profiling, from a folder's name
    role          part of a reinforcement learning job that it records, e.g. "actor_update"
    role_step     training step of that job
    """

    rank: int | None
    rank_source: str
    worker_name: str = ""
    host: str | None = None
    pid: int | None = None
    stamp: str = ""
    node: str = ""
    device: int | None = None
    window: tuple[int, int | None] | None = None
    role: str = ""
    role_step: str = ""

    @property
    def time(self) -> datetime | None:
        """Local time in the name; None if absent or invalid."""
        try:
            whole = datetime.strptime(self.stamp[:14], "%Y%m%d%H%M%S")
        except ValueError:
            return None
        return whole.replace(microsecond=int((self.stamp[14:] or "0").ljust(6, "0")))


def fold(parts: Sequence[str]) -> tuple[str, ...]:
    """The run of a result: its path below the logdir without the result folder itself and without the folders
    above it that only number a rank.

    >>> fold(("exp", "node1", "rank_9", "host_1_20240101000000000_ascend_pt"))
    ('exp',)
    """
    kept = list(parts[:-1])
    numbered = bool(parts) and layout.RANK_FOLDER.fullmatch(parts[-1]) is not None
    while kept and (layout.RANK_FOLDER.fullmatch(kept[-1]) or _is_plain(kept)):
        kept.pop()
        numbered = True
    if numbered and kept and layout.NODE_FOLDER.fullmatch(kept[-1]):
        kept.pop()
    return tuple(kept)


def role_of(run: Sequence[str]) -> tuple[tuple[str, ...], str, str]:
    """The folder of the job, the role and the training step of results in a folder; the folder itself and "" without a role.

    >>> role_of(("exp", "3", "actor_update"))
    (('exp',), 'actor_update', '3')
    """
    role = run[-1] if run else ""
    home = tuple(run[:-1])
    step = layout.STEP_FOLDER.fullmatch(home[-1]) if home else None
    if not (layout.ROLE_FOLDER.fullmatch(role) or (role == layout.ALL_ROLES and step)):
        return tuple(run), "", ""
    return (home[:-1] if step else home), role, (step.group("step") if step else "")


def _is_plain(parts: Sequence[str]) -> bool:
    """Whether the last folder is a plain one between the rank folder and its results: rank_0/profiler."""
    return len(parts) > 1 and parts[-1] == layout.PLAIN_FOLDER and bool(layout.RANK_FOLDER.fullmatch(parts[-2]))


def identify(
    folder: Path, parts: Sequence[str], infos: Sequence[str] = (), recorded: Callable[[], int | None] = lambda: None
) -> Identity:
    """Facts about the result in `folder`.

    parts     path below the logdir, or the folder's name if it is the logdir
    infos     names of the profiler_info files in it
    recorded  the rank in these files, asked for if their names lack it
    """
    name = parts[-1] if parts else folder.name
    run = fold(parts)
    _, role, role_step = role_of(run)
    found = layout.RESULT_NAME.fullmatch(name)
    worker = (found.group("worker") or "") if found else ""
    if not found and layout.is_result_name(name):
        worker = name[: -len(layout.suffix_of(name))]
    if layout.RANK_FOLDER.fullmatch(worker):
        worker = ""
    worker = decode_name(worker)
    by_pid = layout.WORKER_PID.fullmatch(worker)
    own = [*parts[len(run) : -1], name]
    rank, source = _rank(own, infos, recorded)
    stamped = layout.RANK_FOLDER.fullmatch(name)
    return Identity(
        rank=rank,
        rank_source=source,
        worker_name=worker,
        host=by_pid.group("host") if by_pid else (worker or None),
        pid=int(by_pid.group("pid")) if by_pid else None,
        stamp=(found.group("time") if found else (stamped.group("time") if stamped else "")) or "",
        node="/".join(decode_name(part) for part in parts[len(run) : -1] if layout.NODE_FOLDER.fullmatch(part)),
        window=window_of(own),
        role=role,
        role_step=role_step,
    )


def window_of(names: Sequence[str]) -> tuple[int, int | None] | None:
    """First and last step in a folder's name ("rank0_start2_stop5"); the innermost match wins."""
    for name in reversed(names):
        found = layout.RANK_FOLDER.fullmatch(name)
        if found and found.group("start") and len(found.group("start")) <= MAX_DIGITS:
            stop = found.group("stop")
            return int(found.group("start")), int(stop) if stop and len(stop) <= MAX_DIGITS else None
    return None


def _rank(names: Sequence[str], infos: Sequence[str], recorded: Callable[[], int | None]) -> tuple[int | None, str]:
    """(rank, its source): from the file name, then rank_id in the file, then folder names from the innermost out."""
    for name in infos:
        found = layout.INFO_NAME.fullmatch(name)
        if found and found.group("rank"):
            return int(found.group("rank")), name
    rank = recorded()
    if rank is not None:
        return rank, "rank_id"
    for name in reversed(names):
        named = layout.RANK_FOLDER.fullmatch(name) or layout.RANK_IN_NAME.search(name)
        if named:
            return int(named.group("rank")), "folder name"
    return None, ""
