"""Files that msprof cut into pieces: tables after a million rows, on demand the timeline after 200 MB.
Source: the vendor's reference of msprof's files."""

from __future__ import annotations

import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import READ_ERRORS, opened
from tb_npu_plugin.scan import MEMORY, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import MSPROF
from tb_npu_plugin.schema.msprof import PIECE_MARK

_BLOCK = 1 << 20
#: Share of the time of reading that goes into joining.
_JOINING = 0.25
#: A piece ends with "]" and maybe some blanks: so many bytes are looked at.
_END = 64
_BLANKS = b" \t\r\n"


def pieces_of(spec: ResultFile, reading: Reading) -> list[Reading]:
    """The pieces of a file, in their order; itself where it was not cut."""
    path, relative = reading.path, reading.relative
    number = spec.piece(path.name)
    if number is None:
        return [reading]
    begin, _, end = path.name.partition(f"{PIECE_MARK}{number}")
    found = {number: path}
    for other in path.parent.iterdir():
        piece = spec.piece(other.name) if spec.matches(other.name) else None
        if piece is not None and other.name == f"{begin}{PIECE_MARK}{piece}{end}":
            found[piece] = other
    folder = relative[: len(relative) - len(path.name)]
    return [replace(reading, path=found[piece], relative=folder + found[piece].name) for piece in sorted(found)]


def scan_pieces(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """See scan.scan_trace. The pieces of a trace are lists of events that follow each other: they are read as one, which
    stands where the args of a compressed trace would."""
    spec = MSPROF.file(path.name)
    pieces = [] if spec is None else pieces_of(spec, Reading(path, path.name, log))
    if len(pieces) < 2:
        return scan_trace(path, log, progress, into)
    told = _Told(sum(piece.path.stat().st_size for piece in pieces if piece.path.is_file()), progress)
    pieces = [replace(piece, progress=told.joined) for piece in pieces]
    if into.blob is not None:
        _join(pieces, into.blob)
        return _scan_joined(Path(into.blob.name), log, told, into)
    with tempfile.NamedTemporaryFile() as file:  # nobody wants the args
        _join(pieces, file)
        events = _scan_joined(Path(file.name), log, told, into)
        return replace(events, args_offset=np.full(len(events), -1, dtype=np.int64))


class _Told:
    """Tells progress in bytes of the pieces: some of them count while they are joined, the rest as what was made of them
    is read, which has more bytes where they were packed."""

    def __init__(self, size: int, progress: Callable[[int], None]) -> None:
        self._size, self._progress, self._told = size, progress, 0
        self._joined = self._read = 0

    def joined(self, count: int) -> None:
        """So many more bytes of the pieces are copied."""
        self._joined += count
        self._to(_JOINING * self._joined)

    def scanned(self, count: int, whole: int) -> None:
        """So many more of `whole` bytes are read."""
        self._read += count
        self._to(self._size * (_JOINING + (1 - _JOINING) * self._read / max(whole, 1)))

    def _to(self, reached: float) -> None:
        count = min(round(reached), self._size) - self._told
        if count > 0:
            self._told += count
            self._progress(count)


def _scan_joined(joined: Path, log: ProblemLog, told: _Told, into: ScanSink) -> TraceEvents:
    """The args are in the blob then, whatever the scanner says of the file that it was given."""

    def shown(events: TraceEvents) -> None:
        assert peek is not None
        peek(replace(events, args_path=None))

    peek, whole = into.peek, joined.stat().st_size
    inner = replace(into, blob=None, peek=None if peek is None else shown)
    found = scan_trace(joined, log, lambda count: told.scanned(count, whole), inner)
    return replace(found, args_path=None)


def _join(pieces: Sequence[Reading], out: IO[bytes]) -> None:
    """Write one list of events of several."""
    between = b"["
    for piece in pieces:
        report = piece.report
        with opened(piece) as stream:
            if stream is None:
                continue
            blocks = _blocks(stream, report)
            begin = _begin(blocks, report)
            if begin is not None:
                out.write(between)
                _copy(chain([begin], blocks), out)
                between = b",\n"
    out.write(b"]" if between != b"[" else b"[]")
    out.flush()


def _blocks(stream: IO[bytes], report: FileReport) -> Iterator[bytes]:
    """What can be read of a piece; a failure in the middle ends it with a problem."""
    try:
        while block := stream.read1(_BLOCK):  # type: ignore[attr-defined]
            yield block
    except READ_ERRORS as error:
        report.cut(error)


def _begin(blocks: Iterator[bytes], report: FileReport) -> bytes | None:
    """What follows the bracket that opens the list, of the first block with more than blanks; None, and a problem,
    where there is no list."""
    for block in blocks:
        begin = block.lstrip(_BLANKS + BOM_UTF8)
        if begin:
            if begin.startswith(b"["):
                return begin[1:]
            report.add("unexpected_shape", expected=Message("expected.event_list"))
            return None
    report.add("empty_file")
    return None


def _copy(blocks: Iterable[bytes], out: IO[bytes]) -> None:
    """Everything up to the bracket that closes the list."""
    held = b""
    for block in blocks:
        held += block
        out.write(held[:-_END])
        held = held[-_END:]
    held = held.rstrip(_BLANKS)
    out.write(held[:-1] if held.endswith(b"]") else held)
