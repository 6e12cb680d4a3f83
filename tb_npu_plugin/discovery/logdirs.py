"""Parses --logdir and --logdir_spec like TensorBoard."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tb_npu_plugin.schema.summary_files import is_converted

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
    named: dict[str, Path] = {}
    for name, folder in profiles:
        name = name or folder.name
        unique, number = name, 2
        while unique in named:
            unique, number = f"{name} ({number})", number + 1
        named[unique] = folder
    return named


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
