"""Walks a logdir and finds result folders. Reads names, sizes and times only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

Node = tuple[int, int]  # device and inode: what a folder is, by whatever path it is reached


@dataclass(frozen=True)
class Found:
    """A result folder: its path below the logdir and its files."""

    folder: Path
    parts: tuple[str, ...]
    files: tuple[FoundFile, ...]
    notes: tuple[Problem, ...]


@dataclass
class Walk:
    """One walk of one logdir. `seen` is called at the first result. Fills `found` and `skipped`."""

    name: str
    seen: Callable[[], None]
    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: int = 0

    def start(self, folder: Path) -> None:
        """Walk a logdir; one that is an ASCEND_PROFILER_OUTPUT itself means the result around it."""
        if folder.name == OUTPUT_FOLDER:
            folder = folder.parent
        try:
            node = _node(folder)
        except OSError as error:
            self.skipped.append(report.unreadable(self._label(()), error))
            return
        self._enter(folder, (), frozenset({node}))

    def _label(self, parts: tuple[str, ...]) -> str:
        return report.shown("/".join((*((self.name,) if self.name else ()), *parts))) or "."

    def _enter(self, folder: Path, parts: tuple[str, ...], above: frozenset[Node]) -> None:
        """Look at one folder and below it. `above`: the folders on the way here, against cycles of links."""
        self.folders += 1
        if len(parts) > layout.MAX_DEPTH:
            self.skipped.append(report.too_deep(self._label(parts), layout.MAX_DEPTH))
            return
        if self.folders > layout.MAX_FOLDERS:
            if self.folders == layout.MAX_FOLDERS + 1:
                self.skipped.append(report.too_many(self._label(parts), layout.MAX_FOLDERS))
            return
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            return  # it went away since its parent was listed
        except OSError as error:
            self.skipped.append(report.unreadable(self._label(parts), error))
            return
        name = parts[-1] if parts else folder.name
        folders = [entry for entry in entries if _is_dir(entry)]
        names = {entry.name for entry in folders}
        before = len(self.found) + len(self.skipped)
        closed = layout.CLOSED_FOLDERS if OUTPUT_FOLDER in names else frozenset()
        if OUTPUT_FOLDER in names:
            self._result(folder, parts, entries, any(layout.is_raw(item) for item in names))
            if layout.is_result_name(name):
                return
        elif any(layout.is_raw(item) for item in names):
            self.skipped.append(report.never_parsed(self._label(parts), report.shown(str(folder))))
        inner = [entry for entry in entries if entry.name not in closed and not layout.is_raw(entry.name)]
        self._below(parts, inner, above)
        if len(self.found) + len(self.skipped) > before:
            return
        if layout.is_result_name(name):
            self.skipped.append(report.empty(self._label(parts)))
        elif any(layout.in_output(entry.name) for entry in entries if _is_file(entry)):
            self.skipped.append(report.misplaced(self._label(parts)))

    def _below(self, parts: tuple[str, ...], entries: list[os.DirEntry[str]], above: frozenset[Node]) -> None:
        """Go into the folders among the entries, links included."""
        for entry in entries:
            place = (*parts, entry.name)
            try:
                if not entry.is_dir():
                    if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 (hot loop)
                        self.skipped.append(report.dangling(self._label(place)))
                    continue
                node = _node(Path(entry.path))
            except OSError as error:
                self.skipped.append(report.unreadable(self._label(place), error))
                continue
            if node in above:
                self.skipped.append(report.cycle(self._label(place)))
            else:
                self._enter(Path(entry.path), place, above | {node})

    def _result(self, folder: Path, parts: tuple[str, ...], root: list[os.DirEntry[str]], raw: bool) -> None:
        """Take a folder that has an ASCEND_PROFILER_OUTPUT, or say why not."""
        label = self._label(parts)
        try:
            with os.scandir(folder / OUTPUT_FOLDER) as listing:
                output = sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            self.skipped.append(report.unreadable(f"{label}/{OUTPUT_FOLDER}", error))
            return
        notes: list[Problem] = []
        files = _files([entry for entry in output if layout.in_output(entry.name)], f"{OUTPUT_FOLDER}/", notes)
        if not files:
            if any(entry.name.endswith(layout.DATABASE_SUFFIX) for entry in output):
                self.skipped.append(report.database_only(label))
            elif raw:
                self.skipped.append(report.never_parsed(label, report.shown(str(folder))))
            else:
                self.skipped.append(report.empty(label))
            return
        name = parts[-1] if parts else folder.name
        if not layout.is_result_name(name):
            notes.append(_renamed(report.shown(name)))
        files += _files([entry for entry in root if layout.in_root(entry.name)], "", notes)
        self.found.append(Found(folder, parts, tuple(files), tuple(notes)))
        self.seen()


def _files(entries: list[os.DirEntry[str]], prefix: str, notes: list[Problem]) -> list[FoundFile]:
    """The entries as files; what cannot be used becomes a Problem."""
    names = {entry.name for entry in entries}
    files = []
    for entry in entries:
        relative = prefix + entry.name
        if entry.name.endswith(".gz") and entry.name[:-3] in names:
            notes.append(_twice(relative))
            continue
        try:
            if not entry.is_file():
                if not entry.is_dir():
                    notes.append(_gone(relative, "a symbolic link that leads nowhere"))
                continue
            status = entry.stat()
        except OSError as error:
            notes.append(_gone(relative, error.strerror or str(error)))
            continue
        files.append(FoundFile(relative, status.st_size, status.st_mtime_ns))
    return files


def _node(folder: Path) -> Node:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """A folder or a link to one; what cannot be told is none (`_below` reports it)."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _renamed(name: str) -> Problem:
    return Problem(
        "renamed_result", "", "", "a folder name that ends in _ascend_pt", name,
        "Nothing; host, process and time cannot be read from the name.", "Keep the name that the profiler gave.",
        severity="info",
    )  # fmt: skip


def _twice(relative: str) -> Problem:
    return Problem(
        "duplicate_file", relative, "", "one of the plain and the compressed file", "both",
        "Nothing: the plain file is read.", "Remove one of the two.", severity="info",
    )  # fmt: skip


def _gone(relative: str, found: str) -> Problem:
    return Problem(
        "unreadable_file", relative, "", "a readable file", found,
        "What this file holds.", "Restore the file or its permissions.",
    )  # fmt: skip
