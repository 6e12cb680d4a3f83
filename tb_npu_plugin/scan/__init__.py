"""The trace scanner: a Chrome trace of any size to columns. One interface for every implementation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Optional, Protocol

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.columns import Columns, MemoryColumns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.scan.source import Peeks, Source

__all__ = ["Scan", "TraceEvents", "scan_trace"]

#: "c" or "python"; by default C where it was built. TraceEvents.scanner tells which one read a trace.
SCANNER_VARIABLE = "TB_NPU_SCANNER"


class Scan(Protocol):
    """Reads the events of a file; see scan_trace. One that has no use for `peek` need not call it."""

    def __call__(
        self,
        path: Path,
        log: ProblemLog,
        progress: Callable[[int], None],
        blob: IO[bytes] | None = None,
        *,
        spool: Path | None = None,
        peek: Callable[[TraceEvents], None] | None = None,
        peek_at: Sequence[int] = (),
    ) -> TraceEvents:
        """See scan_trace."""


def scan_trace(
    path: Path,
    log: ProblemLog,
    progress: Callable[[int], None],
    blob: IO[bytes] | None = None,
    *,
    spool: Path | None = None,
    peek: Callable[[TraceEvents], None] | None = None,
    peek_at: Sequence[int] = (),
) -> TraceEvents:
    """Read a trace: a bare list of events or {"traceEvents": [...]}, plain or gzip, complete or not.

    progress: called with the bytes of the file that were read since the last call.
    blob: for a gzip file, where its args are written one after the other; `args_offset` then counts in it. Without
    it the args of a gzip file are left out.
    spool: an existing folder. The columns are appended to files there while the trace is read and come back as
    read-only maps of these, so that they take no memory of their own. Without it they are in memory.
    peek: called with the events so far each time when as many bytes of the file were read as `peek_at` says next.
    Whatever is wrong with the file goes to `log`; what could be read is returned. Never raises for a bad file.
    Raises ValueError when TB_NPU_SCANNER names no scanner or TB_NPU_SCAN_THREADS is no positive number, ImportError
    when a scanner was asked for that was not built, OSError when `spool` or `blob` cannot be written.
    """
    with closing(MemoryColumns() if spool is None else SpooledColumns(spool)) as columns:
        return _chosen()(Source(path, log, progress), blob, columns, Peeks(peek, peek_at))


def _chosen() -> Callable[[Source, Optional[IO[bytes]], Columns, Peeks], TraceEvents]:
    wanted = os.environ.get(SCANNER_VARIABLE, "")
    if wanted not in ("", "c", "python"):
        raise ValueError(f"{SCANNER_VARIABLE} is {wanted!r}; it may be c or python")
    if wanted != "python":
        try:
            from tb_npu_plugin.scan.native_scanner import scan_native

            return scan_native
        except ImportError:
            if wanted:
                raise
    from tb_npu_plugin.scan.msgspec_scanner import scan_msgspec  # heavy import on first use

    return scan_msgspec
