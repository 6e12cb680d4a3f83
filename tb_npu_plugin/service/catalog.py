"""The catalog and the progress of reading, as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Literal, Optional, TypedDict

from tb_npu_plugin import __version__
from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, FoundWorker, Place, Scan
from tb_npu_plugin.discovery.report import decode_name
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.installation import scanner_in_use
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.problems import Problem, merge_problems
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.labels import span_label
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.span import problems_between, recorded_capture
from tb_npu_plugin.store.stages import STAGES, files_of, stages_of
from tb_npu_plugin.store.tables.index import only_in_trace, shown_tables
from tb_npu_plugin.views.availability import SpanFacts, ViewStateJson, facts_of_files, unusable_tables, view_states
from tb_npu_plugin.views.base import ProgressJson

SpanState = Literal["new", "reading", "partial", "ready", "failed"]


class SpanJson(TypedDict):
    """One capture in time."""

    id: str
    """Token for requests."""
    label: str
    """Start time and steps."""
    format: str
    """Kind of result: an id of schema.formats."""
    start_ns: Optional[str]
    """Start, ns since the epoch; null while unknown."""
    device_ns: Optional[list[str]]
    """Start of its first and end of its last task on the device, ns since the epoch; null while unknown."""
    bytes: int
    """Size of its files."""
    fingerprint: str
    """Changes when its files change."""
    state: SpanState
    """ "partial": the tables are read, the trace is not."""
    problems: int
    """Number of problems met so far."""
    views: list[ViewStateJson]
    """All views, in the order of the sidebar."""
    has_trace: bool
    """There is a trace file."""
    period: Literal["step", "iteration"]
    """What its steps are, as far as it is read."""
    simulated: bool
    """It is read, and its device data come from a simulated device."""


class WorkerJson(TypedDict):
    """One process or rank."""

    id: str
    """Token for requests."""
    label: str
    """Name to show."""
    rank: Optional[int]
    """Rank in the job; null where no file has it."""
    rank_source: str
    """File that the rank comes from, or "assumed"."""
    host: Optional[str]
    """Host name; null where unknown."""
    pid: Optional[int]
    """Process id; null where unknown."""
    role: str
    """Part of a reinforcement learning job, in which ranks are numbered; else ""."""
    spans: list[SpanJson]
    """Captures, by time."""


class FolderJson(TypedDict):
    """A folder of a run."""

    id: str
    """Token of a run of this folder alone, as in old links; it stands for the run."""
    label: str
    """Path below the logdir."""


class RunJson(TypedDict):
    """A job: one folder that holds captures, or several."""

    id: str
    """Token for requests."""
    label: str
    """Path below the logdir; of a run of several folders, that of the first, and how many more there are."""
    basis: str
    """What decided that the captures are one run."""
    texts: dict[str, MessageJson]
    """Code and parameters of `basis`."""
    folders: list[FolderJson]
    """By path."""
    workers: list[WorkerJson]
    """By role and rank."""
    kernel_types: dict[str, float]
    """Share of computing time of the kernel types that take most, on its first rank that is read; {} before, and without kernels."""


class OfferJson(TypedDict):
    """Runs that may be one job; nothing proves it."""

    runs: list[str]
    """Their tokens."""
    reason: str
    """Why they may be."""
    texts: dict[str, MessageJson]
    """Code and parameters of `reason`."""


class SkippedJson(TypedDict):
    """A folder that looks like a result and was skipped."""

    path: str
    """The folder."""
    reason: str
    """Why it was skipped."""
    action: str
    """What to do."""
    command: str
    """Shell command that `action` names; "" for none."""
    texts: dict[str, MessageJson]
    """Code and parameters of `reason` and `action`."""


class SummariesJson(TypedDict):
    """Summary events of MindSpore below one logdir that TensorBoard does not show."""

    folders: int
    """Number of folders that hold some."""
    command: str
    """Shell command that shows them."""


class OthersJson(TypedDict):
    """Files and folders of a folder that are not read: no run has them, and they are no profile."""

    path: str
    """The folder."""
    count: int
    """How many."""
    names: list[str]
    """The first ones; those of folders end in "/"."""


class CatalogJson(TypedDict):
    """Answer of /api/catalog."""

    generation: int
    """Grows with every change."""
    scanning: bool
    """A scan of the logdirs is running."""
    logdirs: list[str]
    """Folders that are scanned."""
    runs: list[RunJson]
    """In natural order of their labels."""
    offers: list[OfferJson]
    """Runs that may be one."""
    skipped: list[SkippedJson]
    """Folders that were skipped."""
    others: list[OthersJson]
    """Other files below the logdirs, by folder."""
    summaries: list[SummariesJson]
    """By logdir."""
    scanner: Literal["c", "python"]
    """Implementation that reads traces; see installation.py."""
    version: str
    """Version of the plugin."""


class ReadingJson(TypedDict):
    """Answer of /api/progress and /api/reading."""

    generation: int
    """As in CatalogJson."""
    changes: int
    """Grows with each change of a job's state and with each preview."""
    jobs: list[ProgressJson]
    """Stages that wait, are being read, were cancelled or have failed."""


def catalog(library: Library) -> CatalogJson:
    """All runs, workers and spans found so far. Does not wait."""
    # Read the counter first: the page must request changes that happen meanwhile.
    generation = library.generation
    scan = library.scan()
    return {
        "generation": generation,
        "scanning": library.watcher.scanning,
        "logdirs": [str(folder) for folder in library.watcher.logdirs.values()],
        "runs": [_run(library, run) for run in scan.runs],
        "offers": [
            {"runs": list(offer.runs), "reason": offer.reason, "texts": messages_of({"reason": offer.reason})}
            for offer in scan.offers
        ],
        "skipped": [
            {
                "path": item.path,
                "reason": item.reason,
                "action": item.action,
                "command": item.command,
                "texts": messages_of({"reason": item.reason, "action": item.action}),
            }
            for item in scan.skipped
        ],
        "others": [{"path": one.path, "count": one.count, "names": list(one.names)} for one in scan.others],
        "summaries": _summaries(library.watcher, scan),
        "scanner": scanner_in_use(),
        "version": __version__,
    }


def _summaries(watcher: Watcher, scan: Scan) -> list[SummariesJson]:
    if watcher.shows_summaries:
        return []
    return [
        {"folders": folders, "command": f"tb-npu board {shlex.quote(decode_name(str(watcher.logdirs[name])))}"}
        for name, folders in scan.summaries
    ]


def reading(library: Library, spans: Sequence[str]) -> ReadingJson:
    """Progress of these spans; without any, all jobs of the library. Skips unknown spans."""
    generation, changes = library.generation, library.pool.changes  # first: what changes meanwhile counts as new
    if spans:
        found = [place for place in map(library.watcher.place, spans) if place is not None]
        jobs = [item for place in found for item in span_progress(library, place)]
    else:
        jobs = [job_progress(job) for job in library.jobs()]
    return {"generation": generation, "changes": changes, "jobs": jobs}


def span_progress(library: Library, place: Place, known: Sequence[StageStatus] = ()) -> list[ProgressJson]:
    """Progress of the requested stages of a span. known: statuses that the caller already has."""
    return [stage_progress(place, status) for status in _statuses(library, place, known) if status.state != "new"]


def _statuses(library: Library, place: Place, known: Sequence[StageStatus]) -> list[StageStatus]:
    """Statuses of all stages of a span."""
    given = {status.stage: status for status in known}
    return [given.get(stage) or library.status(place, stage) for stage in stages_of(place.span)]


def stage_progress(place: Place, status: StageStatus) -> ProgressJson:
    """Progress of one stage at the time of `status`: its job may have ended since."""
    if status.job is not None and status.state != "new":
        return {**job_progress(status.job), "state": status.state}
    size = sum(file.size for file in files_of(place.span, status.stage))
    done = size if status.state == "ready" else 0
    return {
        "span": place.span.token,
        "stage": status.stage,
        "state": "ready" if status.state == "ready" else "waiting",
        "file": "",
        "bytes_done": done,
        "bytes_total": size,
        "rate": None,
        "eta_s": None,
        "message": "",
        "texts": {},
    }


def job_progress(job: Job) -> ProgressJson:
    """Progress of a job."""
    return {
        "span": job.span,
        "stage": job.stage,
        "state": job.state,
        "file": job.file,
        "bytes_done": job.bytes_done,
        "bytes_total": job.bytes_total,
        "rate": job.rate,
        "eta_s": job.eta,
        "message": job.message,
        "texts": messages_of({"message": job.message}),
    }


def span_facts(library: Library, place: Place, known: Sequence[StageStatus] = ()) -> SpanFacts:
    """Facts about a span's tables: from its cache entries, else from the names of its files. known: as for span_progress."""
    named = facts_of_files((file.name for file in place.span.files), FORMATS[place.span.format])
    entries = {status.stage: status.entry for status in _statuses(library, place, known)}
    tables, trace = entries["tables"], entries.get("trace")
    stored = shown_tables(tables, trace)
    have = stored.keys() | (named.tables & {"trace"} if tables else named.tables)
    rebuilt = only_in_trace(named.format, tables) - (frozenset() if tables else named.tables)
    if trace is None and "trace" in have:  # it may hold them
        have |= rebuilt
    unusable: dict[str, str] = {}
    codes: frozenset[str] = frozenset()
    if tables:
        other = place.span.trace_files[0].relative.rpartition("/")[2] if place.span.trace_files else ""
        sources = {table: found.files or [other] for table, found in stored.items()}
        kinds = {file.relative: file.name for file in place.span.files}
        problems = _problems(place.span, tables, trace)
        codes = frozenset(problem.code for problem in problems)
        has_timeline = bool(trace and trace.meta["timeline"])
        unusable = unusable_tables(kinds, named.format, sources, problems, has_timeline)
    capture = recorded_capture(tables) if tables else None
    rows = {table: found.rows for table, found in stored.items()}
    return SpanFacts(frozenset(have), rows, unusable, named.format, frozenset(rebuilt), capture, codes)


def _problems(span: FoundSpan, tables: Entry | None, trace: Entry | None) -> list[Problem]:
    """Problems met so far."""
    return merge_problems(
        span.notes,
        *(
            [Problem.from_json(item) for item in entry.meta["problems"]]
            for entry in (tables, trace)
            if entry is not None
        ),
        problems_between(span, tables, trace),
    )


def _run(library: Library, run: FoundRun) -> RunJson:
    return {
        "id": run.token,
        "label": run.label,
        "basis": run.basis,
        "texts": messages_of({"basis": run.basis}),
        "folders": [{"id": folder.token, "label": folder.label} for folder in run.folders],
        "workers": [_worker(library, Place(run, worker, worker.spans[0])) for worker in run.workers],
        "kernel_types": next(filter(None, (_kernel_types(library, place) for place in _places(run))), {}),
    }


def _places(run: FoundRun) -> Iterator[Place]:
    return (Place(run, worker, span) for worker in run.workers for span in worker.spans)


def _kernel_types(library: Library, place: Place) -> dict[str, float]:
    tables = library.status(place, "tables").entry
    types: dict[str, float] = tables.meta.get("kernel_types", {}) if tables else {}
    return types


def _worker(library: Library, first: Place) -> WorkerJson:
    worker: FoundWorker = first.worker
    return {
        "id": worker.token,
        "label": worker.label,
        "rank": worker.rank,
        "rank_source": worker.rank_source,
        "host": worker.host,
        "pid": worker.pid,
        "role": worker.role,
        "spans": [_span(library, Place(first.run, worker, span)) for span in worker.spans],
    }


def _span(library: Library, place: Place) -> SpanJson:
    span = place.span
    statuses = {stage: library.status(place, stage) for stage in STAGES if stage in stages_of(span)}
    tables = statuses["tables"]
    meta = tables.entry.meta if tables.entry else None
    start = meta["start_ns"] if meta else None
    found = _problems(span, tables.entry, statuses["trace"].entry if "trace" in statuses else None)
    counted = sum(problem.severity != "info" for problem in found)
    counted += sum(len(status.job.problems) for status in statuses.values() if status.job)
    growing = any(status.growing for status in statuses.values())
    facts = span_facts(library, place)
    return {
        "id": span.token,
        "label": span_label(span, meta),
        "start_ns": None if start is None else str(start),
        "device_ns": [str(time) for time in meta["device_ns"]] if meta and meta.get("device_ns") else None,
        "bytes": span.bytes,
        # A result is read again when its files settle, although they do not change.
        "fingerprint": span.fingerprint + ("+" if growing else ""),
        "state": _state(list(statuses.values())),
        "problems": counted,
        "views": view_states(facts),
        "format": span.format,
        "has_trace": span.has_trace,
        "period": "iteration" if "engine_iterations" in facts.tables else "step",
        "simulated": meta is not None and bool(meta["capture"]["simulated"]),
    }


def _state(statuses: list[StageStatus]) -> SpanState:
    """State of a span from those of its stages, tables first."""
    tables, *rest = statuses
    if tables.state == "waiting":
        return "reading"
    if tables.state == "cancelled":
        return "new"
    if tables.state != "ready":
        return tables.state
    return "ready" if all(status.state == "ready" for status in rest) else "partial"
