"""Writes a report to a file or to stdout."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tb_npu_plugin.errors import NpuPluginError


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
    """Write a temporary file in the folder of `path` and rename it."""
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        path.write_bytes(content)
        return
    descriptor, name = tempfile.mkstemp(prefix=".tb-npu-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # mkstemp makes it private
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
