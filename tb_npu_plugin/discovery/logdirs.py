"""Parses --logdir and --logdir_spec like TensorBoard."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tb_npu_plugin.schema.other_files import is_converted

_URI = re.compile(r"[a-zA-Z][0-9a-zA-Z.+-]*://")


def parse_logdirs(logdir: str, logdir_spec: str) -> Mapping[str, Path]:
    """{"": folder} for a logdir; {name: folder} for a logdir_spec ("name:path,path"), unnamed ones after their folder.

    Paths are absolute and need not exist. A path with a URI scheme is unchanged (the scan reports it). Folders of
    converted Summary events hold no profiles and are left out; a logdir that only they accompany needs no name.
    """
    if logdir:
        return {"": _folder(logdir)}
    entries = _parse_spec(logdir_spec)
    profiles = [(name, folder) for name, folder in entries if not is_converted(folder)]
    if len(profiles) == 1 < len(entries) and not profiles[0][0]:
        return {"": profiles[0][1]}
    return {unique: folder for unique, _, folder in _unique(profiles)}


def joined_logdirs(logdir_spec: str) -> list[tuple[str, ...]]:
    """Names, as of parse_logdirs, of folders to which a logdir_spec gives one name: the user wants them as one run."""
    profiles = [(name, folder) for name, folder in _parse_spec(logdir_spec) if not is_converted(folder)]
    same: dict[str, list[str]] = {}
    for unique, name, _ in _unique(profiles):
        if name:
            same.setdefault(name, []).append(unique)
    return [tuple(names) for names in same.values() if len(names) > 1]


def _unique(profiles: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, str, Path]]:
    """Yield the unique name, the given name and the folder of each."""
    taken: set[str] = set()
    for name, folder in profiles:
        unique, number = name or folder.name, 2
        while unique in taken:
            unique, number = f"{name or folder.name} ({number})", number + 1
        taken.add(unique)
        yield unique, name, folder


def shows_summaries(logdir_spec: str) -> bool:
    """Whether TensorBoard reads converted Summary events."""
    return any(is_converted(folder) for _, folder in _parse_spec(logdir_spec))


def _parse_spec(logdir_spec: str) -> list[tuple[str, Path]]:
    """Names ("" for none) and folders of a logdir_spec."""
    out = []
    for entry in filter(None, (part.strip() for part in logdir_spec.split(","))):
        name, path = "", entry
        plain = not _URI.match(entry) and not entry.startswith(("/", "~")) and not os.path.splitdrive(entry)[0]
        if plain and ":" in entry:
            name, _, path = entry.partition(":")
        out.append((name, _folder(path)))
    return out


def is_remote(folder: Path) -> bool:
    """Whether the logdir is on an object store (Path merges the two slashes of a URI)."""
    return re.match(r"[a-zA-Z][0-9a-zA-Z.+-]+:/", str(folder)) is not None


def _folder(path: str) -> Path:
    if _URI.match(path):
        return Path(path)
    return Path(path).expanduser().absolute()
