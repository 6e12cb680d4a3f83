"""Parses --logdir and --logdir_spec like TensorBoard."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_URI = re.compile(r"[a-zA-Z][0-9a-zA-Z.+-]*://")


def parse_logdirs(logdir: str, logdir_spec: str) -> Mapping[str, Path]:
    """{"": folder} for a logdir; {name: folder} for a logdir_spec ("name:path,path"), unnamed ones after their folder.

    Paths are absolute and need not exist. A path with a URI scheme is unchanged (the scan reports it).
    """
    if logdir:
        return {"": _folder(logdir)}
    named: dict[str, Path] = {}
    for entry in filter(None, (part.strip() for part in logdir_spec.split(","))):
        name, path = "", entry
        plain = not _URI.match(entry) and not entry.startswith(("/", "~")) and not os.path.splitdrive(entry)[0]
        if plain and ":" in entry:
            name, _, path = entry.partition(":")
        folder = _folder(path)
        name = name or folder.name
        unique, number = name, 2
        while unique in named:
            unique, number = f"{name} ({number})", number + 1
        named[unique] = folder
    return named


def is_remote(folder: Path) -> bool:
    """Whether the logdir is on an object store (Path merges the two slashes of a URI)."""
    return re.match(r"[a-zA-Z][0-9a-zA-Z.+-]+:/", str(folder)) is not None


def _folder(path: str) -> Path:
    if _URI.match(path):
        return Path(path)
    return Path(path).expanduser().absolute()
