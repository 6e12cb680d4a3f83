"""What became of the findings of one run in another: whether they are gone, and what that saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Optional

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis
from tb_npu_plugin.analysis.findings.ledger_rows import LedgerKind, row_for, rows_of
from tb_npu_plugin.analysis.findings.model import Finding
from tb_npu_plugin.analysis.ledger.model import RankLedger

#: "unchecked": the rule could not run on the later run.
Fate = Literal["gone", "smaller", "same", "larger", "unchecked"]
_COMMUNICATION: Sequence[LedgerKind] = ("waiting", "transfer", "communication")
#: A cost that changes by less than this share of the earlier one is the same.
_LEAST_CHANGE = 0.1


@dataclass(frozen=True)
class Outcome:
    """A finding of the earlier run. Times are ns per step.

    Attributes:
        after_ns: Its cost in the later run; 0 if it is gone, None if it was not checked.
        part: Kind of the entry of the ledger that it shortens; None if no ledger of its rank has one.
        entry_before_ns: That entry in the earlier run.
        entry_after_ns: The same in the later run; None if no ledger of its rank is there.
    """

    finding: Finding
    fate: Fate
    after_ns: Optional[int]
    part: Optional[LedgerKind] = None
    entry_before_ns: Optional[int] = None
    entry_after_ns: Optional[int] = None

    @property
    def saved_ns(self) -> Optional[int]:
        """How much shorter the entry is in the later run."""
        if self.entry_before_ns is None or self.entry_after_ns is None:
            return None
        return self.entry_before_ns - self.entry_after_ns


def outcomes(
    before: Diagnosis, after: Diagnosis, own: Optional[RankLedger], other: Optional[RankLedger]
) -> list[Outcome]:
    """What became of each finding with a cost, the highest first. own, other: ledgers of the compared captures."""
    left = defaultdict[tuple[object, ...], list[Finding]](list)
    for one in after.findings:
        left[_key(one)].append(one)
    unchecked = {one.rule for one in after.unchecked}
    out = []
    for one in before.findings:
        if one.cost_ns <= 0:
            continue
        same = left[_key(one)]
        later = same.pop(0) if same else None
        fate = _fate(one, later, unchecked)
        cost = None if fate == "unchecked" else 0 if later is None else later.cost_ns
        out.append(Outcome(one, fate, cost, *_entry(one, _ledgers(one, before, after, own, other))))
    return out


def _key(finding: Finding) -> tuple[object, ...]:
    """What a finding is about in any run: names of groups differ between runs."""
    of = finding.subject
    return finding.rule, of.rank, of.worker if of.rank is None else None, of.stage, of.operator, of.kernel, of.link


def _fate(before: Finding, after: Optional[Finding], unchecked: Collection[str]) -> Fate:
    if after is None:
        return "unchecked" if before.rule in unchecked else "gone"
    change = after.cost_ns - before.cost_ns
    if abs(change) < _LEAST_CHANGE * before.cost_ns:
        return "same"
    return "larger" if change > 0 else "smaller"


def _ledgers(
    finding: Finding,
    before: Diagnosis,
    after: Diagnosis,
    own: Optional[RankLedger],
    other: Optional[RankLedger],
) -> tuple[Optional[RankLedger], Optional[RankLedger]]:
    """The ledgers that show a finding: of its rank, or of the compared captures if it is about a rank that others wait for."""
    rank = finding.subject.rank
    if rank is None or finding.category == "ranks" or (own is not None and own.rank == rank):
        return own, other
    return _of_rank(before.ledgers, rank), _of_rank(after.ledgers, rank)


def _of_rank(ledgers: Sequence[RankLedger], rank: int) -> Optional[RankLedger]:
    return next((one for one in ledgers if one.rank == rank), None)


def _entry(
    finding: Finding, ledgers: tuple[Optional[RankLedger], Optional[RankLedger]]
) -> tuple[Optional[LedgerKind], Optional[int], Optional[int]]:
    """Kind of the entry that a finding shortens, and its time in both ledgers."""
    before, after = ledgers
    row = None if before is None else row_for(finding, rows_of(before), before)
    if before is None or row is None:
        return None, None, None
    kinds = _comparable(row.kind, [one for one in ledgers if one is not None])
    if finding.part == row.kind == "waiting" and finding.cost_ns > row.high_ns:  # hidden waits delay transfers, too
        kinds = _COMMUNICATION
    part = "communication" if "transfer" in kinds and row.kind == "waiting" else row.kind
    return part, _time(before, kinds), None if after is None else _time(after, kinds)


def _comparable(kind: LedgerKind, ledgers: Sequence[RankLedger]) -> Sequence[LedgerKind]:
    """The entries that a finding shortens, with those that one of the ledgers holds in one figure with them."""
    if kind in ("waiting", "transfer", "communication") and any(one.total("communication") for one in ledgers):
        return _COMMUNICATION
    return ("idle", "unexplained") if kind in ("idle", "unexplained") else (kind,)


def _time(ledger: RankLedger, kinds: Sequence[LedgerKind]) -> int:
    beside = {"before": ledger.before_ns, "after": ledger.after_ns, "outside": ledger.outside_ns}
    return sum(one.ns for one in ledger.entries if one.entry in kinds) + sum(beside.get(kind, 0) for kind in kinds)
