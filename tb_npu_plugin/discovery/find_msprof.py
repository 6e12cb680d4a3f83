"""Finds results of plain msprof runs: PROF_* folders with an export."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.found import FinderResult, Folder, files_of, list_folder, unread_of
from tb_npu_plugin.discovery.identity import Identity, fold
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.report import decode_name
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, list_places, problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema import msprof
from tb_npu_plugin.schema.formats import MSPROF, TORCH_NPU
from tb_npu_plugin.schema.torch_npu_csv import API_STATISTIC, KERNELS, OP_STATISTIC, TASK_TIME
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER, TRACE_VIEW

_STAMP = re.compile(r"\d{14,}")
#: Files whose names are no others', outside an export.
_TELLING = frozenset(file.id for file in (KERNELS, OP_STATISTIC, API_STATISTIC, TASK_TIME, TRACE_VIEW))


def find_msprof(folder: Folder) -> FinderResult | None:
    """Take a folder with an msprof export (text files, a database, or both), whatever its name; also with text files that were
    copied out of their folder."""
    notes: list[Problem] = []
    with_text = msprof.OUTPUT_FOLDER in folder.folders
    own = [] if _is_of_a_framework(folder) else files_of(folder.entries, "", MSPROF, notes)
    databases = [file for file in own if msprof.MSPROF_DATABASE.matches(file.name)]
    is_copied = not with_text and any(_id_of(file) in _TELLING for file in own)
    if not with_text and not databases and not is_copied:
        return FinderResult(skipped=[_never_exported(folder)], skips_subfolders=True) if _is_raw(folder) else None
    try:
        output = list_folder(folder.path / msprof.OUTPUT_FOLDER) if with_text else []
    except OSError as error:
        raise_if_of_environment(error)
        return FinderResult(
            skipped=[report.unreadable(f"{folder.label}/{msprof.OUTPUT_FOLDER}", error)], skips_subfolders=True
        )
    exported = files_of(output, f"{msprof.OUTPUT_FOLDER}/", MSPROF, notes)
    files = newest([*exported, *(own if is_copied else databases)], notes)
    if not files:
        return FinderResult(skipped=[_never_exported(folder)], skips_subfolders=True)
    identity = _identity(folder, folder.parts or (folder.path.name,))
    unread = unread_of(output, f"{msprof.OUTPUT_FOLDER}/", MSPROF)
    found = folder.result(MSPROF, identity, files, notes, unread=unread)
    return FinderResult([found], skips_subfolders=with_text or bool(databases))


def _id_of(file: FoundFile) -> str:
    spec = MSPROF.file(file.name)
    assert spec is not None, "files_of takes no others"
    return spec.id


def _is_of_a_framework(folder: Folder) -> bool:
    """Whether a framework's profiler wrote the folder; find_ascend then takes the database too."""
    others = (TORCH_NPU.file(entry.name) for entry in folder.entries)
    return OUTPUT_FOLDER in folder.folders or any(spec not in (None, msprof.MSPROF_DATABASE) for spec in others)


def databases_in(entries: Sequence[os.DirEntry[str]], prefix: str, notes: list[Problem]) -> list[FoundFile]:
    """Databases of a PROF_* folder; see files_of."""
    named = [entry for entry in entries if msprof.MSPROF_DATABASE.matches(entry.name)]
    return files_of(named, prefix, MSPROF, notes)


def is_exported(path: Path) -> bool:
    """Whether a PROF_* folder may hold an export, as one that cannot be listed: the walk enters and reports it."""
    try:
        names = [entry.name for entry in list_folder(path)]
    except OSError as error:
        raise_if_of_environment(error)
        return True
    return msprof.OUTPUT_FOLDER in names or any(map(msprof.MSPROF_DATABASE.matches, names))


def _is_raw(folder: Folder) -> bool:
    """Whether this is a PROF_* folder as msprof records it."""
    inner = any(name == msprof.HOST_FOLDER or msprof.DEVICE_FOLDER.fullmatch(name) for name in folder.folders)
    return inner and msprof.FOLDER_NAME.fullmatch(folder.name) is not None


def _never_exported(folder: Folder) -> report.Skipped:
    return report.never_exported(folder.label, MSPROF.analyse, folder.path)


def newest(files: list[FoundFile], notes: list[Problem]) -> list[FoundFile]:
    """Files of the latest export only (names hold the export time), with all pieces of split files."""
    by_spec: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files:
        by_spec[_id_of(file)].append(file)
    kept = []
    for own in by_spec.values():
        last = max(own, key=_export_time)
        pieces = [
            file for file in own if file is last or _name_without_piece(file) == _name_without_piece(last) is not None
        ]
        notes += [problem_of("older_export", file.relative) for file in own if file not in pieces]
        notes += _gaps(pieces)
        kept += sorted(pieces, key=lambda file: _piece_number(file) or 0)
    return kept


def _piece_number(file: FoundFile) -> int | None:
    spec = MSPROF.file(file.name)
    return None if spec is None else spec.piece(file.name)


def _name_without_piece(file: FoundFile) -> str | None:
    """Name that the pieces of a split file share; None for other files."""
    number = _piece_number(file)
    return None if number is None else file.relative.replace(f"{msprof.PIECE_MARK}{number}", "", 1)


def _gaps(pieces: list[FoundFile]) -> list[Problem]:
    """A problem for each missing piece of a split file."""
    there = {number for number in map(_piece_number, pieces) if number is not None}
    lost = [number for number in range(max(there, default=0)) if number not in there]
    return [_missing_piece(pieces[0], lost, len(there))] if lost else []


def _export_time(file: FoundFile) -> tuple[str, str]:
    found = _STAMP.findall(file.name)
    return (found[-1] if found else "", file.name)


def _identity(folder: Folder, parts: tuple[str, ...]) -> Identity:
    """Identity: time from the folder's name, rank from the parent folders; without a rank the device identifies the
    process."""
    named = msprof.FOLDER_NAME.fullmatch(parts[-1])
    devices = [found.group("device") for name in folder.folders if (found := msprof.DEVICE_FOLDER.fullmatch(name))]
    above = parts[len(fold(parts)) : -1]
    ranks = [found for part in reversed(above) if (found := layout.RANK_FOLDER.fullmatch(part))]
    return Identity(
        rank=int(ranks[0].group("rank")) if ranks else None,
        rank_source="folder name" if ranks else "",
        worker_name=f"device {devices[0]}" if len(devices) == 1 else "",
        stamp=(named.group("time") or "") if named else "",
        node="/".join(decode_name(part) for part in above if layout.NODE_FOLDER.fullmatch(part)),
    )


def _missing_piece(file: FoundFile, lost: list[int], there: int) -> Problem:
    """file: one of the pieces. lost: numbers of the missing ones."""
    begin, _, end = file.name.rpartition(f"{msprof.PIECE_MARK}{_piece_number(file)}")
    return problem_of(
        "missing_piece",
        file.relative,
        list_places([f"{begin}{msprof.PIECE_MARK}{number}{end}" for number in lost]),
        found=Message("found.pieces", count=there),
        count=len(lost) + there,
    )
