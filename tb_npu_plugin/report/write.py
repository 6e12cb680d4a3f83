"""Writes a report to a file or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.store.temporary import temporary_in


class ReportError(NpuPluginError):
    """A report could not be written."""

    code = "report"


def write_report(text: str, target: str) -> None:
    """Write the text to a file, which is complete or unchanged; "-" is stdout. Raises ReportError."""
    if target == "-":
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        _replace(path, text.encode())
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}.") from error


def _replace(path: Path, content: bytes) -> None:
    """Write a temporary file below the folder of `path` and rename it."""
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        path.write_bytes(content)
        return
    with temporary_in(path.parent) as folder:
        new = folder / path.name
        new.write_bytes(content)
        new.replace(path)
