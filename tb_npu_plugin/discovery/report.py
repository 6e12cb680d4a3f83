"""Messages about skipped folders: the reason, and what to do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.messages import Message
from tb_npu_plugin.refusal import is_of_environment, refused
from tb_npu_plugin.schema.other_files import OtherFile


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


def absent_ranks(path: str, table: str, ranks: Sequence[int]) -> Skipped:
    """A folder without files of ranks that a rank table lists."""
    listed = ", ".join(map(str, sorted(ranks)))
    return Skipped(path, Message("skipped.absent_ranks", table=table, ranks=listed), Message("action.copy_recorded"))


def never_parsed(path: str, call: str, folder: Path, needs_cann: bool = True) -> Skipped:
    """Raw data without parsed files. call: Python code that parses a folder (Format.analyse)."""
    return Skipped(
        path,
        Message("skipped.never_parsed"),
        Message("action.parse_with_cann") if needs_cann else Message("action.parse"),
        python_command(call, folder),
    )


def python_command(call: str, folder: Path) -> str:
    """The shell command that runs Python code on a folder. call: the code, with {path} between its quotes."""
    path = decode_name(str(folder)).replace("\\", "\\\\").replace('"', '\\"')
    return f"python3 -c {shlex.quote(call.format(path=path))}"


def interrupted_capture(path: str) -> Skipped:
    """A capture of the mock device that still runs or was killed before it wrote its data."""
    return Skipped(path, Message("skipped.interrupted"), Message("action.end_or_remove"))


def never_exported(path: str, command: str, folder: Path) -> Skipped:
    """Raw data of msprof without an export. command: shell command of the export, with {path}."""
    return Skipped(
        path,
        Message("skipped.never_exported"),
        Message("action.export_with_cann"),
        command.format(path=shlex.quote(decode_name(str(folder)))),
    )


def empty_result(path: str) -> Skipped:
    """A result folder without readable files."""
    return Skipped(path, Message("skipped.empty"), Message("action.check_steps_recorded"))


def foreign_trace(path: str) -> Skipped:
    """A JSON file with trace events that torch.profiler did not write."""
    return Skipped(path, Message("skipped.foreign_trace"), Message("action.open_elsewhere"))


def packed(path: str, reason: str) -> Skipped:
    """An archive that is not unpacked, or not yet."""
    action = (
        Message("action.nothing_rescan") if reason == Message("skipped.packed") else Message("action.unpack_by_hand")
    )
    return Skipped(path, reason, action)


def damaged_archive(path: str) -> Skipped:
    """An archive that was unpacked in part."""
    return Skipped(path, Message("skipped.damaged_archive"), Message("action.copy_again"))


def refused_members(path: str, count: int) -> Skipped:
    """Members of an archive that were not unpacked."""
    return Skipped(path, Message("skipped.refused_members", count=count), Message("action.unpack_by_hand"))


def unpacked_beside(path: str, folder: str) -> Skipped:
    """An archive beside the folder that its members would be in."""
    reason = Message("skipped.unpacked_beside", path=folder)
    return Skipped(path, reason, Message("action.nothing"), is_profile=False, is_lost=False)


def damaged_trace(path: str) -> Skipped:
    """A JSON file that is named as a trace or begins like one, without events that could be read."""
    return Skipped(path, Message("skipped.damaged_trace"), Message("action.copy_trace"))


def same_folder(path: str, first: str, more: int) -> Skipped:
    """A link to a folder that the scan has entered by another path. more: number of such links beside it."""
    reason = (
        Message("skipped.same_folders", path=first, more=more) if more else Message("skipped.same_folder", path=first)
    )
    action = Message("action.nothing_same")
    return Skipped(path, reason, action, is_profile=False, is_lost=False)


def internal_error(path: str) -> Skipped:
    """A folder that the scan failed on, as the log says."""
    return Skipped(path, Message("skipped.internal_error"), Message("action.report_log"))


def unreadable(path: str, error: OSError | MemoryError, is_file: bool = False) -> Skipped:
    """A path that cannot be listed or opened, or whose file system does not respond."""
    if is_of_environment(error):
        reason = Message("skipped.refused", reason=refused(error) or "")
        return Skipped(path, reason, Message("action.free_for_scan"), is_profile=is_file, is_refused=True)
    if isinstance(error, TimeoutError):
        return Skipped(path, Message("skipped.no_response"), Message("action.check_mount_scan"))
    if isinstance(error, PermissionError) and is_file:
        return Skipped(path, Message("skipped.no_file_permission"), Message("action.grant_read_server"))
    if isinstance(error, PermissionError):
        action = Message("action.grant_read_server")
        return Skipped(path, Message("skipped.no_folder_permission"), action, is_profile=False)
    reason = Message("skipped.unreadable", reason=getattr(error, "strerror", None) or str(error))
    return Skipped(path, reason, Message("action.check_path"), is_profile=False)


def absent(path: str, folder: Path) -> Skipped:
    """A logdir that does not exist; TensorBoard treats `--logdir=a,b` as one folder name."""
    return Skipped(
        path,
        Message("skipped.absent"),
        Message("action.use_logdir_spec") if "," in str(folder) else Message("action.check_logdir"),
        is_profile=False,
    )


def not_a_file(path: str, kind: str) -> Skipped:
    """Neither file nor folder, or a folder that is named like a result file."""
    return Skipped(path, Message("skipped.not_a_file", kind=kind), Message("action.replace_entry"))


def other_form(path: str) -> Skipped:
    """A result file in an unsupported form: compressed twice, written by another program, or renamed."""
    return Skipped(path, Message("skipped.other_form"), Message("action.rename"))


def not_a_folder(path: str) -> Skipped:
    """Not a folder, but named like a result folder."""
    return Skipped(path, Message("skipped.not_a_folder"), Message("action.copy_folder"))


def dangling_link(path: str) -> Skipped:
    """A dangling symbolic link."""
    action = Message("action.restore_target")
    return Skipped(path, Message("skipped.dangling_link"), action, is_profile=False)


def cycle(path: str) -> Skipped:
    """A symbolic link to a parent folder."""
    return Skipped(path, Message("skipped.cycle"), Message("action.nothing_link"), is_profile=False, is_lost=False)


def other_program(path: str, other: OtherFile, more: int) -> Skipped:
    """A profile of another program. more: number of such files beside it."""
    found = (
        Message("skipped.other_files", what=other.title, more=more)
        if more
        else Message("skipped.other_file", what=other.title)
    )
    return Skipped(path, found, Message("action.open_in", program=other.program))


def too_deep(path: str, depth: int) -> Skipped:
    """Nested beyond the limit."""
    reason = Message("skipped.too_deep", depth=depth)
    return Skipped(path, reason, Message("action.start_below"), is_profile=False)


def too_many(path: str, folders: int) -> Skipped:
    """More folders than the limit of one scan."""
    return Skipped(path, Message("skipped.too_many", count=folders), Message("action.start_nearer"), is_profile=False)


def remote(path: str) -> Skipped:
    """A logdir on an object store."""
    action = Message("action.copy_locally")
    return Skipped(path, Message("skipped.remote"), action, is_profile=False)
