"""Finds legacy MindSpore results (up to 2.2): flat `profiler/` folders with the files of all ranks, and the cluster
layout cluster_profiler/<host>/profiler. Source: docs/facts/mindinsight.md, Files, Cluster folders."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.found import FinderResult, Folder, Found, found_file, is_folder, list_folder, unread_of
from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.looks import Look
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.rank_table import ASSUMED, CLUSTER_FOLDER, HOSTS_FILE, RankTable, read_rank_table
from tb_npu_plugin.model import Unread
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema.formats import MINDDATA, MINDINSIGHT, Format
from tb_npu_plugin.schema.minddata import LEGACY_FILES, PIPELINE_PROFILING
from tb_npu_plugin.schema.scan_keys import MAX_DIGITS
from tb_npu_plugin.texts import natural_key

#: Prefix of the profiler's folder names.
FOLDER = "profiler"
#: Files that other formats have too: they mark a MindInsight folder only together with its name.
COMMON = frozenset({"profiler_info", *(file.id for file in LEGACY_FILES)})
FILE_NAMES = "file names"
Entries = Sequence["os.DirEntry[str]"]
T = TypeVar("T")


def find_mindinsight(folder: Folder) -> FinderResult | None:
    """Take a flat folder, or one with a cluster_profiler folder."""
    if CLUSTER_FOLDER in folder.folders and not _declared_files(folder.entries):
        return _cluster(folder)
    by_rank = _declared_files(folder.entries)
    ids = {spec.id for spec in map(MINDINSIGHT.file, _names(by_rank)) if spec is not None}
    is_whole = bool(ids if folder.name.startswith(FOLDER) else ids - COMMON)
    if not is_whole and PIPELINE_PROFILING.id not in ids:
        return None
    # MindSpore's dataset module writes the samples of a data pipeline without a profiler, too
    format = MINDINSIGHT if is_whole else MINDDATA
    unread = unread_of(folder.entries, "", format)
    found = [_find_in_flat_folder(folder, format, rank, entries, unread) for rank, entries in sorted(by_rank.items())]
    return FinderResult([one for one in found if one.files])


def _find_in_flat_folder(folder: Folder, format: Format, rank: int, entries: Entries, unread: Unread) -> Found:
    notes: list[Problem] = []
    files = _files(entries, "", notes)
    parts = (*folder.parts, f"rank_{rank}")
    return folder.result(format, _identity(rank, FILE_NAMES), files, notes, parts, unread=unread)


def _names(by_rank: Mapping[int, Entries]) -> list[str]:
    return [entry.name for entries in by_rank.values() for entry in entries]


def _declared_files(entries: Entries) -> dict[int, list[os.DirEntry[str]]]:
    """The declared files of each rank (1.x: device); files without a rank belong to all."""
    by_rank: dict[int, list[os.DirEntry[str]]] = defaultdict(list)
    shared = []
    for entry in entries:
        number = rank_in(entry.name)
        if number is not None:
            by_rank[number].append(entry)
        elif MINDINSIGHT.file(entry.name) is not None:
            shared.append(entry)
    return {rank: [*own, *shared] for rank, own in by_rank.items()}


def rank_in(name: str) -> int | None:
    """The rank in a file name; None for undeclared files and for names without a rank."""
    spec = MINDINSIGHT.file(name)
    if spec is None or spec.pattern is None:
        return None
    matched = spec.pattern.fullmatch(name[:-3] if name.endswith(".gz") else name)
    named = {} if matched is None else matched.groupdict()
    digits = named.get("rank") if "rank" in named or matched is None else matched.group(1)
    return int(digits) if digits and len(digits) <= MAX_DIGITS else None


def _files(entries: Entries, prefix: str, notes: list[Problem]) -> tuple[FoundFile, ...]:
    """The files of one rank; links are skipped."""
    out = []
    for entry in entries:
        spec = MINDINSIGHT.file(entry.name)
        if spec is not None and not entry.is_symlink():
            found = found_file(entry, prefix + entry.name, spec.stages, notes)
            out += [found] if found else []
    return tuple(out)


def _identity(rank: int, source: str, host: str = "") -> Identity:
    return Identity(rank, source, host, host or None)


def _cluster(folder: Folder) -> FinderResult | None:
    """One span for each device of cluster_profiler/<host>/profiler; ranks from the rank table of the run folder."""
    try:
        hosts = hosts_of(folder.path)
    except OSError as error:
        raise_if_of_environment(error)
        unreadable = report.unreadable(f"{folder.label}/{CLUSTER_FOLDER}", error)
        return FinderResult(skipped=[unreadable], closed=frozenset({CLUSTER_FOLDER}))
    if not hosts:
        return None

    def ask(look: Look[T], entry: os.DirEntry[str]) -> T | None:
        file = found_file(entry, entry.name, (), [])
        return None if file is None else folder.look(look, file)

    table = read_rank_table(folder.entries, ask)
    taken = FinderResult(closed=frozenset({CLUSTER_FOLDER}))
    for host in hosts:
        prefix = f"{CLUSTER_FOLDER}/{host}/{FOLDER}/"
        try:
            entries = list_folder(folder.path / prefix)
        except OSError as error:
            raise_if_of_environment(error)
            taken.skipped.append(report.unreadable(f"{folder.label}/{prefix}", error))
            continue
        unread = unread_of(entries, prefix, MINDINSIGHT)
        declared = _declared_files(entries)
        absent = [rank for device, rank in table.devices_of(host).items() if device not in declared]
        if absent:
            ranks = ", ".join(map(str, sorted(absent)))
            place = f"{folder.label}/{prefix}"
            taken.skipped.append(report.skip("absent_ranks", place, table=table.source, ranks=ranks))
        for device, own in sorted(declared.items()):
            taken.found.append(replace(_device(folder, table, hosts, host, device, own), unread=unread))
    return taken


def hosts_of(run: Path) -> list[str]:
    """Sorted host numbers of a run folder. Raises OSError."""
    hosts = [entry.name for entry in list_folder(run / CLUSTER_FOLDER) if _has_profiler(entry)]
    return sorted(hosts, key=natural_key)


def _device(folder: Folder, table: RankTable, hosts: Sequence[str], host: str, device: int, entries: Entries) -> Found:
    rank, source = table.rank_of(host, device, hosts)
    notes: list[Problem] = [problem_of("assumed_rank", HOSTS_FILE, rank=rank)] if source == ASSUMED else []
    files = _files(entries, f"{CLUSTER_FOLDER}/{host}/{FOLDER}/", notes)
    parts = (*folder.parts, CLUSTER_FOLDER, host, f"device_{device}")
    identity = _identity(rank, source, f"host {report.decode_name(host)}")
    return folder.result(MINDINSIGHT, identity, files, notes, parts, folder.parts, f"device {device}")


def _has_profiler(entry: os.DirEntry[str]) -> bool:
    return is_folder(entry) and not entry.is_symlink() and Path(entry.path, FOLDER).is_dir()
