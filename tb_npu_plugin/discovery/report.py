"""Skipped folders and files: the reason, and what to do. The kinds: skips.csv."""

from __future__ import annotations

import csv
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from tb_npu_plugin.messages import Message
from tb_npu_plugin.refusal import is_of_environment, refused


def decode_name(path: str) -> str:
    """A file name as text; invalid UTF-8 is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


@dataclass(frozen=True)
class Skipped:
    """A skipped folder that looks like a result or may contain some.

    path     relative to the logdir (prefixed with its name in --logdir_spec)
    reason   one sentence: why it was skipped
    action   one sentence: what to do
    command  the shell command that does it, or ""
    is_profile  it looks like a profile; False for a folder of unknown content
    is_refused  the machine refused to look at it, which says nothing about it
    is_lost  something is not read for it; False for a further path of a folder that is read
    """

    path: str
    reason: str
    action: str
    command: str = ""
    is_profile: bool = True
    is_refused: bool = False
    is_lost: bool = True


def _read_kinds() -> dict[str, dict[str, str]]:
    with Path(__file__).with_name("skips.csv").open(encoding="utf-8", newline="") as file:
        return {row.pop("kind"): row for row in csv.DictReader(file)}


#: What all skipped paths of a kind have in common. The reason of a kind is the message "skipped.KIND".
KINDS = _read_kinds()


def skip(kind: str, path: str, /, *, action: str = "", command: str = "", **params: str | int) -> Skipped:
    """A skipped path of a kind.

    Args:
        action: Code of the message to use instead of the kind's.
        params: Parameters of the messages; each takes those that it names.
    """
    row = KINDS[kind]
    reason, to_do = (Message.filled(code, params) for code in (f"skipped.{kind}", action or row["action"]))
    flags = {name: bool(row[name]) for name in ("is_profile", "is_refused", "is_lost")}
    return Skipped(path, reason, to_do, command, **flags)


def python_command(call: str, folder: Path) -> str:
    """The shell command that runs Python code on a folder. call: the code, with {path} between its quotes."""
    path = decode_name(str(folder)).replace("\\", "\\\\").replace('"', '\\"')
    return f"python3 -c {shlex.quote(call.format(path=path))}"


def never_exported(path: str, command: str, folder: Path) -> Skipped:
    """Raw data of msprof without an export. command: shell command of the export, with {path}."""
    return skip("never_exported", path, command=command.format(path=shlex.quote(decode_name(str(folder)))))


def unreadable(path: str, error: OSError | MemoryError, is_file: bool = False) -> Skipped:
    """A path that cannot be listed or opened, or whose file system does not respond."""
    if is_of_environment(error):
        return replace(skip("refused", path, reason=refused(error) or ""), is_profile=is_file)
    if isinstance(error, TimeoutError):
        return skip("no_response", path)
    if isinstance(error, PermissionError):
        return skip("no_file_permission" if is_file else "no_folder_permission", path)
    return skip("unreadable", path, reason=getattr(error, "strerror", None) or str(error))
