"""Finds a run, worker or span by the name that a user types."""

from __future__ import annotations

from tb_npu_plugin.discovery.model import FoundRun, FoundWorker, Place, Scan
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
