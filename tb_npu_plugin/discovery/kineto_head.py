"""Reads the head of a Kineto trace: settings, devices, the rank."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import Any

from tb_npu_plugin.discovery.timeouts import FILE_LIMIT, open_regular, run_with_timeout
from tb_npu_plugin.schema import kineto

#: Maximum bytes read: the head may list groups of thousands of ranks. The scan runs in the server.
MAX_HEAD = 1 << 20
_PIECE = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib: expect a gzip header
_MARK = b'"' + kineto.EVENTS.encode() + b'"'


@lru_cache(maxsize=20_000)
def kineto_head(path: str, size: int, mtime_ns: int) -> dict[str, Any] | None:
    """The members before the events of the file's JSON object; None without events. Size and time only serve as cache
    key. Raises OSError for an unreadable file, Stalled if the file system does not respond."""
    try:
        data = run_with_timeout(FILE_LIMIT, path, lambda: _read_head(path))
    except zlib.error:
        return None
    end = data.find(_MARK)
    if end < 0:
        return None
    try:
        found = json.loads(data[:end].decode("utf-8-sig", "replace").rstrip().rstrip(",") + "}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_head(path: str) -> bytes:
    """The decompressed file up to its events, or its first MAX_HEAD bytes; empty if the JSON is a list."""
    out = b""
    with open_regular(path) as file:
        piece = file.read(_PIECE)
        unpack = zlib.decompressobj(_GZIP) if piece.startswith(_GZIP_MAGIC) else None
        while piece and len(out) < MAX_HEAD:
            out += unpack.decompress(piece, MAX_HEAD) if unpack else piece
            if _MARK in out or not out.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                break
            piece = file.read(_PIECE)
    return out
