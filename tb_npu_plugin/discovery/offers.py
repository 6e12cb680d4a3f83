"""Runs that may be one job, though nothing proves it: the user decides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, Offer
from tb_npu_plugin.discovery.runs import JobOf, at_one_time, job_key, ranks_of
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.scan_keys import MEGATRON, WORLD, WORLD_SIZE


def offers(runs: Sequence[FoundRun], jobs: Mapping[str, Mapping[str, str]], job_of: JobOf) -> list[Offer]:
    """Runs side by side of one format that were recorded at one time with other ranks, or on other hosts where ranks are unknown;
    and those of other times and ranks with one communicator. jobs: those that are known, by token of a folder; runs of two jobs are
    never offered."""
    runs = [run for run in runs if not run.folders[0].contradiction]
    alike: dict[tuple[str, frozenset[str]], list[tuple[FoundRun, Sequence[FoundSpan]]]] = defaultdict(list)
    for run in runs:
        parent = run.label.rpartition("/")[0]
        alike[parent, frozenset(span.format for span in run.spans)].append((run, run.spans))
    found = []
    for own in alike.values():
        for together in at_one_time(own):
            known = [jobs[folder.token] for run in together for folder in run.folders if folder.token in jobs]
            told = [{job[fact] for job in known if fact in job} for fact in (WORLD_SIZE, MEGATRON, WORLD)]
            reason = _reason(together)
            if len(together) > 1 and all(len(values) < 2 for values in told) and reason is not None:
                found.append(Offer(tuple(run.token for run in together), reason))
        offered = {name for one in found for name in one.runs}
        found += _of_one_communicator([run for run, _ in own if run.token not in offered], job_of)
    return found


def _of_one_communicator(runs: Sequence[FoundRun], job_of: JobOf) -> list[Offer]:
    """Runs with other ranks of one communicator, which are no run since their times differ: clocks of hosts may."""
    by_job: dict[object, list[FoundRun]] = defaultdict(list)
    ranks = {run.token: found for run in runs if (found := ranks_of(run.spans))}
    counts = Counter(rank for own in ranks.values() for rank in own)
    for run in runs if max(counts.values(), default=0) < len(ranks) else ():
        job = job_of(run.folders[0]) if run.token in ranks else {}
        if job:
            by_job[job_key(job)].append(run)
    return [
        Offer(tuple(run.token for run in own), Message("run.other_times"))
        for own in by_job.values()
        if len(own) > 1 and max(Counter(rank for run in own for rank in ranks[run.token]).values()) == 1
    ]


def _reason(runs: Sequence[FoundRun]) -> Message | None:
    """Why runs may be one job; None if they have a rank or host in common, or neither is known."""
    ranks = [ranks_of(run.spans) for run in runs]
    if all(ranks):
        return Message("run.other_ranks") if len(set().union(*ranks)) == sum(map(len, ranks)) else None
    hosts = [{span.identity.host for span in run.spans} for run in runs]
    differ = len(set().union(*hosts)) == sum(map(len, hosts)) and not any(None in own for own in hosts)
    return Message("run.other_hosts") if differ else None
