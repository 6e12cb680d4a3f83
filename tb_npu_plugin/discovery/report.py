"""Why a folder was not taken, and what to do about it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path


def shown(path: str) -> str:
    """A name on the disk as text; what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def printable(path: str) -> str:
    """As `shown`, for names that anybody may have made up: what controls terminals and the direction of text is
    replaced."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in shown(path))


@dataclass(frozen=True)
class Skipped:
    """A folder that looked like a result, or could hide some, and was not taken.

    path     relative to the logdir (with its name in front for --logdir_spec)
    reason   one sentence: what is in the way
    action   one sentence: what to do
    command  the shell command that does it; "" where there is none
    is_profile  it looks like a profile; False for a folder that may hold anything
    """

    path: str
    reason: str
    action: str
    command: str = ""
    is_profile: bool = True


def never_parsed(path: str, call: str, folder: Path, needs_cann: bool = True) -> Skipped:
    """Raw data without parsed files. call: Python that parses a folder (Format.analyse)."""
    return Skipped(
        path,
        "Raw profiling data that was never parsed: there is no ASCEND_PROFILER_OUTPUT with result files in it.",
        "Parse it on a host with CANN:" if needs_cann else "Parse it:",
        python_command(call, folder),
    )


def python_command(call: str, folder: Path) -> str:
    """The shell command that runs Python code on a folder. call: the code, with {path} between its quotes."""
    path = shown(str(folder)).replace("\\", "\\\\").replace('"', '\\"')
    return f"python3 -c {shlex.quote(call.format(path=path))}"


def interrupted(path: str) -> Skipped:
    """A capture of the mock device that still runs, or whose process was killed before it could write."""
    return Skipped(
        path,
        "A capture without what it recorded: it still runs, or its process was killed (or the disk was full) before it ended. "
        "What was recorded until then is lost, and nothing can be parsed.",
        "If the capture runs, wait until it ends. Otherwise remove the folder and record again.",
    )


def never_exported(path: str, command: str, folder: Path) -> Skipped:
    """Raw data of msprof without an export. command: what exports a folder, with {path}."""
    return Skipped(
        path,
        "Raw data of msprof that was never exported: there is no mindstudio_profiler_output with result files in it.",
        "Export it on a host with CANN:",
        command.format(path=shlex.quote(shown(str(folder)))),
    )


def empty(path: str) -> Skipped:
    """A result folder without anything to read."""
    return Skipped(
        path,
        "The result folder holds no result files.",
        "Look whether the capture recorded at least one step and whether copying it was completed.",
    )


def foreign_trace(path: str) -> Skipped:
    """A JSON file with trace events that torch.profiler did not write."""
    return Skipped(
        path,
        "Trace events of another program: the member schemaVersion, which torch.profiler writes, is missing.",
        "Open it with the program that wrote it, or in Perfetto.",
    )


def unreadable(path: str, error: OSError, is_file: bool = False) -> Skipped:
    """The system refuses to list or open it, or does not answer."""
    if isinstance(error, TimeoutError):
        return Skipped(
            path,
            "Skipped for now: the file system does not answer.",
            "Check the disk or the mount that it is on. It is looked at again by itself.",
        )
    if isinstance(error, PermissionError) and is_file:
        return Skipped(
            path, "No permission to read this file.", "Give the user that runs TensorBoard read access to it."
        )
    if isinstance(error, PermissionError):
        action = "Give the user that runs TensorBoard read access to it."
        return Skipped(path, "No permission to read this folder.", action, is_profile=False)
    reason = f"Cannot be read: {error.strerror or error}."
    return Skipped(path, reason, "Check the path and the file system.", is_profile=False)


def absent(path: str, folder: Path) -> Skipped:
    """A logdir that is not there; TensorBoard takes `--logdir=a,b` for one folder of that name."""
    return Skipped(
        path,
        "This folder does not exist.",
        "Give several folders as --logdir_spec=before:./a,after:./b."
        if "," in str(folder)
        else "Check the path. Results that appear there are shown.",
        is_profile=False,
    )


def not_a_file(path: str, kind: str) -> Skipped:
    """Something else of the name of a result file."""
    return Skipped(path, f"Named as a result file, but it is {kind}.", "Put the file itself there, or remove it.")


def other_form(path: str) -> Skipped:
    """A result file in a form that is not read: packed twice, or by another program, or renamed."""
    return Skipped(
        path,
        "Named as a trace of torch.profiler, but its name does not end in .pt.trace.json or .pt.trace.json.gz.",
        "Unpack it, or give it its own name again.",
    )


def not_a_folder(path: str) -> Skipped:
    """Not a folder, but its name is that of a result folder."""
    return Skipped(path, "Named as a result folder, but it is no folder.", "Unpack or copy the result folder itself.")


def dangling(path: str) -> Skipped:
    """A symbolic link that leads nowhere."""
    action = "Restore the target or remove the link."
    return Skipped(path, "A symbolic link whose target does not exist.", action, is_profile=False)


def cycle(path: str) -> Skipped:
    """A symbolic link to a folder above itself."""
    return Skipped(
        path,
        "A symbolic link to a folder that contains it; not followed.",
        "Nothing: its target is read where it lies.",
        is_profile=False,
    )


def too_deep(path: str, depth: int) -> Skipped:
    """Nested beyond the limit."""
    reason = f"More than {depth} folders deep; not searched."
    return Skipped(path, reason, "Start TensorBoard on a folder below.", is_profile=False)


def too_many(path: str, folders: int) -> Skipped:
    """More folders than one scan walks."""
    return Skipped(
        path,
        f"More than {folders} folders; the rest from here on is not searched.",
        "Start TensorBoard on a folder nearer to the results.",
        is_profile=False,
    )


def remote(path: str) -> Skipped:
    """A logdir on an object store."""
    action = "Copy the results to a local or mounted folder."
    return Skipped(path, "Remote folders are not read yet by this version.", action, is_profile=False)
