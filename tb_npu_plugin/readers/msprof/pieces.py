"""Files that msprof cut into pieces: tables after a million rows, on demand the timeline after 200 MB.
Source: the vendor's reference of msprof's files."""

from __future__ import annotations

import dataclasses
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.csv_reader import Named
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import READ_ERRORS, opened
from tb_npu_plugin.scan import MEMORY, Into, TraceEvents, scan_trace
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import MSPROF
from tb_npu_plugin.schema.msprof import PIECE_MARK

_BLOCK = 1 << 20
#: A piece ends with "]" and maybe some blanks: so many bytes are looked at.
_END = 64
_BLANKS = b" \t\r\n"


def pieces_of(spec: ResultFile, path: Path, relative: str) -> list[Named]:
    """The pieces of a file, in their order; itself where it was not cut."""
    number = spec.piece(path.name)
    if number is None:
        return [(path, relative)]
    begin, _, end = path.name.partition(f"{PIECE_MARK}{number}")
    found = {}
    for other in path.parent.iterdir():
        piece = spec.piece(other.name) if spec.matches(other.name) else None
        if piece is not None and other.name == f"{begin}{PIECE_MARK}{piece}{end}":
            found[piece] = other
    folder = relative[: len(relative) - len(path.name)]
    return [(found[piece], folder + found[piece].name) for piece in sorted(found)]


def scan_pieces(path: Path, log: ProblemLog, progress: Callable[[int], None], into: Into = MEMORY) -> TraceEvents:
    """See scan.scan_trace. The pieces of a trace are lists of events that follow each other: they are read as one, which
    stands where the args of a compressed trace would."""
    spec = MSPROF.file(path.name)
    pieces = [] if spec is None else pieces_of(spec, path, path.name)
    if len(pieces) < 2:
        return scan_trace(path, log, progress, into)
    if into.blob is not None:
        _join(pieces, into.blob, log)
        return _scan_joined(Path(into.blob.name), log, progress, into)
    with tempfile.NamedTemporaryFile() as file:  # nobody wants the args
        _join(pieces, file, log)
        events = _scan_joined(Path(file.name), log, progress, into)
        return dataclasses.replace(events, args_offset=np.full(len(events), -1, dtype=np.int64))


def _scan_joined(joined: Path, log: ProblemLog, progress: Callable[[int], None], into: Into) -> TraceEvents:
    """The args are in the blob then, whatever the scanner says of the file that it was given."""
    peek = into.peek

    def shown(events: TraceEvents) -> None:
        assert peek is not None
        peek(dataclasses.replace(events, args_path=None))

    inner = dataclasses.replace(into, blob=None, peek=None if peek is None else shown)
    return dataclasses.replace(scan_trace(joined, log, progress, inner), args_path=None)


def _join(pieces: Sequence[Named], out: IO[bytes], log: ProblemLog) -> None:
    """Write one list of events of several."""
    between = b"["
    for path, relative in pieces:
        report = FileReport(log, relative)
        with opened(path, report, lambda count: None) as stream:
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
        report.add("file_cut", found=str(error))


def _begin(blocks: Iterator[bytes], report: FileReport) -> bytes | None:
    """What follows the bracket that opens the list, of the first block with more than blanks; None, and a problem,
    where there is no list."""
    for block in blocks:
        begin = block.lstrip(_BLANKS + BOM_UTF8)
        if begin:
            if begin.startswith(b"["):
                return begin[1:]
            report.add("unexpected_shape", expected="a list of events")
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
