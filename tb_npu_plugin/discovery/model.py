"""What a scan finds: runs of workers of spans. Immutable, comparable, without content of any result file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.model import NO_UNREAD, Unread
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import DATABASE_SUFFIX, LOG_SUFFIXES, Stage
from tb_npu_plugin.schema.formats import FORMATS, TORCH_NPU


def token(kind: str, *parts: str) -> str:
    """Opaque and stable id: the same place gives the same id after a restart."""
    return kind + hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()


@dataclass(frozen=True)
class FoundFile:
    """A result file: path relative to the result folder, bytes, time of the last change in ns since the epoch, in which
    stages of reading it is read, and whether only for what the others lack."""

    relative: str
    size: int
    mtime_ns: int
    stages: tuple[Stage, ...] = ("tables",)
    fallback: bool = False

    @property
    def is_trace(self) -> bool:
        """The trace, which is read in a stage of its own."""
        return "trace" in self.stages

    @property
    def name(self) -> str:
        """Without its folders."""
        return self.relative.rpartition("/")[2]


@dataclass(frozen=True)
class FoundSpan:
    """One capture. `fingerprint` changes when any of its files does; `notes` is what the scan has to say about it;
    `format` is an id of schema.formats.FORMATS; `part`: see Found; `unread`: what lies beside its files."""

    token: str
    folder: Path
    path: str
    label: str
    identity: Identity
    files: tuple[FoundFile, ...]
    notes: tuple[Problem, ...] = ()
    format: str = TORCH_NPU.id
    part: str = ""
    unread: Unread = NO_UNREAD

    @cached_property
    def fingerprint(self) -> str:
        """Hash over names, sizes and times of the files."""
        return token("", *(f"{file.relative}:{file.size}:{file.mtime_ns}" for file in self.files))

    @cached_property
    def beside(self) -> str:
        """Hash over what lies beside the files, which is shown and never read."""
        return token("", repr(self.unread))

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.size for file in self.files)

    @cached_property
    def trace_files(self) -> tuple[FoundFile, ...]:
        """The trace; pieces of it in their order, else small ones first, should there be several. Databases only where
        there is no other."""
        return tuple(sorted((file for file in self.files if file.is_trace), key=self._order))

    def _order(self, file: FoundFile) -> tuple[bool, int, int, str]:
        spec = FORMATS[self.format].file(file.name)
        piece = spec.piece(file.name) if spec is not None else None
        return file.fallback, piece or 0, file.size, file.relative

    @cached_property
    def table_files(self) -> tuple[FoundFile, ...]:
        """What the tables are read from, small files first, databases last."""
        return _small_first(file for file in self.files if "tables" in file.stages)

    def reads(self, file: Path) -> bool:
        """One of its files is this one."""
        return any(self.folder / own.relative == file for own in self.files)

    @property
    def has_trace(self) -> bool:
        """There is a trace file."""
        return bool(self.trace_files)


def _small_first(files: Iterable[FoundFile]) -> tuple[FoundFile, ...]:
    return tuple(sorted(files, key=lambda file: (file.fallback, file.size, file.relative)))


@dataclass(frozen=True)
class FoundWorker:
    """One process or rank."""

    token: str
    label: str
    rank: int | None
    rank_source: str
    host: str | None
    pid: int | None
    spans: tuple[FoundSpan, ...]


@dataclass(frozen=True)
class FoundRun:
    """The folder that holds captures, relative to its logdir."""

    token: str
    label: str
    workers: tuple[FoundWorker, ...]


@dataclass(frozen=True)
class Place:
    """Where a span stands."""

    run: FoundRun
    worker: FoundWorker
    span: FoundSpan


@dataclass(frozen=True)
class Scan:
    """Everything below the logdirs at one moment."""

    runs: tuple[FoundRun, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def only(self, file: Path) -> Scan:
        """Without the spans that do not read a file; what was skipped is kept where no span does."""
        spans = {place.span for place in self.places() if place.span.reads(file)}
        runs = (replace(run, workers=tuple(_workers_with(run, spans))) for run in self.runs)
        return Scan(tuple(run for run in runs if run.workers), () if spans else self.skipped)

    def places(self) -> list[Place]:
        """All spans, in the order of the catalog."""
        return [Place(run, worker, span) for run in self.runs for worker in run.workers for span in worker.spans]


def _workers_with(run: FoundRun, spans: Set[FoundSpan]) -> Iterator[FoundWorker]:
    for worker in run.workers:
        kept = tuple(span for span in worker.spans if span in spans)
        if kept:
            yield replace(worker, spans=kept)


def modified_ns(path: str, status: os.stat_result) -> int:
    """When a file changed last, ns since the epoch. Of a database, also when a log beside it did: rows are written
    there while the file itself stays as it is."""
    times = [status.st_mtime_ns]
    if path.endswith(DATABASE_SUFFIX):
        for end in LOG_SUFFIXES:
            with suppress(OSError):  # there is none
                times.append(Path(path + end).stat().st_mtime_ns)
    return max(times)
