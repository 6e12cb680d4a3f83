"""Walks a logdir and finds result folders. Reads only names, sizes and times."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.finders import FINDERS
from tb_npu_plugin.discovery.found import FinderResult, Folder, Found, display_path, kind_of, list_folder
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.discovery.timeouts import FILE_LIMIT, FOLDER_LIMIT, run_with_timeout
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.summary_files import parse_summary_name
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

Node = tuple[int, int]  # device and inode: identity of a folder, whatever its path


@dataclass
class Walk:
    """One walk of one logdir. Calls `seen` for each folder with results; fills `found` and `skipped`.

    summaries  number of folders with Summary events of MindSpore
    """

    name: str
    seen: Callable[[], None]
    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: int = 0
    summaries: int = 0

    def start(self, folder: Path) -> None:
        """Walk a logdir; for an ASCEND_PROFILER_OUTPUT folder, its parent."""
        if folder.name == OUTPUT_FOLDER:
            folder = folder.parent
        try:
            node = _node(folder)
        except FileNotFoundError:
            self.skipped.append(report.absent(self._label(()), folder))
            return
        except OSError as error:
            self.skipped.append(report.unreadable(self._label(()), error))
            return
        self._enter(folder, (), frozenset({node}))

    def _label(self, parts: tuple[str, ...]) -> str:
        return display_path(self.name, parts) or "."

    def _enter(self, folder: Path, parts: tuple[str, ...], above: frozenset[Node]) -> None:
        """Examine a folder and its subfolders. `above`: its ancestors, to detect cycles of links."""
        self.folders += 1
        if len(parts) > layout.MAX_DEPTH:
            self.skipped.append(report.too_deep(self._label(parts), layout.MAX_DEPTH))
            return
        if self.folders > layout.MAX_FOLDERS:
            if self.folders == layout.MAX_FOLDERS + 1:
                self.skipped.append(report.too_many(self._label(parts), layout.MAX_FOLDERS))
            return
        try:
            here, all_taken = run_with_timeout(FOLDER_LIMIT, str(folder), lambda: self._apply_finders(folder, parts))
        except FileNotFoundError:
            return  # removed since its parent was listed
        except OSError as error:
            self.skipped.append(report.unreadable(self._label(parts), error))
            return
        entries = here.entries
        self.summaries += any(parse_summary_name(entry.name) for entry in entries)
        before = len(self.found) + len(self.skipped)
        closed: frozenset[str] = frozenset()
        for taken in all_taken:
            self.skipped += taken.skipped
            self.found += taken.found
            if taken.found:
                self.seen()
            closed |= taken.closed
        if any(taken.skips_subfolders for taken in all_taken):
            return
        self._walk_subfolders(parts, [entry for entry in entries if entry.name not in closed], above)
        if len(self.found) + len(self.skipped) > before:
            return
        if layout.is_result_name(here.name):
            self.skipped.append(report.empty_result(here.label))

    def _apply_finders(self, folder: Path, parts: tuple[str, ...]) -> tuple[Folder, list[FinderResult]]:
        """The folder and the results of its finders, up to the first with `skips_subfolders`. Raises OSError."""
        here = Folder(folder, parts, self._label(parts), list_folder(folder))
        all_taken = []
        for finder in FINDERS:
            taken = finder(here)
            if taken is not None:
                all_taken.append(taken)
                if taken.skips_subfolders:
                    break
        return here, [*all_taken, FinderResult(skipped=unusable_entries(here, all_taken))]

    def _walk_subfolders(
        self, parts: tuple[str, ...], entries: Sequence[os.DirEntry[str]], above: frozenset[Node]
    ) -> None:
        """Walk the folders among the entries, links included."""
        for entry in entries:
            place = (*parts, entry.name)
            try:
                if not entry.is_dir():
                    if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 (hot loop)
                        self.skipped.append(report.dangling_link(self._label(place)))
                    continue
                node = run_with_timeout(FILE_LIMIT, entry.path, partial(_node, Path(entry.path)))
            except OSError as error:
                self.skipped.append(report.unreadable(self._label(place), error))
                continue
            if node in above:
                self.skipped.append(report.cycle(self._label(place)))
            else:
                self._enter(Path(entry.path), place, above | {node})


def _node(folder: Path) -> Node:
    status = folder.stat()
    return status.st_dev, status.st_ino


def unusable_entries(folder: Folder, taken: Sequence[FinderResult]) -> list[Skipped]:
    """Entries that are named like results but unusable, and that no finder reported."""
    reported = {note.file.rpartition("/")[2] for one in taken for found in one.found for note in found.notes}
    reported |= {skipped.path.rpartition("/")[2] for one in taken for skipped in one.skipped}
    out = []
    for entry in folder.entries:
        if entry.name in reported:
            continue
        label = folder.label_of(entry.name)
        try:
            skipped = _skip_reason(entry, label)
        except OSError as error:
            skipped = report.unreadable(label, error, is_file=True)
        if skipped is not None:
            out.append(skipped)
    return out


def _skip_reason(entry: os.DirEntry[str], label: str) -> Skipped | None:
    """Raises OSError."""
    name = entry.name
    is_trace = kineto.HANDLER_NAME.fullmatch(name) is not None
    if layout.is_result_name(name):
        return None if entry.is_dir() or _is_dangling(entry) else report.not_a_folder(label)
    is_known = is_trace or any(format.file(name) is not None for format in FORMATS.values())
    if _is_dangling(entry):
        return None
    if not entry.is_file():
        return report.not_a_file(label, kind_of(entry)) if is_known else None
    return report.other_form(label) if kineto.HANDLER_END in name and not is_trace else None


def _is_dangling(entry: os.DirEntry[str]) -> bool:
    """A dangling link; the walk reports it."""
    return entry.is_symlink() and not entry.is_file() and not entry.is_dir() and not os.path.exists(entry.path)  # noqa: PTH110
