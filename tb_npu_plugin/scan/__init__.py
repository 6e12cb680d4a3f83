"""The trace scanner: a Chrome trace of any size to columns. One interface for every implementation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.events import TraceEvents

__all__ = ["TraceEvents", "scan_trace"]


def scan_trace(
    path: Path, log: ProblemLog, progress: Callable[[int], None], blob: IO[bytes] | None = None
) -> TraceEvents:
    """Read a trace: a bare list of events or {"traceEvents": [...]}, plain or gzip, complete or not.

    progress: called with the bytes of the file that were read since the last call.
    blob: for a gzip file, where its args are written one after the other; `args_offset` then counts in it. Without
    it the args of a gzip file are left out.
    Whatever is wrong with the file goes to `log`; what could be read is returned. Never raises for a bad file.
    """
    from tb_npu_plugin.scan.msgspec_scanner import scan_msgspec  # heavy import on first use

    return scan_msgspec(path, log, progress, blob)
