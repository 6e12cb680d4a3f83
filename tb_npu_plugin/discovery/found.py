"""Input and output types of finders, and the helpers they share. Each format has one finder: see walk.py."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional, TypeVar

from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.identity import Identity, fold
from tb_npu_plugin.discovery.look_client import Failure, Looks
from tb_npu_plugin.discovery.looks import Look
from tb_npu_plugin.discovery.model import FoundFile, modified_ns
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import NO_UNREAD, Unread
from tb_npu_plugin.printable import printable
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import Format

T = TypeVar("T")


@dataclass(frozen=True)
class Folder:
    """A folder reached by the walk.

    path      path on the disk
    parts     path below the logdir
    label     that path for display
    entries   its entries, sorted by name
    looks     answers what is inside files
    seen      called before a look, since names that ask for one show that there is a profile
    failures  why a look failed, by the file's path relative to the folder; the walk reports them
    unlisted  why a subfolder cannot be listed, by its name; the walk reports them
    """

    path: Path
    parts: tuple[str, ...]
    label: str
    entries: Sequence[os.DirEntry[str]]
    looks: Looks
    seen: Callable[[], None]
    failures: dict[str, Failure] = field(default_factory=dict)
    unlisted: dict[str, OSError] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.parts[-1] if self.parts else self.path.name

    def label_of(self, name: str) -> str:
        """Path of an entry for display."""
        return report.decode_name(name if self.label == "." else f"{self.label}/{name}")

    def look(self, look: Look[T], file: FoundFile) -> T | None:
        """What is inside a file; None if the look failed."""
        self.seen()
        found = self.looks.ask(look, str(self.path / file.relative), file.size, file.mtime_ns)
        if isinstance(found, Failure):
            self.failures[file.relative] = found
            return None
        return found

    def inner(self, name: str) -> Sequence[os.DirEntry[str]]:
        """Entries of a subfolder; none if it does not exist or cannot be listed. Raises what the machine refuses."""
        try:
            return list_folder(self.path / name)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise_if_of_environment(error)
            self.unlisted[name] = error
            return ()

    def result(
        self,
        format: Format,
        identity: Identity,
        files: Sequence[FoundFile],
        notes: Sequence[Problem],
        parts: tuple[str, ...] | None = None,
        run: tuple[str, ...] | None = None,
        label: str = "",
        unread: Unread = NO_UNREAD,
    ) -> Found:
        """A span of files in this folder; see Found. By default it is the folder's only one, and named as the folder."""
        own = self.parts if parts is None else parts
        run = fold(self.parts) if run is None else run
        label = label or report.decode_name(self.name)
        return Found(format.id, self.path, own, run, identity, tuple(files), tuple(notes), label, unread=unread)

    @property
    def folders(self) -> list[str]:
        """Names of its subfolders."""
        return [entry.name for entry in self.entries if is_folder(entry)]


@dataclass(frozen=True)
class Found:
    """One span.

    format    id of schema.formats.FORMATS
    folder    folder that file paths are relative to
    parts     path below the logdir, extended by a part that separates spans of one folder
    run       path of its run below the logdir
    label     display name if the capture time is unknown
    part      the span's part of files shared by several spans; "" for unshared files
    unread    files in the folder that no reader uses
    """

    format: str
    folder: Path
    parts: tuple[str, ...]
    run: tuple[str, ...]
    identity: Identity
    files: tuple[FoundFile, ...]
    notes: tuple[Problem, ...] = ()
    label: str = ""
    part: str = ""
    unread: Unread = NO_UNREAD


@dataclass
class FinderResult:
    """Result of a finder for one folder.

    closed            names of subfolders that the walk skips
    skips_subfolders  the walk skips all subfolders
    """

    found: list[Found] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    closed: frozenset[str] = frozenset()
    skips_subfolders: bool = False


#: Maximum number of unread files that are listed by name.
MAX_UNREAD = 100
#: Examines names, sizes and times of a folder, and what looks say; returns None for a folder of another format.
Finder = Callable[[Folder], Optional[FinderResult]]


def is_folder(entry: os.DirEntry[str]) -> bool:
    """True for a folder or a link to one; False if stat fails (the walk reports it)."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """True for a file or a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def files_of(entries: Sequence[os.DirEntry[str]], prefix: str, format: Format, notes: list[Problem]) -> list[FoundFile]:
    """The entries that the format declares, as files relative to the result; unusable ones are added to `notes`, and all that are
    neither file nor folder. `prefix`: path of the entries' folder, with a trailing slash."""
    names = {entry.name for entry in entries}
    files = []
    for entry in entries:
        spec, relative = format.file(entry.name), prefix + entry.name
        if spec is None:
            if prefix and not is_file(entry) and not is_folder(entry):  # the walk names those of other folders
                found_file(entry, relative, (), notes)
            continue
        if entry.name.endswith(".gz") and entry.name[:-3] in names:
            notes.append(problem_of("duplicate_file", relative))
            continue
        found = found_file(entry, relative, spec.stages, notes, spec.fallback)
        if found is not None:
            files.append(found)
    return files


def found_file(
    entry: os.DirEntry[str], relative: str, stages: tuple[Stage, ...], notes: list[Problem], fallback: bool = False
) -> FoundFile | None:
    """The file with its size and time; None for a folder and for an unusable file, which is added to `notes`."""
    try:
        if not entry.is_file():
            notes.append(_unreadable_file(relative, kind_of(entry)))
            return None
        status = entry.stat()
    except OSError as error:
        raise_if_of_environment(error)
        notes.append(_unreadable_file(relative, error.strerror or str(error)))
        return None
    return FoundFile(relative, status.st_size, modified_ns(entry.path, status), stages, fallback)


def kind_of(entry: os.DirEntry[str]) -> str:
    """Name of the kind of an entry that is not a file, with links followed. Raises OSError."""
    try:
        mode = entry.stat().st_mode
    except FileNotFoundError:
        return Message("found.dangling_link")
    if stat.S_ISDIR(mode):
        return Message("found.folder")
    if stat.S_ISFIFO(mode):
        return Message("found.pipe")
    return Message("found.socket") if stat.S_ISSOCK(mode) else Message("found.device")


def unread_of(entries: Sequence[os.DirEntry[str]], prefix: str, format: Format) -> Unread:
    """The entries that the format does not declare; see files_of."""
    files: list[tuple[str, int]] = []
    more = 0
    for entry in entries:
        spec = format.file(entry.name)
        if (spec is not None and not (spec.in_root and prefix)) or not is_file(entry):
            continue
        if len(files) == MAX_UNREAD:
            more += 1
            continue
        try:
            files.append((printable(prefix + entry.name), entry.stat().st_size))
        except FileNotFoundError:
            continue  # removed since the folder was listed
    return Unread(tuple(files), more)


def list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """Entries of a folder, sorted by name. Raises OSError."""
    with os.scandir(folder) as listing:
        return sorted(listing, key=lambda entry: entry.name)


def display_path(name: str, parts: Sequence[str]) -> str:
    """A path below a logdir for display, prefixed with the logdir's name in --logdir_spec."""
    return report.decode_name("/".join((*((name,) if name else ()), *parts)))


def _unreadable_file(relative: str, found: str) -> Problem:
    return problem_of(
        "unreadable_file",
        relative,
        expected=Message("expected.readable_file"),
        found=found,
        lost=Message("lost.file_content"),
        action=Message("action.restore_file"),
    )
