"""Finds a run, worker or span by the name that a user types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from tb_npu_plugin.discovery.model import FoundRun, FoundSpan, FoundWorker, Place, Scan, label_of
from tb_npu_plugin.errors import BadRequest, NotFound

OPENS = "What opens: *_ascend_pt, *_ascend_ms, PROF_*, results of MindSpore up to 2.2, traces of torch.profiler."


def choose_run(scan: Scan, name: str) -> FoundRun:
    """A run by its label or id or that of one of its folders; without a name, the first. Raises NotFound, BadRequest."""
    if not scan.runs:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in scan.skipped[:3])
        raise NotFound("no result that can be read", reasons or "tb-npu doctor says more.")
    for run in scan.runs:
        if not name or run.is_named(name):
            return run
    raise BadRequest(f"no run {name!r}", f"Runs: {', '.join(run.label for run in scan.runs)}.")


@dataclass(frozen=True)
class Part:
    """What a view of a run shows at once: the run, or one of its roles."""

    label: str
    run: FoundRun
    role: str
    first: FoundSpan

    @property
    def params(self) -> dict[str, str]:
        """Parameters of a view of a run."""
        return {"run": self.run.token, "span": self.first.token}


class LeftOut(TypedDict):
    """A run, or a role of one, that an answer does not hold."""

    run: str
    """Its name."""
    reason: Literal["limit", "no_data"]
    """ "limit": more than one answer holds; it can be chosen by its name."""


def choose_parts(scan: Scan, names: Sequence[str], most: int) -> tuple[list[Part], list[LeftOut]]:
    """The recordings of the runs of these names with all of their roles, or the first ones; and the runs of which some are left
    out. Raises NotFound, BadRequest."""
    parts = [part for run in scan.runs for part in _parts_of(run)]
    chosen = [] if names or not parts else parts
    for name in names or (() if parts else ("",)):
        chosen += [part for part in parts if part.role and part.label == name] or _parts_of(choose_run(scan, name))
    every = [(part.label, one) for part in chosen for one in _recordings(part)]
    left = dict.fromkeys(label for label, _ in every[most:])
    return [one for _, one in every[:most]], [{"run": label, "reason": "limit"} for label in left]


def _recordings(part: Part) -> Iterator[Part]:
    """Each time that a run or a role of it was recorded. The first one has the name of the run."""
    first, *others = fullest_worker(worker for worker in part.run.workers if worker.role == part.role).spans
    yield replace(part, first=first)
    for span in others:
        yield replace(part, label=f"{part.label} ▸ {span.label}", first=span)


def left_out_beside(scan: Scan, place: Place, run: str = "", worker: str = "") -> list[LeftOut]:
    """What an answer about one place does not hold: other runs unless the user named the run, and other roles of the run unless
    the user named the worker."""
    parts = [part for one in scan.runs for part in _parts_of(one)]
    others = [
        part for part in parts if (part.role != place.worker.role and not worker if part.run is place.run else not run)
    ]
    return [{"run": part.label, "reason": "limit"} for part in others]


def _parts_of(run: FoundRun) -> list[Part]:
    first = {worker.role: worker.spans[0] for worker in reversed(run.workers)}
    return [Part(label_of(run, role), run, role, span) for role, span in reversed(first.items())]


def fullest_worker(workers: Iterable[FoundWorker]) -> FoundWorker:
    """The worker with most spans, which has one of each recording of the run, as far as is known."""
    return max(workers, key=lambda one: len(one.spans))


def choose_place(scan: Scan, run: str = "", worker: str = "", span: str = "") -> Place:
    """A span; an empty name selects the first. Raises NotFound, BadRequest.

    Args:
        run: Label or token.
        worker: Rank ("3", "rank 3"), process ("host_123"), label or token; "+1" is the second worker.
        span: Label, folder name, number from 1, or token.
    """
    home = choose_run(scan, run)
    chosen = _worker(home, worker)
    if not span:
        return Place(home, chosen, chosen.spans[0])
    for number, found in enumerate(chosen.spans, 1):
        if span in (found.token, found.label, found.folder.name, str(number)):
            return Place(home, chosen, found)
    raise BadRequest(f"no span {span!r}", f"Spans: {', '.join(found.folder.name for found in chosen.spans)}.")


def _worker(run: FoundRun, name: str) -> FoundWorker:
    if not name:
        return run.workers[0]
    if name == "+1":
        return run.workers[min(1, len(run.workers) - 1)]
    for worker in run.workers:
        names = {worker.token, worker.label, f"{worker.host}_{worker.pid}"}
        if worker.rank is not None:
            names |= {str(worker.rank), f"rank{worker.rank}", f"rank {worker.rank}", f"rank_{worker.rank}"}
        if name in names:
            return worker
    raise BadRequest(f"no worker {name!r}", f"Workers: {', '.join(worker.label for worker in run.workers)}.")
