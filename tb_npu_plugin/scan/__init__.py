"""The trace scanner: a Chrome trace of any size to columns. One interface for every implementation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Optional, TypeVar

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.columns import Columns, MemoryColumns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.scan.source import PreviewSchedule, Source
from tb_npu_plugin.scan.threads import THREADS_VARIABLE, requested_threads

__all__ = ["MEMORY", "Into", "Scan", "TraceEvents", "check_settings", "native_or_python", "scan_trace"]

T = TypeVar("T")


def native_or_python(native: Callable[[], T], python: Callable[[], T]) -> T:
    """What one of the two makes: `native`, which imports what was built of C, unless TB_NPU_SCANNER asks for Python or
    nothing was built. Raises ImportError when it asks for C and that was not built."""
    wanted = os.environ.get(SCANNER_VARIABLE, "")
    if wanted != "python":
        try:
            return native()
        except ImportError:
            if wanted:
                raise
    return python()


@dataclass(frozen=True)
class ScanSink:
    """Where the events of a file go while it is read.

    blob     for a gzip file or a database, where the args are written one after the other; `args_offset` then counts in
             it. Without it their args are left out
    spool    an existing folder. The columns are appended to files there while the trace is read and come back as
             read-only maps of these, so that they take no memory of their own. Without it they are in memory
    peek     called with the events so far each time when as many bytes of the file were read as `peek_at` says next. A
             scan that has no use for it need not call it
    """

    blob: Optional[IO[bytes]] = None
    spool: Optional[Path] = None
    peek: Optional[Callable[[TraceEvents], None]] = None
    peek_at: Sequence[int] = ()


MEMORY = ScanSink()
#: Reads the events of a file; see scan_trace.
Scan = Callable[[Path, ProblemLog, Callable[[int], None], ScanSink], TraceEvents]


def scan_trace(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """Read a trace: a bare list of events or {"traceEvents": [...]}, plain or gzip, complete or not.

    progress: called with the bytes of the file that were read since the last call.
    Whatever is wrong with the file goes to `log`; what could be read is returned. Never raises for a bad file.
    Raises BadSetting as check_settings does, OSError when `spool` or `blob` cannot be written.
    """
    with closing(MemoryColumns() if into.spool is None else SpooledColumns(into.spool)) as columns:
        return _chosen()(Source(path, log, progress), into.blob, columns, PreviewSchedule(into.peek, into.peek_at))


_Scanner = Callable[[Source, Optional[IO[bytes]], Columns, PreviewSchedule], TraceEvents]


def check_settings() -> None:
    """Raises BadSetting when TB_NPU_SCANNER names no scanner, or one that was not built, or TB_NPU_SCAN_THREADS is no
    positive number. To be called before anything is read: it is no defect of a file."""
    _chosen()
    if os.environ.get(THREADS_VARIABLE):
        requested_threads()


def _chosen() -> _Scanner:
    wanted = os.environ.get(SCANNER_VARIABLE, "")
    if wanted not in ("", "c", "python"):
        raise BadSetting(
            Message("error.setting", name=SCANNER_VARIABLE, value=repr(wanted)),
            Message("hint.scanner_setting", name=SCANNER_VARIABLE),
        )
    try:
        return native_or_python(_in_c, _in_python)
    except ImportError as error:
        raise BadSetting(
            Message("error.no_c_code", name=SCANNER_VARIABLE, value=repr(wanted), reason=str(error)),
            Message("hint.no_c_code", name=SCANNER_VARIABLE),
        ) from None


def _in_c() -> _Scanner:
    from tb_npu_plugin.scan.native_scanner import scan_native

    return scan_native


def _in_python() -> _Scanner:
    from tb_npu_plugin.scan.msgspec_scanner import scan_msgspec  # heavy import on first use

    return scan_msgspec
