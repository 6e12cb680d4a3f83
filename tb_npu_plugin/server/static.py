"""Serves the files of the built frontend."""

from __future__ import annotations

import functools
import gzip
import mimetypes
from pathlib import Path

import tb_npu_plugin
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.messages import Message

ROOT = Path(tb_npu_plugin.__file__).parent / "static"
#: mimetypes depends on the system, and browsers run a module only if its type is JavaScript.
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".map": "application/json",
}


def packed_static(name: str, root: Path = ROOT) -> tuple[bytes, str]:
    """(content compressed with gzip, MIME type) of a frontend file by its path. Raises NotFound for any other name."""
    # The name is looked up in a list of files, so it cannot lead out of the folder.
    files = _files(root)
    path = files.get(name)
    if path is None:
        is_built = "index.js" in files
        hint = Message("hint.reload_page") if is_built else Message("hint.build_frontend")
        raise NotFound(Message("error.no_static_file"), hint)
    mime = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _packed(path, path.stat().st_mtime_ns), mime


def pack_all(root: Path = ROOT) -> None:
    """Compress all files of the frontend, so that no page waits for it."""
    for path in _files(root).values():
        _packed(path, path.stat().st_mtime_ns)


def _files(root: Path) -> dict[str, Path]:
    return {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}


@functools.lru_cache(maxsize=64)
def _packed(path: Path, changed: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)
