"""Scans logdirs for runs, workers and spans."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.found import Found, display_path
from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.logdirs import is_remote
from tb_npu_plugin.discovery.look_client import Looks
from tb_npu_plugin.discovery.lost_files import with_lost_files
from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, FoundWorker, OpenArchive, OtherFiles, Scan, token
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.discovery.walk import Walk
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.formats import MINDINSIGHT

logger = package_logger(__name__)

#: Captures of two processes with one rank are one restarted worker only if they are further apart than this.
RESTART_GAP = timedelta(seconds=60)


def scan(
    logdirs: Mapping[str, Path], seen: Callable[[], None] = lambda: None, open_archive: OpenArchive | None = None
) -> Scan:
    """Scan the folders `{"" or name of --logdir_spec: folder}`.

    Reads names, sizes and times; another process reads what only contents tell (looks.py). Never raises for what it
    finds: an unusable folder is listed in `skipped`. `seen` is called for each folder with results. Without
    `open_archive` no archive is opened.
    """
    with closing(Looks()) as looks:
        return _scan(logdirs, seen, looks, open_archive)


def _scan(
    logdirs: Mapping[str, Path], seen: Callable[[], None], looks: Looks, open_archive: OpenArchive | None
) -> Scan:
    runs: list[FoundRun] = []
    skipped: list[Skipped] = []
    summaries: list[tuple[str, int]] = []
    others: list[OtherFiles] = []
    for name, folder in logdirs.items():
        if is_remote(folder):
            skipped.append(report.remote(name or str(folder)))
            continue
        walk = Walk(name, seen, looks, open_archive)
        try:
            walk.start(folder)
        except Exception:  # a defect of this plugin must not hide what was found
            logger.exception("scanning %s failed", printable(str(folder)))
            skipped.append(report.internal_error(name or "."))
        skipped += walk.skipped
        others += walk.others
        if walk.summaries:
            summaries.append((name, walk.summaries))
        by_run: dict[tuple[str, ...], list[FoundSpan]] = defaultdict(list)
        for found in _own_runs(walk.found):
            by_run[found.run].append(_span(name, found))
        for parts, spans in by_run.items():
            # If the logdir is itself a result, the run is its parent folder.
            home = folder if all(found.parts for found in walk.found) else walk.found[0].folder.parent
            label = "/".join((*((name,) if name else ()), *parts)) or home.name or "/"
            label = report.decode_name(label)
            run = token("r", name, *parts)
            try:
                runs.append(FoundRun(run, label, tuple(_workers(run, with_lost_files(spans)))))
            except Exception:  # a defect of this plugin must not hide other runs
                logger.exception("grouping %s failed", printable(label))
                skipped.append(report.internal_error(label))
    runs.sort(key=lambda run: natural_key(run.label))
    return Scan(tuple(runs), tuple(skipped), tuple(summaries), tuple(others))


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
    runs = [*(run for run in found.runs if run.token not in kept), *kept.values()]
    return replace(found, runs=tuple(sorted(runs, key=lambda run: natural_key(run.label))))


def _above(path: str) -> Iterator[str]:
    """Yield a path, the folders above it, and the logdir."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "."


def natural_key(text: str) -> list[tuple[bool, int, str]]:
    """Sort key that puts rank10 after rank9."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", text)]


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


def _workers(run: str, spans: Iterable[FoundSpan]) -> list[FoundWorker]:
    """Group spans by rank, or by process if the rank is unknown."""
    by_rank: dict[int, list[FoundSpan]] = defaultdict(list)
    by_process: dict[str, list[FoundSpan]] = defaultdict(list)
    for span in spans:
        if span.identity.rank is None:
            by_process[_process(span.identity)].append(span)
        else:
            by_rank[span.identity.rank].append(span)
    workers = []
    for rank in sorted(by_rank):
        groups = _split_by_process(by_rank[rank])
        for group in groups:
            # The first group keeps the plain id, so that links remain valid when a second process appears.
            key = () if group is groups[0] else (_origin(group[0].identity),)
            own = group if len(groups) == 1 else [_with_shared_rank(span, rank, len(groups)) for span in group]
            workers.append(_worker(token("w", run, f"rank {rank}", *key), own, len(groups) > 1))
    for process in sorted(by_process, key=natural_key):
        workers.append(_worker(token("w", run, "process", process), by_process[process]))
    return workers


def _worker(worker: str, spans: list[FoundSpan], shared: bool = False) -> FoundWorker:
    """shared: other processes have the same rank."""
    spans = sorted(spans, key=lambda span: (span.identity.stamp, natural_key(span.path)))
    first = spans[0].identity
    process = _origin(first) if shared else _process(first)
    label = process or "worker"
    if first.rank is not None:
        label = f"rank {first.rank}" + (f" · {process}" if process else "")
    return FoundWorker(worker, label, first.rank, first.rank_source, first.host, first.pid, tuple(spans))


def _process(identity: Identity) -> str:
    """The recording process, from names."""
    return "/".join(filter(None, (identity.node, identity.worker_name)))


def _origin(identity: Identity) -> str:
    """The recording process, and its device if known."""
    device = "" if identity.device is None else f"device {identity.device}"
    return " · ".join(filter(None, (_process(identity), device)))


def _with_shared_rank(span: FoundSpan, rank: int, processes: int) -> FoundSpan:
    return replace(span, notes=(*span.notes, _shared_rank(rank, processes)))


def _shared_rank(rank: int, processes: int) -> Problem:
    return Problem(
        "shared_rank",
        "",
        "",
        Message("expected.one_process"),
        Message("found.processes", count=processes, rank=rank),
        Message("lost.rank"),
        Message("action.set_rank"),
        severity="warning",
    )


def _split_by_process(spans: list[FoundSpan]) -> list[list[FoundSpan]]:
    """Group the spans of one rank: one group, unless several processes recorded with this rank at the same time."""
    processes: dict[str, list[FoundSpan]] = defaultdict(list)
    for span in spans:
        processes[_origin(span.identity)].append(span)
    groups: list[list[FoundSpan]] = []
    for _, own in sorted(processes.items(), key=lambda item: min((span.identity.stamp, span.path) for span in item[1])):
        home = next((group for group in groups if not _may_overlap(group, own)), None)
        if home is None:
            groups.append(list(own))
        else:
            home.extend(own)
    return groups


def _may_overlap(left: list[FoundSpan], right: list[FoundSpan]) -> bool:
    """Whether two processes recorded at the same time, or the time of a span is unknown."""
    times = []
    for spans in (left, right):
        known = [span.identity.time for span in spans]
        stamps = [time for time in known if time is not None]
        if len(stamps) < len(known):
            return True
        times.append((min(stamps), max(stamps)))
    (left_first, left_last), (right_first, right_last) = times
    return right_first - left_last < RESTART_GAP and left_first - right_last < RESTART_GAP
