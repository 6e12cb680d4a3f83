"""Serves the files of the built frontend."""

from __future__ import annotations

import mimetypes
import re
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
#: A file name with a hash of the content.
HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.\w+$")


def read_static(name: str, root: Path = ROOT) -> tuple[bytes, str]:
    """(content, MIME type) of a frontend file by its path. Raises NotFound for any other name."""
    # The name is looked up in a list of files, so it cannot lead out of the folder.
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    path = files.get(name)
    if path is None:
        is_built = "index.js" in files
        hint = Message("hint.reload_page") if is_built else Message("hint.build_frontend")
        raise NotFound(Message("error.no_static_file"), hint)
    return path.read_bytes(), TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def is_versioned(name: str) -> bool:
    """Whether the name changes with the content, so that a browser may cache the file."""
    return HASHED.search(name) is not None
