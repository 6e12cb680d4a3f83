"""The child process that unpacks one archive: `main`, started by store/archives.py with a line of JSON on stdin, answers with
one line on stdout.

An archive may be anything: only files of kinds that results consist of are written, never a link, a device or a path that
leads out of the target, and at most the given number of bytes.
"""

from __future__ import annotations

import errno
import json
import lzma
import os
import re
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, Optional

#: Names of archives that are unpacked.
ARCHIVE_END = re.compile(r"\.(?:zip|tar\.gz|tgz)$", re.IGNORECASE)
ARCHIVE = re.compile(f".+{ARCHIVE_END.pattern}", re.IGNORECASE)
#: Endings of the files of results; those of raw data, models and data sets are left in the archive.
_ENDS = (".json", ".csv", ".db", ".db-wal", ".db-journal", ".txt", ".gz")
#: Endings of archives, also of those that are not unpacked.
_PACKED = re.compile(r".+\.(?:zip|tgz|7z|rar|tar(?:\.\w+)?)", re.IGNORECASE)
#: Bytes of address space, CPU seconds for any archive, and for a MiB of it.
_MEMORY, _CPU, _CPU_PER_MIB = 1 << 30, 60, 4
#: Maximum members of an archive, folders above a member, and names that are kept of members left in the archive.
MAX_MEMBERS, _MAX_DEPTH, _NAMED = 200_000, 40, 5
_PIECE = 1 << 20
#: A member has the name of another, is below a file, or its name is too long.
_REFUSED = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    MemoryError,  # for more than the limit, which only damaged or hostile data need
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class TooLarge(Exception):
    """The archive holds more than it may."""


class _Member(NamedTuple):
    """A member: its name, its time in seconds since the epoch, and what opens its content; None for all but regular files."""

    name: str
    mtime: float
    open: Optional[Callable[[], Optional[IO[bytes]]]]
    is_folder: bool


@dataclass
class Unpacked:
    """What was left in an archive.

    others      number of members of other kinds, and the first names
    refused     number of members that are links, devices, archives, repeated, or lead out of the archive
    is_damaged  it ends early or cannot be unpacked; what could be saved was written
    """

    others: int = 0
    names: list[str] = field(default_factory=list)
    refused: int = 0
    is_damaged: bool = False


def unpack(archive: Path, target: Path, limit: int) -> Unpacked:
    """Unpack an archive into an empty folder. limit: maximum bytes written. Raises TooLarge or OSError."""
    out = Unpacked()
    latest = archive.stat().st_mtime
    room = limit
    made: set[Path] = set()
    try:
        for number, member in enumerate(_members(archive)):
            if number >= MAX_MEMBERS:
                raise TooLarge
            place = _place(member.name)
            if place is None or not (member.is_folder or member.open is not None) or _PACKED.fullmatch(place.name):
                out.refused += 1
                continue
            is_left = not member.is_folder and not place.name.lower().endswith(_ENDS)
            try:
                folder = target / (place if member.is_folder else place.parent)
                if folder not in made:
                    folder.mkdir(parents=True, exist_ok=True)
                    made.add(folder)
                if is_left:
                    out.others += 1
                    out.names += [str(place)] if len(out.names) < _NAMED else []
                elif member.open is not None:
                    room -= _write(member.open, target / place, room, (latest, min(max(0.0, member.mtime), latest)))
            except _DAMAGED:  # the next member may be whole
                out.is_damaged = True
            except OSError as error:
                if error.errno in _REFUSED:
                    out.refused += 1
                elif error.errno is None:  # bz2 says so that data are damaged
                    out.is_damaged = True
                else:
                    raise
    except _DAMAGED:
        out.is_damaged = True
    return out


def _place(name: str) -> Optional[Path]:
    """The path of a member below the target; None if it leads elsewhere."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in parts or len(parts) > _MAX_DEPTH:
        return None
    return Path(*parts)


def _write(open_content: Callable[[], Optional[IO[bytes]]], path: Path, room: int, times: tuple[float, float]) -> int:
    """Write a new file, which is removed if the content is damaged or exceeds the room. Returns its size."""
    size = 0
    with path.open("xb", buffering=0) as file:  # a buffer makes a small file three times as expensive
        try:
            content = open_content()
            while content is not None and (piece := content.read(_PIECE)):
                size += len(piece)
                if size > room:
                    raise TooLarge
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest) :]
            os.utime(file.fileno(), times)
        except (TooLarge, OSError, *_DAMAGED):
            path.unlink()
            raise
    return size


def _members(archive: Path) -> Iterator[_Member]:
    return _of_zip(archive) if archive.name.lower().endswith(".zip") else _of_tar(archive)


def _of_zip(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            mode = info.external_attr >> 16
            is_plain = mode >> 12 in (0, 0o10) or info.is_dir()
            mtime = 0.0
            with suppress(ValueError, OverflowError):
                mtime = time.mktime((*info.date_time, 0, 0, -1))
            is_file = is_plain and not info.is_dir()
            yield _Member(info.filename, mtime, partial(file.open, info) if is_file else None, info.is_dir())


def _of_tar(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r|gz") as file:
        for info in file:
            yield _Member(
                info.name, info.mtime, partial(file.extractfile, info) if info.isreg() else None, info.isdir()
            )
            file.members = []  # type: ignore[attr-defined]  # tarfile keeps all otherwise


def main() -> None:
    """Unpack the archive that stdin names."""
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    archive = Path(request["archive"])
    _impose(request["limit"], archive.stat().st_size)
    answer: dict[str, Any]
    try:
        answer = {"answer": vars(unpack(archive, Path(request["target"]), request["limit"]))}
    except TooLarge:
        answer = {"too_large": True}
    except OSError as error:
        answer = {"os_error": [error.errno, error.strerror or str(error)]}
    print(json.dumps(answer))


def _impose(limit: int, size: int) -> None:
    import resource

    os.nice(10)
    seconds = _CPU + _CPU_PER_MIB * (size >> 20)
    for which, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, limit)):
        with suppress(ValueError, OSError):  # the system has no such limit, or a lower one
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
