"""Finds results of msprof-analyze cluster: one span for each rank; the spans share files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tb_npu_plugin.discovery.found import FinderResult, Folder, files_of, unread_of
from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.looks import DATABASE_RANKS, GROUP_RANKS, STEP_RANKS
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.report import skip
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema import cluster
from tb_npu_plugin.schema.formats import CLUSTER

_SIGNS = {file.name for file in (cluster.STEPS, cluster.COMMUNICATIONS, cluster.MATRIX, cluster.DATABASE)}

_SOURCES = (
    (cluster.STEPS.name, STEP_RANKS),
    (cluster.GROUPS.name, GROUP_RANKS),
    (cluster.DATABASE.name, DATABASE_RANKS),
)


def find_cluster(folder: Folder) -> FinderResult | None:
    """Take a folder with a file that only this tool writes."""
    if not any(entry.name in _SIGNS or entry.name.removesuffix(".gz") in _SIGNS for entry in folder.entries):
        return None
    notes: list[Problem] = []
    files = files_of(folder.entries, "", CLUSTER, notes)
    ranks = _ranks(folder, files)
    unread = unread_of(folder.entries, "", CLUSTER)
    if not ranks:
        is_refused = any(failure.skipped.is_refused for failure in folder.failures.values())
        no_ranks = skip("no_ranks", folder.label, files=", ".join(name for name, _ in _SOURCES))
        return FinderResult(skipped=[] if is_refused else [no_ranks])
    spans = []
    for rank in ranks:
        identity, parts = Identity(rank, "file"), (*folder.parts, f"rank {rank}")
        span = folder.result(CLUSTER, identity, files, notes, parts, folder.parts, "cluster", unread)
        spans.append(replace(span, part=str(rank)))
    return FinderResult(spans)


def _ranks(folder: Folder, files: Sequence[FoundFile]) -> tuple[int, ...]:
    """Ranks from the first file that has some, cheap ones first."""
    by_name = {file.name: file for file in files}
    for name, look in _SOURCES:
        found = folder.look(look, by_name[name]) if name in by_name else None
        if found:
            return found
    return ()
