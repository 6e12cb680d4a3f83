"""Scans logdirs for runs, workers and spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.found import Found, display_path
from tb_npu_plugin.discovery.identity import role_of
from tb_npu_plugin.discovery.logdirs import is_remote
from tb_npu_plugin.discovery.look_client import Failure, Looks
from tb_npu_plugin.discovery.looks import FACTS, TRACE_HEAD, Look, TraceHead
from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, Offer, OpenArchive, OtherFiles, RunFolder, Scan, token
from tb_npu_plugin.discovery.offers import offers
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.discovery.runs import Choice, FactsOf, group_by_job, natural_key, regroup, run_of, split_by_job
from tb_npu_plugin.discovery.walk import Walk
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.schema.formats import KINETO, MINDINSIGHT
from tb_npu_plugin.schema.scan_keys import LARGEST, MAX_RANK, WORLD_SIZE

logger = package_logger(__name__)

#: Captures below a logdir up to which each is asked for its job; of more, one of each host.
MAX_LOOKS = 64


def scan(
    logdirs: Mapping[str, Path],
    seen: Callable[[], None] = lambda: None,
    open_archive: OpenArchive | None = None,
    joined: Iterable[Collection[str]] = (),
) -> Scan:
    """Scan the folders `{"" or name of --logdir_spec: folder}`. joined: names of those whose runs the user wants as one.

    Reads names, sizes and times; another process reads what only contents tell (looks.py). Never raises for what it
    finds: an unusable folder is listed in `skipped`. `seen` is called for each folder with results. Without
    `open_archive` no archive is opened.
    """
    with closing(Looks()) as looks:
        found = _scan(logdirs, seen, looks, open_archive)
    groups = [{run.token for run in found.runs if run.folders[0].logdir in names} for names in joined]
    return regroup(found, Choice(frozenset(map(frozenset, groups))))


def _scan(
    logdirs: Mapping[str, Path], seen: Callable[[], None], looks: Looks, open_archive: OpenArchive | None
) -> Scan:
    runs: list[FoundRun] = []
    skipped: list[Skipped] = []
    summaries: list[tuple[str, int]] = []
    offered: list[Offer] = []
    others: list[OtherFiles] = []
    for name, folder in logdirs.items():
        if is_remote(folder):
            skipped.append(report.skip("remote", name or str(folder)))
            continue
        walk = Walk(name, seen, looks, open_archive)
        try:
            walk.start(folder)
        except Exception:  # a defect of this plugin must not hide what was found
            logger.exception("scanning %s failed", printable(str(folder)))
            skipped.append(report.skip("internal_error", name or "."))
        skipped += walk.skipped
        others += walk.others
        if walk.summaries:
            summaries.append((name, walk.summaries))
        jobs: dict[str, Mapping[str, str]] = {}
        facts_of, looks_at_all = partial(_facts_of, looks), len(walk.found) <= MAX_LOOKS
        job_of = partial(_job_of, facts_of, jobs)
        folders = [
            part for one in _folders(name, folder, walk.found) for part in split_by_job(one, facts_of, looks_at_all)
        ]
        own: list[FoundRun] = []
        for group in group_by_job(folders, job_of):
            try:
                own.append(run_of(group))
            except Exception:  # a defect of this plugin must not hide other runs
                logger.exception("grouping %s failed", printable(group[0].label))
                skipped.append(report.skip("internal_error", group[0].label))
        runs += own
        offered += offers(own, jobs, job_of)
    runs.sort(key=lambda run: natural_key(run.label))
    return Scan(tuple(runs), tuple(skipped), tuple(summaries), tuple(offered), tuple(others))


def _folders(name: str, logdir: Path, all_found: Sequence[Found]) -> list[RunFolder]:
    """The folders with captures below a logdir."""
    by_run: dict[tuple[str, ...], list[FoundSpan]] = defaultdict(list)
    for found in _own_runs(all_found):
        by_run[found.run].append(_span(name, found))
    # If the logdir is itself a result, the run is its parent folder.
    home = logdir if any(found.parts for found in all_found) or not all_found else all_found[0].folder.parent
    home_label = report.decode_name(home.name) or "/"
    folders = []
    for parts, spans in by_run.items():
        job = role_of(parts)[0] if any(span.identity.role for span in spans) else parts
        ids = [(token("r", name, *path), display_path(name, path) or home_label) for path in (parts, job)]
        folders.append(RunFolder(name, *ids[0], *ids[1], tuple(spans)))
    return folders


def _facts_of(looks: Looks, span: FoundSpan) -> Mapping[str, str]:
    """What a capture tells of its job; nothing if it cannot be a rank of that. If the look failed, so will the reader, which reports
    it."""
    is_trace = span.format == KINETO.id
    look: Look[Any] = TRACE_HEAD if is_trace else FACTS
    file = span.files[0] if is_trace else span.metadata
    told = () if file is None else looks.ask(look, str(span.folder / file.relative), file.size, file.mtime_ns)
    facts = {} if isinstance(told, Failure) else dict(told.facts if isinstance(told, TraceHead) else told)
    return facts if (span.identity.rank or 0) < int(facts.get(WORLD_SIZE, MAX_RANK)) else {}


def _job_of(facts_of: FactsOf, jobs: dict[str, Mapping[str, str]], folder: RunFolder) -> Mapping[str, str]:
    """What the first rank with communicators tells of the job, which is kept in `jobs`."""
    for span in sorted(folder.spans, key=lambda one: one.identity.rank or 0):
        facts = facts_of(span)
        if LARGEST in facts:
            jobs[folder.token] = facts
            return facts
    return {}


def _own_runs(found: Sequence[Found]) -> list[Found]:
    """Sibling folders that each hold several ranks (MindSpore up to 2.2) form one run if their ranks differ. If two
    hold the same rank, they belong to different jobs and each becomes a run."""
    folders: dict[tuple[str, ...], dict[Path, set[int | None]]] = defaultdict(lambda: defaultdict(set))
    for one in found:
        if one.format == MINDINSIGHT.id:
            folders[one.run][one.folder].add(one.identity.rank)
    mixed = {run for run, ranks in folders.items() if sum(map(len, ranks.values())) > len(set().union(*ranks.values()))}
    return [
        replace(one, run=one.parts[:-1]) if one.run in mixed and one.parts[-2:-1] == (one.folder.name,) else one
        for one in found
    ]


def keep_refused(found: Scan, before: Scan) -> Scan:
    """Keep the runs of an earlier scan that the machine refused to look into this time."""
    refused = {item.path for item in found.skipped if item.is_refused}
    kept = {place.run.token: place.run for place in before.places() if refused.intersection(_above(place.span.path))}
    if not kept:
        return found
    folders = {folder for run in kept.values() for folder in run.tokens}
    others = [run for run in found.runs if folders.isdisjoint(run.tokens)]
    runs = sorted([*others, *kept.values()], key=lambda run: natural_key(run.label))
    left = {run.token for run in runs}
    return replace(found, runs=tuple(runs), offers=tuple(one for one in found.offers if left.issuperset(one.runs)))


def _above(path: str) -> Iterator[str]:
    """Yield a path, the folders above it, and the logdir."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "."


def _span(name: str, found: Found) -> FoundSpan:
    time = found.identity.time
    return FoundSpan(
        token=token("s", name, *found.parts),
        folder=found.folder,
        path=display_path(name, found.parts) or found.folder.name,
        label=time.strftime("%Y-%m-%d %H:%M:%S") if time else found.label,
        identity=found.identity,
        files=found.files,
        notes=found.notes,
        format=found.format,
        part=found.part,
        unread=found.unread,
    )
