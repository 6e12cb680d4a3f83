"""Laws of the ledger of any run: tests/property/test_ledger_laws.py tries them.

1: entries sum to the step. 2: waiting and transfer are exposed communication, and no finding costs more than its entries hold.
5: no culprit waits. 6: with fewer files nothing is better known. 8: what is healthy. 10: names, order and clocks do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Kind, Table, known
from tests.support.span import TestSpan
from tests.truth.judge import waiting_culprits

#: Sums of files that write us.
ROUNDING = 1_000
#: A shorter wait is noise (of Notify Waits 0.028 ms at most). Those of a trace end up to 0.1 ms after the last start.
NOISE, LATER = 50_000, 100_000
EXPOSED = ("waiting", "transfer", "communication")
FREE = ("idle", "unexplained")
#: Part of a step that a finding would shorten -> the entries that hold it.
PARTS: dict[str, tuple[str, ...]] = {
    "computing": ("computing",),
    "waiting": EXPOSED,  # without the wait, hidden transfers would be hidden again
    "communication": EXPOSED,
    "bubble": EXPOSED,
    "free": FREE,
    "preparing": FREE,
}


def check_laws(run: RunData, found: Diagnosis) -> None:
    """Laws of any run that need no other."""
    for ledger in run.ledgers:
        assert sum(one.ns for one in ledger.entries) == ledger.window_ns, "1"
        assert all(0 <= one.low_ns <= one.ns <= one.high_ns <= ledger.window_ns for one in ledger.entries), "1"
    assert not waiting_culprits(run), "5"
    if run.judgement.entry is not None and run.judgement.entry.entry == "waiting":
        longest = max(one.total("waiting") for one in run.ledgers)
        own = [high_of(one, ("waiting",)) for one in run.ledgers if one.rank in run.judgement.culprits]
        assert max(own, default=0) <= longest / 2, "5: at most"
    is_healthy = all(map(is_healthy_of, [one for one in run.ledgers if one.window_ns]))
    if run.judgement.kind != "unknown":
        assert (run.judgement.kind == "healthy") == is_healthy, "8"
    assert found.verdict.rule != "healthy" or (is_healthy and run.ledgers), "8"


def check_stakes(run: RunData, found: Diagnosis) -> None:
    """Law 2: no finding costs more than its entries hold."""
    for one in found.findings if run.ledgers else ():
        most = max(high_of(ledger, PARTS[one.part]) for ledger in run.ledgers)
        most += max(ledger.before_ns for ledger in run.ledgers) * (one.part in ("free", "preparing"))
        assert one.cost_ns <= most + ROUNDING, f"2: {one.rule}, {one.part}"


def high_of(ledger: RankLedger, kinds: Sequence[str]) -> int:
    """Upper bound of these entries together: bounds of exposed communication share it."""
    found = [one for one in ledger.entries if one.entry in kinds]
    high = sum(one.high_ns for one in found)
    return min(high, exposed_of(ledger)) if set(kinds) <= {*EXPOSED} else high


def exposed_of(ledger: RankLedger) -> int:
    return sum(one.ns for one in ledger.entries if one.entry in EXPOSED)


def is_healthy_of(ledger: RankLedger) -> bool:
    """Law 8: all losses below 10 % of the step, each below 5 %. Kernels that also communicate wait inside computing: all of it may
    be such waiting where the kernels are not recorded."""
    hidden = [
        one.ns if one.needs == "kernels" else one.ns - one.low_ns for one in ledger.entries if one.entry == "computing"
    ]
    beside = [ledger.before_ns, ledger.after_ns, ledger.outside_ns, *hidden]
    losses = [one.high_ns for one in ledger.entries if one.entry != "computing"] + beside
    free = sum(one.high_ns for one in ledger.entries if one.entry not in ("computing", *EXPOSED))
    return free + sum(beside) + exposed_of(ledger) < 0.1 * ledger.window_ns and max(losses) < 0.05 * ledger.window_ns


def facts_of(spans: Sequence[SpanData]) -> list[Any]:
    """All that the ledgers and the verdict say, by rank."""
    run = RunData(spans)
    ledgers = sorted(
        (one.rank if one.rank is not None else -1, one.device_id or 0, one.window_ns, one.before_ns, one.entries)
        for one in run.ledgers
    )
    judgement = run.judgement
    rank = None if judgement.ledger is None else judgement.ledger.rank
    return [ledgers, judgement.kind, rank, judgement.entry, sorted(judgement.culprits), judgement.stage]


class Renamed:
    """A span of another folder."""

    def __init__(self, span: Any, name: str) -> None:
        self._span, self.token, self.worker_label = span, f"{name}-{span.token}", name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)


def check_names_and_order(spans: Sequence[Any]) -> None:
    """Law 10 for folders: other names, the other order."""
    others = [Renamed(one, f"folder {len(spans) - at}") for at, one in enumerate(spans)]
    assert facts_of(others[::-1]) == facts_of(spans), "10"


def with_clock(span: TestSpan, ns: int) -> TestSpan:
    """A rank with another clock."""
    return replace(span, tables={key: _with_clock(table, ns) for key, table in span.tables.items()})


def _with_clock(table: Table, ns: int) -> Table:
    data: dict[str, Any] = {}
    for column in table.columns:
        values: Any = table.data[column.key]
        data[column.key] = np.where(known(values), values + ns, values) if column.kind is Kind.TIME else values
    return Table(table.columns, data)


def check_fewer(before: RunData, after: RunData) -> None:
    """Law 6: before with all files, after without some."""
    old, new = before.judgement, after.judgement
    root, culprits = root_of(before), root_of(after)
    assert not culprits or root, f"6: nobody, then {culprits}"
    assert not culprits or root <= culprits, f"6: {root}, then {culprits}"
    assert new.kind != "healthy" or old.kind in ("healthy", "unknown"), f"6: {old.kind}, then healthy"
    ledgers = {one.rank: one for one in after.ledgers}
    for one in before.ledgers:
        less = ledgers.get(one.rank)
        if less is None or abs(less.window_ns - one.window_ns) > ROUNDING:
            continue  # other files hold other steps
        for kinds in (("computing",), ("waiting",), ("transfer",), EXPOSED, FREE):
            low, high = bounds_of(less, kinds)
            error = ROUNDING
            if kinds in (("waiting",), ("transfer",)):  # by the trace, or by the starts of others, by aligned clocks
                error = (LATER + max(clock.error for clock in after.communication.clocks)) * operators_of(before, one)
            is_inside = low - error <= one.total(*kinds) <= high + error  # type: ignore[arg-type]
            assert is_inside, f"6: rank {one.rank} {kinds}: {one.total(*kinds)}, then {low} .. {high}"  # type: ignore[arg-type]


def root_of(run: RunData) -> set[Any]:
    """Ranks that the verdict is about: whom the others wait for, one or a stage, or who idles of several. What cannot be judged
    blames nobody."""
    found = run.judgement
    if found.kind != "loss" or found.entry is None or found.ledger is None:
        return set()
    if found.entry.entry in FREE:
        return {found.ledger.rank} - {None} if len(run.ledgers) > 1 else set()
    if found.stage is not None:
        captures = [one.span.capture for one in run.ledgers]
        return {one.rank for one in captures if pipeline_stage(one) == found.stage} - {None}
    return {*found.culprits}


def operators_of(run: RunData, ledger: RankLedger) -> int:
    """Communication operators of a step."""
    tables = [
        table
        for line, table in zip(run.communication.lines, run.communication.collectives)
        if line.span is ledger.span and table is not None
    ]
    return sum(map(len, tables)) // run.step_count


def bounds_of(ledger: RankLedger, kinds: Sequence[str]) -> tuple[int, int]:
    """Least and largest sum of these entries; communication may be waiting or transfer."""
    low = sum(one.low_ns for one in ledger.entries if one.entry in kinds)
    if kinds == EXPOSED:
        return (exposed_of(ledger),) * 2
    either = ledger.total("communication") if kinds[0] in EXPOSED else 0
    return low, high_of(ledger, kinds) + either
