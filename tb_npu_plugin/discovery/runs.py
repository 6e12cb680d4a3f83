"""Runs: which folders are one job, what decided it, and the workers of each.

A folder holds several jobs if the metadata of its captures contradict each other. Jobs with the same ranks, one after another, are
captures of one run, which the user can split. Each other job is a run.
Folders of the roles of one reinforcement learning job are one run. Other folders below one logdir are joined if their metadata name
the same world size and communicator, their ranks differ and they were recorded at one time. Without such metadata a folder is a run,
and folders that look alike are only offered as one. A choice of the user goes first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from tb_npu_plugin.discovery.identity import Identity
from tb_npu_plugin.discovery.lost_files import with_lost_files
from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, FoundWorker, RunFolder, Scan, token
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import problem_of
from tb_npu_plugin.schema.scan_keys import LARGEST, MAX_RANK, MEGATRON, MEMBERS, RANK, WORLD, WORLD_SIZE

T = TypeVar("T")
#: What a capture, and a folder, tells of its job: see looks.Facts.
FactsOf = Callable[[FoundSpan], Mapping[str, str]]
JobOf = Callable[[RunFolder], Mapping[str, str]]
#: How captures contradict a job.
_REASONS = {
    WORLD_SIZE: "run.shared.world",
    MEGATRON: "run.shared.sizes",
    WORLD: "run.shared.all",
    MEMBERS: "run.shared.group",
    RANK: "run.shared.rank",
}

#: What begins at least this long after the end of the other was not recorded at one time. Of two processes with one rank, it is
#: a restarted worker.
RESTART_GAP = timedelta(seconds=60)


@dataclass
class _FolderJob:
    """A job in a folder: its captures, what their metadata tell, and how they contradict another job: see _contradiction."""

    spans: list[FoundSpan]
    facts: dict[str, str]
    contradiction: str


def split_by_job(folder: RunFolder, facts_of: FactsOf, looks_at_all: bool) -> list[RunFolder]:
    """The jobs that a folder holds, if the metadata of its captures contradict each other; else the folder. looks_at_all: each capture
    is asked; else one of those that a host recorded at one time with different ranks."""
    together = at_one_time((span, [span]) for span in folder.spans)
    parts = [part for captures in together for part in _parts(captures, looks_at_all)]
    if folder.job_token != folder.token or len(parts) < 2:
        return [folder]
    told = [(spans, next(filter(None, map(facts_of, spans)), {})) for spans in parts]
    jobs: list[_FolderJob] = []
    for spans, facts in sorted(told, key=lambda one: WORLD_SIZE not in one[1]):
        contradictions = [_contradiction(job.facts, facts, spans) for job in jobs]
        if "" in contradictions:
            job = jobs[contradictions.index("")]
            job.spans += spans
            job.facts.update(facts)
        else:
            jobs.append(_FolderJob(spans, dict(facts), next(iter(contradictions), "")))
    if len(jobs) < 2:
        return [folder]
    jobs[0].contradiction = jobs[1].contradiction
    out: list[RunFolder] = []
    named: set[tuple[str, ...]] = set()
    for number, job in enumerate(jobs, 1):
        names: tuple[str, ...] = job.facts.get(WORLD, ""), job.facts.get(WORLD_SIZE, "None")
        names = (*names, job.spans[0].token) if names in named else names
        named.add(names)
        ids = (folder.token, folder.label)
        if number > 1:
            ids = (token("r", folder.token, *names), f"{folder.label} · job {number}")
        own = tuple(job.spans)
        out.append(RunFolder(folder.logdir, *ids, *ids, own, folder.token, Message(_REASONS[job.contradiction])))
    return out


def _parts(captures: Sequence[FoundSpan], looks_at_all: bool) -> list[list[FoundSpan]]:
    """Captures of one time that count as one: each alone, or those of a host, if their ranks differ."""
    by_host: dict[object, list[FoundSpan]] = defaultdict(list)
    for span in captures:
        by_host[span.token if looks_at_all else span.identity.host].append(span)
    parts = []
    for own in by_host.values():
        ranks = [span.identity.rank for span in own if span.identity.rank is not None]
        parts += [own] if len(set(ranks)) == len(ranks) else [[span] for span in own]
    return parts


def _contradiction(known: Mapping[str, str], facts: Mapping[str, str], spans: Sequence[FoundSpan]) -> str:
    """The fact that a job has otherwise, or RANK for captures without facts whose rank it cannot have; "" if they may be of it."""
    for fact, value in facts.items():
        if fact != LARGEST and known.get(fact, value) != value:
            return fact if fact in _REASONS else MEMBERS
    world = int(known.get(WORLD_SIZE, MAX_RANK))
    return "" if facts or all((span.identity.rank or 0) < world for span in spans) else RANK


def group_by_job(folders: Sequence[RunFolder], job_of: JobOf) -> list[list[RunFolder]]:
    """The folders of each run, by name. Asks for jobs only where folders may be joined. Takes linear time, and n log n to sort."""
    by_name = sorted(folders, key=lambda one: natural_key(one.label))
    roles = {folder.job_token for folder in folders if folder.job_token != folder.token}
    of_roles: dict[str, list[RunFolder]] = defaultdict(list)
    for folder in by_name:
        if folder.job_token in roles:
            of_roles[folder.job_token].append(folder)
    groups = list(of_roles.values())
    timed = [(folder, folder.spans) for folder in by_name if folder.job_token not in roles]
    for together in at_one_time(timed):
        by_job: dict[object, list[RunFolder]] = defaultdict(list)
        asked = _may_join(together)
        for folder in together:
            job = job_of(folder) if folder.token in asked else {}
            by_job[job_key(job) if job else folder.token].append(folder)
        for own in by_job.values():
            groups += _disjoint(own) if len(own) > 1 else [own]
    return _with_restarts(groups, job_of)


def job_key(facts: Mapping[str, str]) -> tuple[str, ...]:
    """What folders of one job have in common."""
    return tuple(facts.get(fact, "") for fact in (WORLD_SIZE, MEGATRON, LARGEST))


def _with_restarts(groups: Sequence[list[RunFolder]], job_of: JobOf) -> list[list[RunFolder]]:
    """Jobs of one folder with the same ranks and world size, none at the time of another, are one run: a job that was started again."""
    out: list[list[RunFolder]] = []
    home: dict[object, list[RunFolder]] = {}
    for group in groups:
        first = group[0]
        job = job_of(first) if first.shared and len(group) == 1 else {}
        ranks = frozenset(ranks_of(first.spans))
        if not job or not ranks:
            out.append(group)
            continue
        key = first.shared, ranks, job.get(WORLD_SIZE)
        before = home.setdefault(key, group)
        if before is group or any(_may_overlap(one.spans, first.spans) for one in before):
            out.append(group)
        else:
            before.append(first)
    return out


def _may_join(folders: Sequence[RunFolder]) -> set[str]:
    """Tokens of the folders whose ranks are known and which may tell their job; none where all of these have the same rank, as
    captures of several jobs do."""
    found = [one for one in folders if ranks_of(one.spans) and any(span.metadata for span in one.spans)]
    counts = Counter(rank for folder in found for rank in ranks_of(folder.spans))
    return {folder.token for folder in found} if max(counts.values(), default=0) < len(found) else set()


def _disjoint(folders: Sequence[RunFolder]) -> list[list[RunFolder]]:
    """Folders of one job by capture: each goes to the first capture after those that have one of its ranks."""
    captures: list[list[RunFolder]] = []
    following: dict[object, int] = {}  # by rank: the first capture without it, and without it in all later ones
    for folder in folders:
        ranks = {*ranks_of(folder.spans), *filter(None, (folder.shared,))}  # jobs of one folder contradict
        number = max(following.get(rank, 0) for rank in ranks)
        if number == len(captures):
            captures.append([])
        captures[number].append(folder)
        following.update(dict.fromkeys(ranks, number + 1))
    return captures


def ranks_of(spans: Iterable[FoundSpan]) -> set[int]:
    """Ranks of captures; none if one is unknown."""
    ranks = {span.identity.rank for span in spans}
    return set() if None in ranks else {rank for rank in ranks if rank is not None}


def at_one_time(items: Iterable[tuple[T, Sequence[FoundSpan]]]) -> list[list[T]]:
    """Items, each with its captures, that were recorded at one time; those of unknown time are together."""
    timed: list[tuple[datetime, datetime, int, T]] = []
    groups: list[list[T]] = [[]]
    for number, (item, spans) in enumerate(items):
        times = _times(spans)
        if times is None:
            groups[0].append(item)
        else:
            timed.append((*times, number, item))
    timed.sort(key=lambda one: one[0])
    end = datetime.min
    numbered: list[list[tuple[int, T]]] = []
    for first, last, number, item in timed:
        if not numbered or first - end >= RESTART_GAP:
            numbered.append([])
        numbered[-1].append((number, item))
        end = max(end, last)
    # In the order of the items: times of one capture have no meaning.
    return groups + [[item for _, item in sorted(group, key=lambda one: one[0])] for group in numbered]


@dataclass(frozen=True)
class Choice:
    """Runs that a user wants as one, and runs whose folders shall be runs of their own: by their ids, or those of their folders."""

    joined: frozenset[frozenset[str]] = frozenset()
    split: frozenset[str] = frozenset()


def regroup(scan: Scan, choice: Choice) -> Scan:
    """The scan with the runs that a user has chosen. Ids of no run have no effect."""
    runs: list[FoundRun] = []
    for run in scan.runs:
        is_split = not choice.split.isdisjoint(run.tokens)
        runs += [run_of([folder], Message("run.split")) for folder in run.folders] if is_split else [run]
    for ids in sorted(choice.joined, key=sorted):
        own = [run for run in runs if not ids.isdisjoint(run.tokens)]
        if len(own) > 1:
            folders = sorted((folder for run in own for folder in run.folders), key=lambda one: natural_key(one.label))
            runs = [run for run in runs if ids.isdisjoint(run.tokens)]
            runs.append(run_of(folders, Message("run.chosen", count=len(folders))))
    runs.sort(key=lambda run: natural_key(run.label))
    left = {run.token for run in runs}
    return replace(scan, runs=tuple(runs), offers=tuple(one for one in scan.offers if left.issuperset(one.runs)))


def run_of(folders: Sequence[RunFolder], chosen: Message | None = None) -> FoundRun:
    """The run of these folders: with the name and id of the folder of roles, else of the first. Workers keep the ids that their
    folder alone gives them. chosen: the choice of the user, if that decided."""
    first = folders[0]
    spans = iter(with_lost_files([span for folder in folders for span in folder.spans]))
    homes: dict[str, str] = {}
    by_role: dict[str, list[FoundSpan]] = defaultdict(list)
    for folder in folders:
        for span in (next(spans) for _ in folder.spans):
            homes[span.token] = folder.token
            by_role[span.identity.role].append(span)
    workers = [
        worker
        for role in sorted(by_role, key=natural_key)
        for worker in sorted(_workers(homes, by_role[role]), key=lambda one: (one.rank is None, one.rank or 0))
    ]
    is_restarted = len(folders) > 1 and len({folder.shared or folder.token for folder in folders}) == 1
    more = f" + {len(folders) - 1}" if len(folders) > 1 and not is_restarted else ""
    own, label, basis = first.token, first.label + more, Message("run.folder")
    if chosen is not None:
        basis = chosen
    elif any(by_role):
        own, label = first.job_token, first.job_label
        basis = Message("run.roles", roles=", ".join(filter(None, sorted(by_role))))
    elif is_restarted:
        basis = Message("run.restarted", count=len(folders))
    elif first.contradiction and not more:
        basis = Message("run.shared", why=first.contradiction)
    elif more:
        basis = Message("run.joined", count=len(folders))
    return FoundRun(own, label, tuple(workers), tuple(folders), basis)


def natural_key(text: str) -> list[tuple[bool, int, str]]:
    """Sort key that puts rank10 after rank9."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", text)]


def _workers(homes: Mapping[str, str], spans: Iterable[FoundSpan]) -> list[FoundWorker]:
    """Group spans by rank, or by process if the rank is unknown. homes: id of the folder of each span, by its own. Without a pid, a
    process is one of its folder."""
    by_rank: dict[int, list[FoundSpan]] = defaultdict(list)
    by_process: dict[tuple[str, str], list[FoundSpan]] = defaultdict(list)
    for span in spans:
        if span.identity.rank is None:
            home = homes[span.token] if span.identity.pid is None else ""
            by_process[_process(span.identity), home].append(span)
        else:
            by_rank[span.identity.rank].append(span)
    workers = []
    for rank in sorted(by_rank):
        groups = _split_by_process(by_rank[rank])
        for group in groups:
            # The first group keeps the plain id, so that links remain valid when a second process appears.
            key = () if group is groups[0] else (_origin(group[0].identity),)
            own = group if len(groups) == 1 else [_with_shared_rank(span, rank, len(groups)) for span in group]
            workers.append(_worker(homes, own, (f"rank {rank}", *key), len(groups) > 1))
    for process, own in sorted(by_process.items(), key=lambda item: natural_key(item[0][0])):
        workers.append(_worker(homes, own, ("process", process[0])))
    return workers


def _worker(
    homes: Mapping[str, str], spans: list[FoundSpan], key: tuple[str, ...], shared: bool = False
) -> FoundWorker:
    """key: what tells it from other workers of its folder. shared: other processes have the same rank."""
    spans = sorted(spans, key=lambda span: (span.identity.stamp, natural_key(span.path)))
    first = spans[0].identity
    process = _origin(first) if shared else _process(first)
    rank = "" if first.rank is None else f"rank {first.rank}"
    label = " · ".join(filter(None, (first.role, rank, process))) or "worker"
    own = token("w", homes[spans[0].token], *key)
    return FoundWorker(own, label, first.rank, first.rank_source, first.host, first.pid, tuple(spans), first.role)


def _process(identity: Identity) -> str:
    """The recording process, from names."""
    return "/".join(filter(None, (identity.node, identity.worker_name)))


def _origin(identity: Identity) -> str:
    """The recording process, and its device if known."""
    device = "" if identity.device is None else f"device {identity.device}"
    return " · ".join(filter(None, (_process(identity), device)))


def _with_shared_rank(span: FoundSpan, rank: int, processes: int) -> FoundSpan:
    return replace(span, notes=(*span.notes, problem_of("shared_rank", count=processes, rank=rank)))


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


def _may_overlap(left: Sequence[FoundSpan], right: Sequence[FoundSpan]) -> bool:
    """Whether two processes recorded at the same time, or the time of a span is unknown."""
    times, others = _times(left), _times(right)
    if times is None or others is None:
        return True
    return others[0] - times[1] < RESTART_GAP and times[0] - others[1] < RESTART_GAP


def _times(spans: Sequence[FoundSpan]) -> tuple[datetime, datetime] | None:
    """First and last time in the names of captures; None if one has no time."""
    times = [time for span in spans if (time := span.identity.time) is not None]
    return (min(times), max(times)) if times and len(times) == len(spans) else None
