"""Holds the diagnosis of a run of which a part is recorded against the table of evidence.py."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.waiting import Waits
from tb_npu_plugin.analysis.findings.diagnose import Diagnosis, diagnose
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tests.support.reading import open_spans
from tests.truth.evidence import EVIDENCE
from tests.truth.sample import Part, healthy

#: A fault that costs less of the step may stay unnamed. Entries hold its loss, and measured costs are above it, by TENTH at
#: most. A culprit waits at most half as long as who waits for it.
LEAST_SHARE, TENTH, HALF = 0.05, 0.1, 0.5
#: Law 8: below it all losses of a rank are healthy. If computing alone leaves less than HEALTHY, no entry can be above it.
HEALTHY_LOSSES, HEALTHY = 0.1, 0.05
#: Rules that may name an end of a slow link: the other ranks wait for it.
_AT_LINK = ("straggler", "unprofiled_rank")
#: Rules that name no loss of the step's time.
_TIMELESS = ("dynamic_shapes", "fragmentation", "leak", "peak_holders", "memory_bound", "compute_bound")


@dataclass
class Judged:
    """What is wrong with the diagnosis of a run. step, lost: ns per step."""

    part: Part
    step: int
    lost: int
    said: str
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        """For people."""
        share = self.lost / max(1, self.step)
        cost = f"{self.part.expected}, lost {self.lost / 1e6:.1f} ms, {share:.0%}"
        fault = " ".join(self.part.recipe.faults[:1])
        where = f"tp {self.part.recipe.tp} pp {self.part.recipe.pp}, recorded {list(self.part.recorded)[:8]}"
        return f"{self.part.name} [{fault}, {where}] ({cost}): {'; '.join(self.problems) or 'ok'} | {self.said}"


def read(recipe: Recipe) -> tuple[Diagnosis, RunData]:
    """Diagnosis of a run, and its figures."""
    folder = Path(tempfile.mkdtemp(prefix="truth"))
    try:
        write_run(recipe, folder / "run", jobs=1)
        spans = open_spans(folder / "run", folder)
        run = RunData(spans)
        assert run.judgement  # while its files exist
        return diagnose(spans), run
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def length(recipe: Recipe) -> int:
    """From the start of a run to its last communication, ns per step."""
    table, _ = recipe.cluster().times()
    return (max(max(arrivals) for arrivals in table.values()) - recipe.start) // recipe.steps


def longest_stage(recipe: Recipe) -> int:
    """The stage that computes longest: one of them does without a fault, too."""
    _, truths = recipe.cluster().times()
    size = recipe.ranks // recipe.pp
    return max(range(recipe.pp), key=lambda stage: sum(truths[stage * size].computing)) + 1


def judged(part: Part) -> Judged:
    """Write, read and diagnose a run, and compare."""
    step = length(part.recipe)
    found, run = read(part.recipe)
    judgement = run.judgement
    out = Judged(part, step, step - length(part.healthy), _said(found, judgement))
    out.problems += [*_wrong(part, found, judgement, out.lost), *waiting_culprits(run)]
    if out.lost >= LEAST_SHARE * step:
        # A rank holds what its own steps lose: others may end later.
        seen = max((one.window_ns + one.before_ns for one in found.ledgers), default=step) - length(part.healthy)
        out.problems += _missed(part, found, judgement, min(out.lost, max(seen, 0)))
    return out


def _said(found: Diagnosis, judgement: Judgement) -> str:
    loud = [
        f"{one.rule}@{one.subject.rank if one.subject.link is None else one.subject.link} {one.cost_ns / 1e6:.1f}"
        for one in found.findings
        if found.severity(one) != "low" and not one.causes
    ]
    entry = "" if judgement.entry is None else f" {judgement.entry.entry} {judgement.entry.ns / 1e6:.1f}"
    rank = "" if judgement.ledger is None else f" of rank {judgement.ledger.rank}"
    who = f" for {judgement.culprits} stage {judgement.stage}" if judgement.culprits or judgement.stage else ""
    return f"{found.verdict.rule}: {judgement.kind}{entry}{rank}{who}; {', '.join(loud[:6])}"


def _wrong(part: Part, found: Diagnosis, judgement: Judgement, lost: int) -> list[str]:
    """Whoever and whatever is named wrongly."""
    rules, out = EVIDENCE[part.fault].rules, []
    for one in found.findings:
        if found.severity(one) == "low" or one.causes or one.rule in _TIMELESS:
            continue
        rank, text = one.subject.rank, f"{one.rule} {one.cost_ns / 1e6:.1f} ms of {one.subject.rank}"
        # Every pipeline has a bubble, and one slow rank may be a whole stage.
        is_other = part.recipe.pp > 1 and (
            one.rule == "bubble" or (one.rule == "stage_imbalance" and bool(part.stages))
        )
        # Level0 records no calls of the host: why launches are late is unknown.
        is_other |= one.rule == "host_bound" and "idle" in EVIDENCE[part.fault].kind and part.recipe.options.level == 0
        if one.rule not in rules and not is_other and not (part.link and one.rule in _AT_LINK):
            out.append(f"wrong: {text}")
        elif part.roots and one.rule != "bubble" and rank is not None and rank not in part.accepted:
            out.append(f"wrong rank: {text}")
        elif part.link and one.subject.link and {*one.subject.link} != {*part.link}:
            out.append(f"wrong link: {one.subject.link}")
        elif part.stages and one.subject.stage not in (None, *part.stages, longest_stage(part.recipe)):
            out.append(f"wrong stage: {one.subject.stage}")
        if one.cost_kind == "measured" and one.cost_ns > (1 + TENTH) * lost:
            out.append(f"measured {one.cost_ns / 1e6:.1f} ms of {lost / 1e6:.1f}: {one.rule}")
    if judgement.kind == "loss" and not {*judgement.culprits} <= part.accepted:
        out.append(f"wrong culprit: {judgement.culprits}")
    if judgement.kind == "loss" and judgement.stage is not None and judgement.stage not in part.stages:
        out.append(f"wrong stage: {judgement.stage}")
    return out


def _times(waits: Waits, rows: NDArray[np.bool_], shift: int = 0) -> intervals.Intervals:
    start = waits.start[rows] + shift
    return intervals.union(start, start + waits.time[rows])


def waiting_culprits(run: RunData) -> list[str]:
    """Law 5: while others wait for a culprit, it waits itself for at most half of the time."""
    if run.judgement.entry is None or run.judgement.entry.entry != "waiting":
        return []
    waits, offset, out = run.communication.waits, run.communication.roots.offset, []
    for at, line in enumerate(run.communication.lines):
        rank = line.span.capture.rank
        if rank not in run.judgement.culprits:
            continue
        own = _times(waits[at], waits[at].time > 0)
        awaited = both = 0
        for other, victim in enumerate(waits):
            times = _times(victim, (victim.time > 0) & (victim.owner == at), offset[at] - offset[other])
            awaited += times.total
            both += times.total - intervals.subtract(times, own).total
        if both > HALF * awaited:
            out.append(f"culprit waits: rank {rank}, {both / 1e6:.1f} of {awaited / 1e6:.1f} ms")
    return out


def _missed(part: Part, found: Diagnosis, judgement: Judgement, lost: int) -> list[str]:
    """What should have been said."""
    if part.expected == "." or _is_named(part, found, judgement):
        return []
    if part.expected == "C":
        return ["not named"]
    kind, entry = EVIDENCE[part.fault].kind, judgement.entry
    problems = ["healthy"] if found.verdict.rule == "healthy" and lost >= HEALTHY_LOSSES * found.step_ns else []
    if part.expected == "K":
        least = max((one.total(*kind) for one in found.ledgers), default=0)  # type: ignore[arg-type]
        if entry is not None and entry.entry not in kind and entry.ns < (1 - TENTH) * least:
            problems.append(f"kind: {entry.entry}")
        held = max((_held(one, kind) for one in found.ledgers), default=0)
    else:
        held = max((_held(one, (*kind, "unexplained")) for one in found.ledgers), default=0)
    return problems + ([f"held: {held / 1e6:.1f} ms"] if held < (1 - TENTH) * lost else [])


def _held(ledger: RankLedger, kind: Sequence[str]) -> int:
    """Largest loss of this kind that a ledger allows, ns."""
    entries = [one for one in ledger.entries if one.entry in kind]
    exposed = ("waiting", "transfer", "communication")  # bounds of one part: no more than all of it
    communication = min(sum(one.high_ns for one in entries if one.entry in exposed), ledger.total(*exposed))  # type: ignore[arg-type]
    return communication + sum(one.high_ns for one in entries if one.entry not in exposed) + ledger.before_ns


def _is_named(part: Part, found: Diagnosis, judgement: Judgement) -> bool:
    """Whether the root is named: by a finding, or as the culprit of the largest loss."""
    rules = EVIDENCE[part.fault].rules
    if part.recipe.ranks == part.recipe.pp and "straggler" in rules:
        rules += ("stage_imbalance",)  # a rank is a stage
    loud = [one for one in found.findings if found.severity(one) != "low" and one.rule in rules]
    if not part.roots:
        return bool(loud)
    if any(one.subject.rank in part.accepted for one in loud):
        return True
    if part.link:
        return any(one.subject.link and {*one.subject.link} == {*part.link} for one in loud)
    if judgement.stage is not None or any(one.subject.stage for one in loud):
        return judgement.stage in part.stages or any(one.subject.stage in part.stages for one in loud)
    if judgement.culprits:
        return {*judgement.culprits} <= part.accepted
    entry, ledger = judgement.entry, judgement.ledger
    is_idle = entry is not None and entry.entry in ("idle", "unexplained")
    return is_idle and "idle" in EVIDENCE[part.fault].kind and ledger is not None and ledger.rank in part.roots


def healthy_problems(seed: int, level: int) -> list[str]:
    """What is wrong with the diagnosis of a run without a fault: a culprit, or losses that are called healthy."""
    recipe = healthy(seed, level)
    _, truths = recipe.cluster().times()
    found, run = read(recipe)
    judgement = run.judgement
    out = [f"culprit: {judgement.culprits}"] if judgement.kind == "loss" and judgement.culprits else []
    out += [
        f"{one.rule} of rank {one.subject.rank}, {one.cost_ns / 1e6:.1f} ms"
        for one in found.findings
        if found.severity(one) != "low" and not one.causes and (one.subject.rank is not None or one.subject.stage)
    ]
    shares = []
    for ledger in found.ledgers:
        computing = sum(truths[ledger.rank or 0].computing) // recipe.steps
        shares.append((ledger.window_ns + ledger.before_ns - computing) / ledger.window_ns)
    is_healthy = found.verdict.rule == "healthy"
    if is_healthy and max(shares) >= HEALTHY_LOSSES * (1 + TENTH):
        out.append(f"healthy at losses of {max(shares):.0%}")
    if not is_healthy and max(shares) < HEALTHY:
        out.append(f"{found.verdict.rule} at losses of {max(shares):.0%}")
    if not is_healthy and judgement.kind == "unknown":
        out.append("unknown")
    return [*out, *([f"({_said(found, judgement)})"] if out else [])]
