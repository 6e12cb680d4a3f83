"""What makes everything that was read before stale: the code and the schema that read it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import tb_npu_plugin

#: Parts of the package that decide what a cache entry contains.
_PARTS = (
    "units.py",
    "texts.py",
    "tables.py",
    "messages.py",
    "messages.json",
    "problems.py",
    "model.py",
    "schema",
    "analysis",
    "discovery",
    "scan",
    "readers",
    "store",
)


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Hash of the sources that read results and write cache entries; it holds the schema as well, which is code.

    No number to raise by hand, so nobody can forget to.
    """
    root = Path(tb_npu_plugin.__file__).parent
    digest = hashlib.blake2b(tb_npu_plugin.__version__.encode(), digest_size=8)
    for part in _PARTS:
        path = root / part
        files = sorted([*path.rglob("*.py"), *path.rglob("*.so")]) if path.is_dir() else [path]
        for file in files:
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
