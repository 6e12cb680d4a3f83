"""Finds Summary files below a logdir and groups them into runs of TensorBoard."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tb_npu_plugin.discovery.layout import is_raw, is_result_name
from tb_npu_plugin.schema.other_files import SummaryName, parse_summary_name

#: Part of the names of TensorBoard's own event files.
TENSORBOARD_MARK = "tfevents"
#: Last part of the name of a run whose folder also holds files of TensorBoard, which have the folder's name.
OWN_RUN = "mindspore"


@dataclass(frozen=True)
class SummaryRun:
    """One run: its name (a path below the logdir, "" for the logdir itself), its event file, then its lineage files."""

    name: str
    files: tuple[Path, ...]


def find_runs(logdir: Path) -> list[SummaryRun]:
    """All runs below a logdir, links to folders included. Results of profilers are not searched."""
    runs: dict[str, SummaryRun] = {}
    for folder, names in _walk(logdir):
        for run in _runs_of(logdir, folder, names):
            unique, number = run.name, 2
            while unique in runs:
                unique, number = f"{run.name} ({number})", number + 1
            runs[unique] = replace(run, name=unique)
    return list(runs.values())


def _walk(logdir: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders with the names of their files. A folder that several links reach is listed once."""
    seen: set[tuple[int, int]] = set()
    for path, folders, names in os.walk(logdir, followlinks=True):
        folders.sort()
        node = _node(path)
        if node is None or node in seen:
            folders.clear()
            continue
        seen.add(node)
        folders[:] = [name for name in folders if not (is_result_name(name) or is_raw(name))]
        yield Path(path), names


def _node(path: str) -> tuple[int, int] | None:
    """Identity of a folder; None if it was removed."""
    try:
        status = os.stat(path)  # noqa: PTH116 (os.walk has strings)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _runs_of(logdir: Path, folder: Path, names: Sequence[str]) -> Iterator[SummaryRun]:
    """The runs of a folder: each event file is one, with the lineage of its rank that was begun after it and before the
    next. The first run of a rank has the folder's name; later ones add the second in which they began."""
    by_rank: dict[int, list[tuple[SummaryName, str]]] = defaultdict(list)
    for name in names:
        parsed = parse_summary_name(name)
        if parsed is not None:
            by_rank[parsed.rank].append((parsed, name))
    place = folder.relative_to(logdir).parts
    if by_rank and any(TENSORBOARD_MARK in name for name in names):
        place = (*place, OWN_RUN)
    for rank in sorted(by_rank):
        own = place if rank == min(by_rank) else (*place, f"rank_{rank}")
        for number, files in enumerate(_split(sorted(by_rank[rank]))):
            parts = own if number == 0 else (*own, str(files[0][0].second))
            yield SummaryRun("/".join(parts), tuple(folder / name for _, name in files))


def _split(files: Sequence[tuple[SummaryName, str]]) -> list[list[tuple[SummaryName, str]]]:
    """Split files by time before each event file but the first."""
    out: list[list[tuple[SummaryName, str]]] = []
    has_events = True
    for file in files:
        if not out or (has_events and not file[0].is_lineage):
            out.append([])
            has_events = False
        out[-1].append(file)
        has_events |= not file[0].is_lineage
    return out
