"""Walks a logdir and finds result folders. Reads only names, sizes and times."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tb_npu_plugin.discovery import layout, report
from tb_npu_plugin.discovery.find_ascend import find_ascend
from tb_npu_plugin.discovery.find_cluster import find_cluster
from tb_npu_plugin.discovery.find_kineto import find_exported, find_kineto
from tb_npu_plugin.discovery.find_mindinsight import find_mindinsight
from tb_npu_plugin.discovery.find_msprof import find_msprof
from tb_npu_plugin.discovery.find_tables import CSV_ENDS, find_tables
from tb_npu_plugin.discovery.found import (
    Finder,
    FinderResult,
    Folder,
    Found,
    display_path,
    is_file,
    kind_of,
    list_folder,
)
from tb_npu_plugin.discovery.look_client import Looks
from tb_npu_plugin.discovery.model import OpenArchive, OtherFiles
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.discovery.timeouts import FILE_LIMIT, FOLDER_LIMIT, run_with_timeout
from tb_npu_plugin.discovery.unpack import ARCHIVE, ARCHIVE_END
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.problems import problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema import kineto, msprof
from tb_npu_plugin.schema.core import DATABASE_SUFFIX
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.other_files import OtherFile, find_other, parse_summary_name
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

#: All finders, in the order in which they are called: these while the walk enters folders, the last ones after it.
FINDERS: tuple[Finder, ...] = (find_ascend, find_mindinsight, find_msprof, find_cluster, find_kineto)
#: They look into files that may be anything, and wait until all that names show has been found.
LAST_FINDERS: tuple[Finder, ...] = (find_exported, find_tables)
logger = package_logger(__name__)
#: Folders that are no results without the folder around them.
OUTPUT_FOLDERS = (OUTPUT_FOLDER, msprof.OUTPUT_FOLDER)
#: Names that are listed of the other files of a folder.
NAMED_OTHERS = 5
Node = tuple[int, int]  # device and inode: identity of a folder, whatever its path


@dataclass
class Walk:
    """One walk of one logdir. Calls `seen` for each folder with results; fills `found` and `skipped`.

    A folder is entered once, whatever links lead to it: by its own path if that is below the logdir, else by the first link.

    summaries  number of folders with Summary events of MindSpore
    others     files and folders that are neither found nor skipped
    """

    name: str
    seen: Callable[[], None]
    looks: Looks
    open_archive: OpenArchive | None = None
    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: int = 0
    summaries: int = 0
    others: list[OtherFiles] = field(default_factory=list)
    #: Archives with the path of their folder, which are opened when all folders have been entered.
    _archives: list[tuple[os.DirEntry[str], tuple[str, ...]]] = field(default_factory=list)
    _is_in_archive: bool = False
    #: Folders that archives were opened as.
    _of_archives: set[tuple[str, ...]] = field(default_factory=set)
    #: By folder: names of files, and of folders that are not entered with "/", that no finder took.
    _left: list[tuple[Folder, list[str]]] = field(default_factory=list)
    _entered: dict[Node, tuple[str, ...]] = field(default_factory=dict)
    #: Links to folders, which are followed when all folders that are none have been entered.
    _links: deque[tuple[os.DirEntry[str], tuple[str, ...], Node]] = field(default_factory=deque)
    _follows_links: bool = False
    #: Folders for the last finders, and result folders without anything so far.
    _unnamed: list[Folder] = field(default_factory=list)
    _empty: list[Folder] = field(default_factory=list)
    #: By parent: a link to a folder that was entered before, that folder, and how many more are beside it.
    _same: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...], int]] = field(default_factory=dict)

    def start(self, folder: Path) -> None:
        """Walk a logdir; for an ASCEND_PROFILER_OUTPUT folder, its parent."""
        if folder.name == OUTPUT_FOLDER:
            folder = folder.parent
        try:
            node = _node(folder)
        except FileNotFoundError:
            # TensorBoard treats `--logdir=a,b` as one folder name.
            action = "action.use_logdir_spec" if "," in str(folder) else ""
            self.skipped.append(report.skip("absent", self._label(()), action=action))
            return
        except OSError as error:
            self.skipped.append(report.unreadable(self._label(()), error))
            return
        self._enter(folder, (), node)
        self._follows_links = True
        while self._links:
            entry, parts, node = self._links.popleft()
            if node in self._entered:
                self._again(parts, self._entered[node])
            else:
                self._enter(Path(entry.path), parts, node)
        self._is_in_archive = True
        for entry, parts in self._archives:
            try:
                self._enter_archive(entry, parts)
            except OSError as error:
                self.skipped.append(report.unreadable(self._label((*parts, entry.name)), error, is_file=True))
        for link, first, more in self._same.values():
            self.skipped.append(
                report.skip(
                    "same_folders" if more else "same_folder", self._label(link), path=self._label(first), more=more
                )
            )
        for here in self._unnamed:
            self._apply_last(here)
        for here in self._empty:
            if not any(found.parts[: len(here.parts)] == here.parts for found in self.found):
                self.skipped.append(report.skip("empty", here.label))
        self._report_others()

    def _enter_archive(self, entry: os.DirEntry[str], parts: tuple[str, ...]) -> None:
        """Walk the members of an archive as if it was unpacked where it is: into its only folder, else one of its name, which also
        holds a folder that another archive has. Raises OSError."""
        label = self._label((*parts, entry.name))
        status = entry.stat()
        if self.open_archive is None:
            self.skipped.append(report.skip("packed", label))
            return
        opened = self.open_archive(Path(entry.path), status.st_size, status.st_mtime_ns)
        if opened.folder is None:
            is_waiting = opened.reason == Message("skipped.packed")
            action = Message("action.nothing_rescan" if is_waiting else "action.unpack_by_hand")
            self.skipped.append(Skipped(label, opened.reason, action))
            return
        if opened.others:
            self.others.append(OtherFiles(label, opened.others, tuple(map(printable, opened.names))))
        if opened.is_damaged:
            self.skipped.append(report.skip("damaged_archive", label))
        inner = list_folder(opened.folder)
        is_folder = len(inner) == 1 and inner[0].is_dir() and inner[0].name not in OUTPUT_FOLDERS
        folder = Path(inner[0].path) if is_folder else opened.folder
        own = [(ARCHIVE_END.sub("", entry.name),), (entry.name,)]
        places = (
            [(*parts, *home, folder.name) for home in [(), *own]] if is_folder else [(*parts, *home) for home in own]
        )
        place = next((one for one in places if one not in self._of_archives), places[-1])
        self._of_archives.add(place)
        if place in self._entered.values():
            self.skipped.append(report.skip("unpacked_beside", label, path=self._label(place)))
            return
        before = len(self.skipped)
        self._enter(folder, place, _node(folder))
        for number, item in enumerate(self.skipped[before:], before):
            if item.command:  # of raw data, which was left in the archive
                self.skipped[number] = replace(item, action=Message("action.unpack_first"), command="")
        if opened.refused:
            self.skipped.append(report.skip("refused_members", label, count=opened.refused))

    def _report_others(self) -> None:
        """List what no finder took: profiles of other programs by kind, the rest by folder."""
        found = {(one.folder, file.relative) for one in self.found for file in one.files}
        skipped = {one.path for one in self.skipped}
        for here, names in self._left:
            by_kind: dict[OtherFile, list[str]] = {}
            rest = []
            for name in names:
                if (here.path, name) in found or here.label_of(name.rstrip("/")) in skipped:
                    continue
                kind = find_other(name)
                if kind is not None and kind.program:
                    by_kind.setdefault(kind, []).append(name)
                else:
                    rest.append(printable(name))
            for kind, own in by_kind.items():
                code, place = "other_files" if len(own) > 1 else "other_file", here.label_of(own[0].rstrip("/"))
                more = len(own) - 1
                self.skipped.append(report.skip(code, place, what=kind.title, program=kind.program, more=more))
            if rest:
                self.others.append(OtherFiles(here.label, len(rest), tuple(rest[:NAMED_OTHERS])))

    def _apply_last(self, here: Folder) -> None:
        """Add what the last finders take in a folder."""
        try:
            all_taken = run_with_timeout(FOLDER_LIMIT, str(here.path), lambda: self._apply(LAST_FINDERS, here))
        except (OSError, MemoryError) as error:
            self.skipped.append(report.unreadable(here.label, error))
            return
        for taken in all_taken:
            self.skipped += taken.skipped
            self.found += taken.found

    def _again(self, parts: tuple[str, ...], first: tuple[str, ...]) -> None:
        """Note another path of a folder that has been entered by the path `first`."""
        if parts[: len(first)] == first:
            self.skipped.append(report.skip("cycle", self._label(parts)))
            return
        link, noted, more = self._same.get(parts[:-1], (parts, first, -1))
        self._same[parts[:-1]] = link, noted, more + 1

    def _label(self, parts: tuple[str, ...]) -> str:
        return display_path(self.name, parts) or "."

    def _enter(self, folder: Path, parts: tuple[str, ...], node: Node) -> None:
        """Examine a folder and its subfolders."""
        self._entered[node] = parts
        self.folders += 1
        if len(parts) > layout.MAX_DEPTH:
            self.skipped.append(report.skip("too_deep", self._label(parts), depth=layout.MAX_DEPTH))
            return
        if self.folders > layout.MAX_FOLDERS:
            if self.folders == layout.MAX_FOLDERS + 1:
                self.skipped.append(report.skip("too_many", self._label(parts), count=layout.MAX_FOLDERS))
            return
        try:
            here, all_taken = run_with_timeout(FOLDER_LIMIT, str(folder), lambda: self._examine(folder, parts))
        except FileNotFoundError:
            return  # removed since its parent was listed
        except (OSError, MemoryError) as error:
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
            closed |= frozenset(here.folders)
        closed |= frozenset(name for name in here.folders if _is_of_another_program(name))
        left = _left_over(here, all_taken, closed)
        if not self._is_in_archive:  # archives in archives were refused
            archives = {name for name in left if ARCHIVE.fullmatch(name)}
            self._archives += [(entry, parts) for entry in entries if entry.name in archives]
            left = [name for name in left if name not in archives]
        if left:
            self._left.append((here, left))
        if any(taken.skips_subfolders for taken in all_taken):
            return
        if any(entry.name.lower().endswith((*kineto.JSON_ENDS, *CSV_ENDS, DATABASE_SUFFIX)) for entry in entries):
            self._unnamed.append(replace(here, seen=lambda: None, failures={}))
        self._walk_subfolders(parts, [entry for entry in entries if entry.name not in closed])
        if len(self.found) + len(self.skipped) == before and layout.is_result_name(here.name):
            self._empty.append(here)

    def _examine(self, folder: Path, parts: tuple[str, ...]) -> tuple[Folder, list[FinderResult]]:
        """The folder and what its finders take. Raises OSError if it cannot be listed, or what the machine refuses."""
        here = Folder(folder, parts, self._label(parts), list_folder(folder), self.looks, self.seen)
        all_taken = self._apply(FINDERS, here)
        return here, [*all_taken, FinderResult(skipped=unusable_entries(here, all_taken))]

    def _apply(self, finders: Sequence[Finder], here: Folder) -> list[FinderResult]:
        """What the finders take, up to the first with `skips_subfolders`, and what could not be looked at. A finder that
        fails costs its own result. Raises what the machine refuses."""
        all_taken = []
        for finder in finders:
            try:
                taken = finder(here)
            except Exception as error:  # a defect of this plugin must not hide other results
                raise_if_of_environment(error)
                if isinstance(error, OSError):
                    taken = FinderResult(skipped=[report.unreadable(here.label, error)])
                else:
                    logger.exception("%s failed in %s", finder.__name__, printable(str(here.path)))
                    taken = FinderResult(skipped=[report.skip("internal_error", here.label)])
            if taken is not None:
                all_taken.append(taken)
                if taken.skips_subfolders:
                    break
        unlisted = [report.unreadable(here.label_of(name), error) for name, error in here.unlisted.items()]
        return [*all_taken, FinderResult(skipped=[*unlisted, *report_failures(here, all_taken)])]

    def _walk_subfolders(self, parts: tuple[str, ...], entries: Sequence[os.DirEntry[str]]) -> None:
        """Walk the folders among the entries; links to folders are left for the end."""
        for entry in entries:
            place = (*parts, entry.name)
            try:
                if not entry.is_dir():
                    if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 (hot loop)
                        self.skipped.append(report.skip("dangling_link", self._label(place)))
                    continue
                node = run_with_timeout(FILE_LIMIT, entry.path, partial(_node, Path(entry.path)))
            except OSError as error:
                self.skipped.append(report.unreadable(self._label(place), error))
                continue
            if entry.is_symlink():
                self._links.append((entry, place, node))
            elif self._follows_links and node in self._entered:
                self._again(place, self._entered[node])
            else:  # numbers of inodes alone would not do: some file systems use them again
                self._enter(Path(entry.path), place, node)


def _is_of_another_program(folder: str) -> bool:
    kind = find_other(f"{folder}/")
    return kind is not None and kind.program != ""


def _left_over(folder: Folder, all_taken: Sequence[FinderResult], closed: Set[str]) -> list[str]:
    """Names of files that no finder took, and of folders that are not entered, with "/"."""
    own = [found for taken in all_taken for found in taken.found if found.folder == folder.path]
    read = {file.relative for found in own for file in found.files}
    used = {relative.partition("/")[0] for relative in read} | {name for found in own for name, _ in found.unread.files}
    if any(found.unread.more for found in own):
        return []  # not all unread files are known by name
    names = [entry.name for entry in folder.entries if is_file(entry) and parse_summary_name(entry.name) is None]
    return [
        *(name for name in names if name not in used),
        *(f"{name}/" for name in sorted(closed - used) if name in folder.folders),
    ]


def _node(folder: Path) -> Node:
    status = folder.stat()
    return status.st_dev, status.st_ino


def report_failures(folder: Folder, taken: Sequence[FinderResult]) -> list[Skipped]:
    """Add looks that failed to the problems of the spans that have the file; those of other files are returned."""
    skipped = []
    for relative, failure in folder.failures.items():
        found, lost, action = failure.skipped.reason, Message("lost.look"), failure.skipped.action
        problem = problem_of("failed_look", relative, found=found, lost=lost, action=action)
        is_read = False
        for one in taken:
            for number, span in enumerate(one.found):
                if any(file.relative == relative for file in span.files):
                    one.found[number] = replace(span, notes=(*span.notes, problem))
                    is_read = True
        if not is_read:
            skipped.append(replace(failure.skipped, path=folder.label_of(relative)))
    return skipped


def unusable_entries(folder: Folder, taken: Sequence[FinderResult]) -> list[Skipped]:
    """Entries that are named like results but unusable, and those that are neither file nor folder, that no finder reported."""
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
        return None if entry.is_dir() or _is_dangling(entry) else report.skip("not_a_folder", label)
    is_known = is_trace or any(format.file(name) is not None for format in FORMATS.values())
    if _is_dangling(entry):
        return None
    if not entry.is_file():
        return report.skip("not_a_file", label, kind=kind_of(entry)) if is_known or not entry.is_dir() else None
    is_packed = ARCHIVE.fullmatch(name) is not None
    return report.skip("other_form", label) if kineto.HANDLER_END in name and not is_trace and not is_packed else None


def _is_dangling(entry: os.DirEntry[str]) -> bool:
    """A dangling link; the walk reports it."""
    return entry.is_symlink() and not entry.is_file() and not entry.is_dir() and not os.path.exists(entry.path)  # noqa: PTH110
