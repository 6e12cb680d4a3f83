"""Reads the head of a Kineto trace: settings, devices, the rank."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, NamedTuple

from tb_npu_plugin.discovery.files import open_regular
from tb_npu_plugin.schema import scan_keys

#: Maximum bytes read: the head may list groups of thousands of ranks.
MAX_HEAD = 1 << 20
_PIECE = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib: expect a gzip header
_MARK = b'"' + scan_keys.EVENTS.encode() + b'"'
_VERSION = b'"' + scan_keys.SCHEMA_VERSION.encode() + b'"'
#: The rank in a head that is no JSON as a whole.
_RANK = re.compile(rf'"{scan_keys.DISTRIBUTED}"\s*:\s*{{[^{{}}\[\]]*"{scan_keys.RANK}"\s*:\s*(\d{{1,9}})\s*[,}}]')


class KinetoHead(NamedTuple):
    """The beginning of a file that may be a trace.

    members     members before the events
    has_events  the events of a trace follow
    is_kineto   the head names the version of the schema, as torch.profiler's does
    is_damaged  it is empty, not unpacked, or no JSON; `members` has what could be saved
    """

    members: dict[str, Any]
    has_events: bool
    is_kineto: bool
    is_damaged: bool


def kineto_head(path: str) -> KinetoHead:
    """The head of a file. Raises OSError for an unreadable file."""
    data, is_damaged = _read_head(path)
    end = data.find(_MARK)
    is_kineto = _VERSION in data[: end if end >= 0 else None]
    if end < 0:  # a file of another program, or one that was cut
        is_whole = len(data) < MAX_HEAD and not data.lstrip().startswith(b"[")  # of a list the first piece was read
        return KinetoHead({}, False, is_kineto, is_damaged or ((is_kineto or is_whole) and not _is_json(data)))
    text = data[:end].decode("utf-8-sig", "replace")
    members = _object_or_none(text.rstrip().rstrip(",") + "}")
    if members is None:
        return KinetoHead(_saved(text), True, is_kineto, True)
    return KinetoHead(members, True, scan_keys.SCHEMA_VERSION in members, False)


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


def _saved(text: str) -> dict[str, Any]:
    """The rank, of a head that is no JSON elsewhere."""
    found = _RANK.search(text)
    return {} if found is None else {scan_keys.DISTRIBUTED: {scan_keys.RANK: int(found.group(1))}}


def _read_head(path: str) -> tuple[bytes, bool]:
    """The unpacked file up to its events, or its first MAX_HEAD bytes, and whether it could not be unpacked. The first
    piece only if the JSON is no object."""
    out = b""
    with open_regular(path) as file:
        piece = file.read(_PIECE)
        unpack = zlib.decompressobj(_GZIP) if piece.startswith(_GZIP_MAGIC) else None
        while piece and len(out) < MAX_HEAD:
            try:
                out += unpack.decompress(piece, MAX_HEAD) if unpack else piece
            except zlib.error:
                return out, True
            if _MARK in out or not out.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                break
            piece = file.read(_PIECE)
    return out, False
