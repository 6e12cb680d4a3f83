"""Joins files that msprof splits into pieces: tables after a million rows, on request the timeline after 200 MB.
Source: the vendor's reference of msprof's files."""

from __future__ import annotations

import re
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import READ_ERRORS, open_file
from tb_npu_plugin.scan import MEMORY, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import MSPROF
from tb_npu_plugin.schema.msprof import PIECE_MARK

_BLOCK = 1 << 20
#: Share of the reading time for joining.
_JOINING = 0.25
#: Last bytes of a piece that are searched for "]" and blanks.
_END = 64
_BLANKS = b" \t\r\n"
_BRACKET = b"["
_BYTE = re.compile(r"byte (\d+)")


def pieces_of(spec: ResultFile, reading: Reading) -> list[Reading]:
    """Return the pieces of a file in order; the file itself if it is not split."""
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
    ordered = [found[piece] for piece in sorted(found)]
    counted = folder + ordered[0].name
    return [
        replace(reading, path=piece, relative=folder + piece.name, counted=counted, name=piece.name)
        for piece in ordered
    ]


def scan_pieces(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """As scan.scan_trace. The pieces of a trace, lists of consecutive events, are joined in the blob for args and scanned
    as one file."""
    spec = MSPROF.file(path.name)
    pieces = [] if spec is None else pieces_of(spec, Reading(path, path.name, log))
    if len(pieces) < 2:
        return scan_trace(path, log, progress, into)
    pieces_progress = _PiecesProgress(
        sum(piece.path.stat().st_size for piece in pieces if piece.path.is_file()), progress
    )
    pieces = [replace(piece, progress=pieces_progress.count_joined) for piece in pieces]
    if into.blob is not None:
        log = _LogOfParts(log, _join(pieces, into.blob))
        return _scan_joined(Path(into.blob.name), log, pieces_progress, into)
    with tempfile.NamedTemporaryFile() as file:  # args are not kept
        log = _LogOfParts(log, _join(pieces, file))
        events = _scan_joined(Path(file.name), log, pieces_progress, into)
        return replace(events, args_offset=np.full(len(events), -1, dtype=np.int64))


class _LogOfParts(ProblemLog):
    """Passes on the problems of a joined file; those at a byte get the name of their piece and the byte in it. parts: where
    each begins in the joined file, and its name."""

    def __init__(self, log: ProblemLog, parts: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        self._log, self.parts, self.seen = log, tuple(parts), log.seen

    def add(self, problem: Problem, kind: str = "") -> None:
        """As in ProblemLog."""
        place = _BYTE.search(problem.where)
        byte = int(place[1]) if place is not None else -1
        begin, name = next((part for part in reversed(self.parts) if part[0] <= byte), (0, problem.file))
        where = _BYTE.sub(f"byte {byte - begin + len(_BRACKET)}", problem.where) if begin else problem.where
        self._log.add(replace(problem, file=name, where=where), kind)


class _PiecesProgress:
    """Reports progress in bytes of the pieces: a part while they are joined, the rest while the joined file is scanned,
    which is larger if the pieces are packed."""

    def __init__(self, size: int, progress: Callable[[int], None]) -> None:
        self._size, self._progress, self._reported = size, progress, 0
        self._joined = self._read = 0

    def count_joined(self, count: int) -> None:
        """Count bytes of the pieces as joined."""
        self._joined += count
        self._advance(_JOINING * self._joined)

    def count_scanned(self, count: int, whole: int) -> None:
        """Count bytes as scanned, of `whole` bytes in the joined file."""
        self._read += count
        self._advance(self._size * (_JOINING + (1 - _JOINING) * self._read / max(whole, 1)))

    def _advance(self, reached: float) -> None:
        count = min(round(reached), self._size) - self._reported
        if count > 0:
            self._reported += count
            self._progress(count)


def _scan_joined(joined: Path, log: _LogOfParts, pieces_progress: _PiecesProgress, into: ScanSink) -> TraceEvents:
    """Scan the joined file, which is the blob: the events need no path of args."""

    def shown(events: TraceEvents) -> None:
        assert peek is not None
        peek(replace(events, args_path=None, parts=log.parts))

    peek, whole = into.peek, joined.stat().st_size
    inner = replace(into, blob=None, peek=None if peek is None else shown)
    found = scan_trace(joined, log, lambda count: pieces_progress.count_scanned(count, whole), inner)
    return replace(found, args_path=None, parts=log.parts)


def _join(pieces: Sequence[Reading], out: IO[bytes]) -> list[tuple[int, str]]:
    """Write the lists of events of all pieces as one list. Returns where the events of each begin in it, and its name."""
    between = _BRACKET
    parts: list[tuple[int, str]] = []
    for piece in pieces:
        report = piece.report
        with open_file(piece) as stream:
            if stream is None:
                continue
            blocks = _blocks(stream, report)
            begin = _begin(blocks, report)
            if begin is None:
                continue
            if begin.lstrip(_BLANKS).startswith(b"]"):  # msprof writes no piece without events
                report.add("no_events_in_piece")
            else:
                out.write(between)
                parts.append((out.tell(), piece.name))
                if not _copy(chain([begin], blocks), out):
                    report.add("piece_cut")
                between = b",\n"
    out.write(b"]" if parts else b"[]")
    out.flush()
    return parts


def _blocks(stream: IO[bytes], report: FileReport) -> Iterator[bytes]:
    """Yield the blocks of a piece; report a read error and end."""
    try:
        while block := stream.read1(_BLOCK):  # type: ignore[attr-defined]
            yield block
    except READ_ERRORS as error:
        report.cut(error)


def _begin(blocks: Iterator[bytes], report: FileReport) -> bytes | None:
    """Return the first block with more than blanks, from after the opening bracket; None, and a problem, without a
    list."""
    for block in blocks:
        begin = block.lstrip(_BLANKS + BOM_UTF8)
        if begin:
            if begin.startswith(_BRACKET):
                return begin[1:]
            report.add("unexpected_shape", expected=Message("expected.event_list"))
            return None
    report.add("empty_file")
    return None


def _copy(blocks: Iterable[bytes], out: IO[bytes]) -> bool:
    """Copy everything up to the closing bracket of the list. Returns whether there is one."""
    held = b""
    for block in blocks:
        held += block
        out.write(held[:-_END])
        held = held[-_END:]
    held = held.rstrip(_BLANKS)
    is_whole = held.endswith(b"]")
    out.write(held[:-1] if is_whole else held)
    return is_whole
