"""What can happen to a file, as functions on its path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]
PAGE = b"<!DOCTYPE html><html><body><h1>504 Gateway Time-out</h1></body></html>\n"


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    """The first half, as after a full disk."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def renamed(path: Path) -> None:
    path.rename(path.with_name(f"copy of {path.name}"))


def utf16(path: Path) -> None:
    """Saved by a spreadsheet or an editor in another encoding."""
    path.write_bytes(path.read_bytes().decode("utf-8", "replace").encode("utf-16"))


def replaced(path: Path) -> None:
    """A proxy's error page where a download should be."""
    path.write_bytes(PAGE)


def zeros(path: Path) -> None:
    """Zeros to the end of a block, as after a crash of the host."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4] + bytes(4096))


def folder(path: Path) -> None:
    """A folder of that name."""
    path.unlink()
    path.mkdir()


#: Words of the table -> what is done.
DAMAGES: dict[str, Damage] = {
    "removed": removed,
    "emptied": emptied,
    "cut in the middle": cut,
    "renamed": renamed,
    "saved as UTF-16": utf16,
    "replaced by an error page": replaced,
    "ends in zeros": zeros,
    "a folder of that name": folder,
}
