"""What stands before the events of a Kineto trace: settings, devices, the rank."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import Any

from tb_npu_plugin.discovery.patience import FILE_LIMIT, open_regular, within
from tb_npu_plugin.schema import kineto

#: Bytes that are looked at: groups of thousands of ranks are named there. The scan runs in the server.
MAX_HEAD = 1 << 20
_PIECE = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib: expect a gzip header
_MARK = b'"' + kineto.EVENTS.encode() + b'"'


@lru_cache(maxsize=20_000)
def kineto_head(path: str, size: int, mtime_ns: int) -> dict[str, Any] | None:
    """The members of the file's object before its events; None where the file is no object with events. Size and time
    are part of the key only. Raises OSError for a file that cannot be read, Stalled for one on a disk that does not
    answer."""
    try:
        data = within(FILE_LIMIT, path, lambda: _beginning(path))
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


def _beginning(path: str) -> bytes:
    """The file up to its events, unpacked; all that may be looked at where they do not come. Nothing of a list."""
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
