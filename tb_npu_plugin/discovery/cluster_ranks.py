"""Ranks in a cluster_analysis_output, read from its smallest file."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.timeouts import FILE_LIMIT, read_file, run_with_timeout
from tb_npu_plugin.schema import cluster

#: Maximum bytes to read: the scan runs in the server and must not block on a huge file.
MAX_READ = 16 << 20


def cluster_ranks(folder: Path, files: Sequence[FoundFile]) -> tuple[int, ...]:
    """Sorted ranks; () if no file has them."""
    readers = {
        cluster.STEPS.name: _of_steps,
        cluster.GROUPS.name: _of_groups,
        cluster.DATABASE.name: _of_database,
    }
    there = {file.name: file for file in files}
    for name, read in readers.items():
        file = there.get(name)
        if file is not None:
            found: tuple[int, ...] = read(str(folder / file.relative), file.size, file.mtime_ns)
            if found:
                return found
    return ()


@lru_cache(maxsize=1000)
def _of_steps(path: str, size: int, mtime_ns: int) -> tuple[int, ...]:
    try:
        text = read_file(path, MAX_READ).decode("utf-8-sig", "replace")
        rows = list(csv.DictReader(text.splitlines()))
    except (OSError, csv.Error):
        return ()  # its reader reports why
    kind, index = cluster.ROW_TYPE.headers[0], cluster.RANK.headers[0]
    return _numbers(row.get(index) for row in rows if row.get(kind) == cluster.BY_RANK)


@lru_cache(maxsize=1000)
def _of_groups(path: str, size: int, mtime_ns: int) -> tuple[int, ...]:
    if size > MAX_READ:
        return ()
    try:
        content = json.loads(read_file(path, MAX_READ))
    except (OSError, ValueError, RecursionError):
        return ()
    if not isinstance(content, dict):
        return ()
    groups = [group for kind in cluster.GROUP_KINDS for group in content.get(kind) or () if isinstance(group, list)]
    return _numbers(str(rank) for group in groups for rank in group)


@lru_cache(maxsize=1000)
def _of_database(path: str, size: int, mtime_ns: int) -> tuple[int, ...]:
    try:
        return run_with_timeout(FILE_LIMIT, path, lambda: _ranks_in(path))
    except OSError:
        return ()


def _ranks_in(path: str) -> tuple[int, ...]:
    for question in cluster.DB_RANKS:
        try:
            with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)) as database:
                found = _numbers(str(value) for (value,) in database.execute(question))
        except sqlite3.Error:
            continue
        if found:
            return found
    return ()


def _numbers(texts: Iterable[str | None]) -> tuple[int, ...]:
    return tuple(sorted({int(text) for text in texts if text is not None and cluster.INDEX.fullmatch(text.strip())}))
