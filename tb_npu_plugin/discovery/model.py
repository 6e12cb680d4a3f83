"""Result of a scan: runs of workers of spans. Immutable, comparable, without content of result files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import NO_UNREAD, Unread
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import DATABASE_SUFFIX, LOG_SUFFIXES, Stage
from tb_npu_plugin.schema.formats import FORMATS, TORCH_NPU
from tb_npu_plugin.schema.torch_npu_json import PROFILER_METADATA


def token(kind: str, *parts: str) -> str:
    """Opaque, stable id: the same path gives the same id after a restart."""
    return kind + hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()


@dataclass(frozen=True)
class FoundFile:
    """A result file: path relative to the result folder, bytes, modification time in ns since the epoch, the stages
    that read it, whether it is only read for data that other files lack, and the name of the declared file that it is by its
    content, "" if its own name tells."""

    relative: str
    size: int
    mtime_ns: int
    stages: tuple[Stage, ...] = ("tables",)
    fallback: bool = False
    known_as: str = ""

    @property
    def is_trace(self) -> bool:
        """Whether this is the trace, which has a separate reading stage."""
        return "trace" in self.stages

    @property
    def name(self) -> str:
        """File name without folders, as the profiler writes it."""
        return self.known_as or self.relative.rpartition("/")[2]


@dataclass(frozen=True)
class FoundSpan:
    """One capture. `notes`: problems of the scan; `format`: id of schema.formats.FORMATS; `part`: see Found; `unread`:
    files that no reader uses."""

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
        """Hash of names, sizes and times of the files; changes when any file does."""
        return token("", *(f"{file.relative}:{file.size}:{file.mtime_ns}" for file in self.files))

    @cached_property
    def unread_fingerprint(self) -> str:
        """Hash of the unread files, which are listed and never read."""
        return token("", repr(self.unread))

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.size for file in self.files)

    @cached_property
    def trace_files(self) -> tuple[FoundFile, ...]:
        """The trace files: pieces in order, else by size. Databases only if there is no other trace."""
        return tuple(sorted((file for file in self.files if file.is_trace), key=self._order))

    def _order(self, file: FoundFile) -> tuple[bool, int, int, str]:
        spec = FORMATS[self.format].file(file.name)
        piece = spec.piece(file.name) if spec is not None else None
        return file.fallback, piece or 0, file.size, file.relative

    @cached_property
    def table_files(self) -> tuple[FoundFile, ...]:
        """Files of the tables by size, databases last."""
        return _small_first(file for file in self.files if "tables" in file.stages)

    @property
    def metadata(self) -> FoundFile | None:
        """Its profiler_metadata.json."""
        return next((file for file in self.files if file.relative == PROFILER_METADATA.name), None)

    @cached_property
    def lacks_kernels(self) -> bool:
        """Whether no file but the trace can hold the kernels."""
        specs = (FORMATS[self.format].file(file.name) for file in self.files)
        return not any(spec is not None and "kernels" in spec.tables for spec in specs)

    def has_file(self, file: Path) -> bool:
        """Whether `file` is one of its files."""
        return any(self.folder / own.relative == file for own in self.files)

    @property
    def has_trace(self) -> bool:
        """Whether a trace file exists."""
        return bool(self.trace_files)


def _small_first(files: Iterable[FoundFile]) -> tuple[FoundFile, ...]:
    return tuple(sorted(files, key=lambda file: (file.fallback, file.size, file.relative)))


@dataclass(frozen=True)
class FoundWorker:
    """One process or rank. role: see Identity."""

    token: str
    label: str
    rank: int | None
    rank_source: str
    host: str | None
    pid: int | None
    spans: tuple[FoundSpan, ...]
    role: str = ""


@dataclass(frozen=True)
class RunFolder:
    """A folder with captures, or one of several jobs in it, relative to its logdir.

    Attributes:
        logdir: Name of its logdir.
        token, label: Those of a run of it alone.
        job_token, job_label: Those of the folder of its job, where it is the folder of a role.
        shared: Token of the folder, if that holds several jobs.
        contradiction: Why these are several jobs; "" for one.
    """

    logdir: str
    token: str
    label: str
    job_token: str
    job_label: str
    spans: tuple[FoundSpan, ...]
    shared: str = ""
    contradiction: str = ""


@dataclass(frozen=True)
class FoundRun:
    """A job: one folder with captures, or several. basis: what decided that they are one run."""

    token: str
    label: str
    workers: tuple[FoundWorker, ...]
    folders: tuple[RunFolder, ...]
    basis: Message

    @property
    def spans(self) -> list[FoundSpan]:
        """Its captures, by folder."""
        return [span for folder in self.folders for span in folder.spans]

    def places(self) -> list[Place]:
        """Its captures, by worker."""
        return [Place(self, worker, span) for worker in self.workers for span in worker.spans]

    @property
    def tokens(self) -> tuple[str, ...]:
        """Its own id, and those of its folders, which old links have."""
        return (self.token, *(folder.token for folder in self.folders))

    def is_named(self, name: str) -> bool:
        """Whether a user may mean this run: by id or label, its own or that of one of its folders."""
        return name in (self.label, *self.tokens) or any(name == folder.label for folder in self.folders)


def label_of(run: FoundRun, role: str) -> str:
    """Name of a run, or of one of its roles."""
    return f"{run.label} · {role}" if role else run.label


@dataclass(frozen=True)
class Offer:
    """Runs, by token, that may be one job; nothing proves it."""

    runs: tuple[str, ...]
    reason: Message


@dataclass(frozen=True)
class Place:
    """A span with its worker and run."""

    run: FoundRun
    worker: FoundWorker
    span: FoundSpan


@dataclass(frozen=True)
class OtherFiles:
    """Files and folders of one folder that are not read. path: of the folder; names: the first ones."""

    path: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class OpenedArchive:
    """What became of an archive.

    folder      its members; None if it was not unpacked
    others      number of its files that results do not consist of, which were left in it, and the first names
    refused     number of members that are links, archives, repeated, or lead out of the archive
    is_damaged  it ends early, or parts of it cannot be unpacked
    reason      why it was not unpacked
    """

    folder: Path | None = None
    others: int = 0
    names: tuple[str, ...] = ()
    refused: int = 0
    is_damaged: bool = False
    reason: str = ""


#: Opens the archive of a path, size and modification time (ns). Raises OSError.
OpenArchive = Callable[[Path, int, int], OpenedArchive]


@dataclass(frozen=True)
class Scan:
    """Everything found below the logdirs in one scan. `summaries`: folders with Summary events of MindSpore, by name of
    the logdir. `offers`: see Offer. `others`: what is neither in a run nor skipped, nor inside a folder that is."""

    runs: tuple[FoundRun, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    summaries: tuple[tuple[str, int], ...] = ()
    offers: tuple[Offer, ...] = ()
    others: tuple[OtherFiles, ...] = ()

    def only(self, file: Path, members: Path | None = None) -> Scan:
        """The scan reduced to the spans that read `file`; without such a span `skipped` is kept. members: folder of an
        archive's members, if the file is one."""
        spans = {
            place.span
            for place in self.places()
            if place.span.has_file(file) or members in (place.span.folder, *place.span.folder.parents)
        }
        runs = (replace(run, workers=tuple(_workers_with(run, spans))) for run in self.runs)
        return Scan(
            tuple(run for run in runs if run.workers),
            () if spans else self.skipped,
            others=() if spans else self.others,
        )

    def places(self) -> list[Place]:
        """All spans, in the order of the catalog."""
        return [place for run in self.runs for place in run.places()]


def _workers_with(run: FoundRun, spans: Set[FoundSpan]) -> Iterator[FoundWorker]:
    for worker in run.workers:
        kept = tuple(span for span in worker.spans if span in spans)
        if kept:
            yield replace(worker, spans=kept)


def modified_ns(path: str, status: os.stat_result) -> int:
    """Modification time in ns since the epoch. For a database, also that of its log: SQLite writes rows there without
    changing the database file."""
    times = [status.st_mtime_ns]
    if path.endswith(DATABASE_SUFFIX):
        for end in LOG_SUFFIXES:
            with suppress(FileNotFoundError):  # no log exists
                times.append(Path(path + end).stat().st_mtime_ns)
    return max(times)
