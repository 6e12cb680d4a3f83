"""Reads the beginning and the end of a JSON file: whether it is a trace, which profiler wrote it, and the settings of
torch.profiler."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import zlib
from typing import Any, BinaryIO, NamedTuple

from tb_npu_plugin.schema import scan_keys


def open_regular(path: str) -> BinaryIO:
    """Open a regular file. Raises OSError, also for a pipe or a device."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe does not block
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "no regular file")
    return os.fdopen(file, "rb")


def read_start(path: str, limit: int) -> bytes:
    """At most `limit` bytes from the start of a regular file. Raises OSError, also for a pipe or a device."""
    with open_regular(path) as file:
        return file.read(limit)


#: Maximum bytes read of each end: settings may list groups of thousands of ranks.
MAX_HEAD = 1 << 20
#: Maximum bytes unpacked in search of the end of a packed file.
MAX_UNPACKED = 64 << 20
_PIECE = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
#: Tells zlib to expect a gzip header.
GZIP_FORMAT = 31
_MARK = b'"' + scan_keys.EVENTS.encode() + b'"'
_BEFORE = b"\xef\xbb\xbf \t\r\n"
#: A list of events begins like this.
_LIST = re.compile(rb'\[\s*\{.{0,4000}?"ph"\s*:\s*"', re.DOTALL)
#: What follows a whole value.
_END = re.compile(r"\s*(?:[,}]|\Z)")
#: The rank in a damaged member.
_RANK = re.compile(rf'"{scan_keys.DISTRIBUTED}"\s*:\s*{{[^{{}}\[\]]*"{scan_keys.RANK}"\s*:\s*(\d{{1,9}})\s*[,}}]')


class KinetoHead(NamedTuple):
    """What both ends of a file that may be a trace say.

    settings    members of torch.profiler beside the events
    has_events  it holds the events of a trace
    writer      "torch.profiler", "torch_npu", or "" for another program
    is_damaged  it is empty, not unpacked, or no JSON; `settings` has what could be saved
    """

    settings: dict[str, Any]
    has_events: bool
    writer: str
    is_damaged: bool


def kineto_head(path: str) -> KinetoHead:
    """What a file says. Raises OSError for an unreadable file."""
    start, end, is_whole, is_damaged = _read_ends(path)
    mark = start.find(_MARK)
    is_list = mark < 0 and _LIST.match(start.lstrip(_BEFORE)) is not None
    has_events = mark >= 0 or is_list
    head = (start[:mark] if mark >= 0 else b"" if is_list else start).decode("utf-8-sig", "replace")
    members = _object_or_none(head.rstrip().rstrip(",") + "}") if mark >= 0 else None
    found = _settings(head) if members is None else members
    behind = (start[max(mark, 0) :] + end).decode("utf-8", "replace") if has_events else ""
    settings = {**_settings(behind), **found}
    if mark >= 0:
        is_damaged |= members is None
    elif not is_list:  # a file of another program, or one that was cut
        may_be_cut = scan_keys.SCHEMA_VERSION in found or (is_whole and not start.lstrip().startswith(b"["))
        is_damaged |= may_be_cut and not _is_json(start)
    return KinetoHead(settings, has_events, _writer(settings, start + end, is_list), is_damaged)


def _writer(settings: dict[str, Any], events: bytes, is_list: bool) -> str:
    """The profiler that wrote the events at both ends."""
    if scan_keys.SCHEMA_VERSION in settings:
        return scan_keys.TORCH_PROFILER
    if scan_keys.NPU_SIGNS.search(events):
        return scan_keys.TORCH_NPU
    if scan_keys.GPU_SIGNS.search(events):
        return scan_keys.TORCH_PROFILER
    if scan_keys.HOST_SIGNS.search(events):  # host operators alone
        return scan_keys.TORCH_NPU if is_list else scan_keys.TORCH_PROFILER
    return ""


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _object_or_none(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _settings(text: str) -> dict[str, Any]:
    """The settings in a piece of JSON. Each is read on its own; damaged ones are left out."""
    decoder = json.JSONDecoder()
    out: dict[str, Any] = {}
    for found in scan_keys.SETTING.finditer(text):
        try:
            value, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        if _END.match(text, end):
            out[found.group("key")] = value
    rank = _RANK.search(text) if scan_keys.DISTRIBUTED not in out else None
    return out if rank is None else {**out, scan_keys.DISTRIBUTED: {scan_keys.RANK: int(rank.group(1))}}


def _read_ends(path: str) -> tuple[bytes, bytes, bool, bool]:
    """The beginning of an unpacked file up to its first events, its end (apart from the beginning), whether the beginning is
    all of it, and whether it could not be unpacked."""
    with open_regular(path) as file:
        magic = file.read(len(GZIP_MAGIC))
        file.seek(0)
        if magic == GZIP_MAGIC:
            return _unpack_ends(file)
        start = b""
        while len(start) < MAX_HEAD and (piece := file.read(_PIECE)):
            start += piece
            if _has_begun(start):
                break
        size = file.seek(0, 2)
        file.seek(max(len(start), size - MAX_HEAD))
        return start, file.read(), size == len(start), False


def _has_begun(start: bytes) -> bool:
    """Whether the events have begun, or the JSON is no object."""
    return _MARK in start or not start.lstrip(_BEFORE).startswith(b"{")


def _unpack_ends(file: BinaryIO) -> tuple[bytes, bytes, bool, bool]:
    """As _read_ends. The end is searched only if the beginning names no writer, and not beyond MAX_UNPACKED."""
    unpack = zlib.decompressobj(GZIP_FORMAT)
    start = end = b""
    total, is_read = 0, False
    while total < MAX_UNPACKED and not unpack.eof:
        packed = unpack.unconsumed_tail or file.read(_PIECE)
        if not packed:
            break
        try:
            piece = unpack.decompress(packed, MAX_HEAD)
        except zlib.error:
            return start, end, False, True
        total += len(piece)
        if is_read:
            end = (end + piece)[-MAX_HEAD:]
            if scan_keys.NPU_SIGNS.search(piece):  # the file's last events need not be seen
                break
            continue
        start += piece
        is_read = _has_begun(start) or len(start) >= MAX_HEAD
        if is_read and (not _may_be_trace(start) or scan_keys.SCHEMA_VERSION.encode() in start):
            break
    return start, end, total == len(start) and unpack.eof, False


def _may_be_trace(start: bytes) -> bool:
    return _MARK in start or _LIST.match(start.lstrip(_BEFORE)) is not None
