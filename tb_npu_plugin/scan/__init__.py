"""The trace scanner: reads a Chrome trace of any size into columns, in C or in Python."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Optional, TypeVar

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.columns import Columns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.scan.prelude import find_another
from tb_npu_plugin.scan.source import PreviewSchedule, Source
from tb_npu_plugin.scan.threads import THREADS_VARIABLE, requested_threads

__all__ = ["MEMORY", "Scan", "ScanSink", "TraceEvents", "check_settings", "native_or_python", "scan_trace"]

T = TypeVar("T")


def native_or_python(native: Callable[[], T], python: Callable[[], T]) -> T:
    """Result of `native`, which imports a C module; that of `python` if TB_NPU_SCANNER selects Python or the module is
    not built. Raises ImportError if TB_NPU_SCANNER selects C and the module is not built."""
    setting = os.environ.get(SCANNER_VARIABLE, "")
    if setting != "python":
        try:
            return native()
        except ImportError:
            if setting:
                raise
    return python()


@dataclass(frozen=True)
class ScanSink:
    """Destination of the events of a file.

    Attributes:
        blob: File that gets the args of a gzip file or database; `args_offset` then counts in it. Without it, their
            args are dropped.
        spool: Existing folder for the columns, returned as read-only maps of its files. Without it, they are in memory.
        peek: Called with the events so far after each number of bytes in `peek_at`. A scanner may ignore it.
    """

    blob: Optional[IO[bytes]] = None
    spool: Optional[Path] = None
    peek: Optional[Callable[[TraceEvents], None]] = None
    peek_at: Sequence[int] = ()


MEMORY = ScanSink()
#: Reads the events of a file; see scan_trace.
Scan = Callable[[Path, ProblemLog, Callable[[int], None], ScanSink], TraceEvents]


def scan_trace(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """Read a trace: a list of events or {"traceEvents": [...]}, plain or gzip, complete or truncated.

    Args:
        log: Gets the problems of the file; what can be read is returned all the same.
        progress: Called with the bytes of the file read since the last call.

    Raises:
        BadSetting: See check_settings.
        OSError: `spool` or `blob` cannot be written.
    """
    with closing(Columns() if into.spool is None else SpooledColumns(into.spool)) as columns:
        source = Source(path, log, progress)
        events = _load_scanner()(source, into.blob, columns, PreviewSchedule(into.peek, into.peek_at))
    _report_rest(source, events.bytes_read)
    return events


def _report_rest(source: Source, end: int) -> None:
    """Report what follows a list of events, in an object another such list. end: offset of the end of the list. Packed files
    are not read again for this."""
    if source.compressed:
        return
    with suppress(OSError), source.path.open("rb") as file:
        is_list = file.read(_HEAD).lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:1] == b"["
        file.seek(end)
        rest = file.read(_REST)
        start = 0 if is_list else find_another(rest)
        more = rest[start : start + _HEAD].strip(b"] \t\r\n\0")
        if start >= 0 and more:
            expected, action = Message("expected.end_of_events"), Message("action.export_trace")
            found = more.decode("utf-8", "replace")
            source.problem("bad_json", f"byte {end + start}", found, expected=expected, action=action)


#: Bytes of a file that show how it begins, or goes on.
_HEAD = 1 << 12
#: Bytes after a list of events in which another one is searched.
_REST = 1 << 20


_Scanner = Callable[[Source, Optional[IO[bytes]], Columns, PreviewSchedule], TraceEvents]


def check_settings() -> None:
    """Raises BadSetting if TB_NPU_SCANNER names no scanner or one that is not built, or if TB_NPU_SCAN_THREADS is not a
    positive integer. Call it before reading, as it is not a defect of a file."""
    _load_scanner()
    if os.environ.get(THREADS_VARIABLE):
        requested_threads()


def _load_scanner() -> _Scanner:
    setting = os.environ.get(SCANNER_VARIABLE, "")
    if setting not in ("", "c", "python"):
        raise BadSetting(
            Message("error.setting", name=SCANNER_VARIABLE, value=repr(setting)),
            Message("hint.scanner_setting", name=SCANNER_VARIABLE),
        )
    try:
        return native_or_python(_in_c, _in_python)
    except ImportError as error:
        raise BadSetting(
            Message("error.no_c_code", name=SCANNER_VARIABLE, value=repr(setting), reason=str(error)),
            Message("hint.no_c_code", name=SCANNER_VARIABLE),
        ) from None


def _in_c() -> _Scanner:
    from tb_npu_plugin.scan.native_scanner import scan_native

    return scan_native


def _in_python() -> _Scanner:
    from tb_npu_plugin.scan.msgspec_scanner import scan_msgspec  # slow import, on first use

    return scan_msgspec
