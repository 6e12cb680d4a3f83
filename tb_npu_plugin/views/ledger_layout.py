"""What the page and the report draw of the ledgers: their rows, and what to record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis
from tb_npu_plugin.analysis.findings.ledger_needs import needs_of
from tb_npu_plugin.analysis.findings.ledger_rows import LedgerKind, Row, name_of, rows_of
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.messages import Message, MessageJson, Period, in_period


class CountedJson(TypedDict):
    """What a row counts: the sum of it, per step, is its time."""

    view: Literal["distributed", "idle"]
    """View that lists it: waits, or idle time."""
    late: Optional[list[Optional[int]]]
    """Only waits for these ranks, null: of unknown ranks. Null: all waits of the rank."""
    launch: Optional[str]
    """Only idle time with this launch."""


class LedgerRowJson(TypedDict):
    """A row of a ledger: entries of one kind and detail, or a part of them."""

    kind: LedgerKind
    """Kind of the entries. "before", "after", "outside", "between": time beside the step."""
    part: str
    """Its colour: a part of the ledger (analysis/parts.py)."""
    title: MessageJson
    """Its name."""
    ns: int
    """Best estimate; the rows except those beside the step sum to the step."""
    low_ns: int
    """Least possible."""
    high_ns: int
    """Largest possible."""
    what: list[MessageJson]
    """What it consists of, and whom it waits for."""
    counted: Optional[CountedJson]
    """What it counts; null: no slices, or not only."""
    findings: list[int]
    """Indices of the findings that would shorten it."""
    parts: list[LedgerRowJson]
    """Rows that it consists of: waiting by cause or by rank. Of computing: the communication inside it."""


class NeedJson(TypedDict):
    """Data that would decide entries that are left open."""

    decide: MessageJson
    """What is to decide."""
    missing: MessageJson
    """The missing data."""
    how: MessageJson
    """How to record it."""


class LedgerTableJson(TypedDict):
    """The table of a ledger."""

    name: str
    """ "rank 3"; the worker if its rank is unknown or not unique."""
    rows: list[LedgerRowJson]
    """Entries in the order of the step, then the time before and after it."""
    needs: list[NeedJson]
    """What to record."""


class LayoutJson(TypedDict):
    """The tables of the ledgers. Findings are about the mean step: the rows of a single step name none."""

    step: MessageJson
    """Name of the step: "Step 13", "Mean of 3 steps"."""
    tables: list[LedgerTableJson]
    """One for each ledger, in their order."""


def layout_of(found: Diagnosis) -> LayoutJson:
    """See LayoutJson."""
    findings = found.findings if found.step is None else ()
    stages = {one.rank: pipeline_stage(one.span.capture) for one in found.ledgers}
    tables: list[LedgerTableJson] = []
    for one in found.ledgers:
        bubble = found.bubbles.get((one.span.token, one.device_id))
        rows = rows_of(one, findings, stages, bubble, found.culprits)
        tables.append(
            {
                "name": name_of(one, found.ledgers),
                "rows": [row_json(row, found.period) for row in rows],
                "needs": needs_json(one),
            }
        )
    return {"step": _step_title(found).as_json(), "tables": tables}


def without_layout(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """A DiagnosisJson as the command line and the Python API give it."""
    return {key: value for key, value in diagnosis.items() if key != "layout"}


def row_json(row: Row, period: Period = "step") -> LedgerRowJson:
    """See LedgerRowJson."""
    return {
        "kind": row.kind,
        "part": row.part,
        "title": in_period(row.title, period).as_json(),
        "ns": row.ns,
        "low_ns": row.low_ns,
        "high_ns": row.high_ns,
        "what": [in_period(text, period).as_json() for text in row.what],
        "counted": _counted(row),
        "findings": row.findings,
        "parts": [row_json(part, period) for part in row.parts],
    }


def _counted(row: Row) -> Optional[CountedJson]:
    """Waits of operators whose times are known, and idle time by launch."""
    details = {one.detail for one in row.entries}
    if row.kind == "waiting" and details and details <= {"collective", "p2p"} and row.ns == row.high_ns:
        return {"view": "distributed", "late": sorted({one.culprit for one in row.entries}, key=str), "launch": None}
    if row.kind == "idle":
        return {"view": "idle", "late": None, "launch": row.entries[0].detail}
    return None


def needs_json(ledger: RankLedger) -> list[NeedJson]:
    """See NeedJson."""
    return [
        {"decide": need.decide.as_json(), "missing": need.missing.as_json(), "how": need.how.as_json()}
        for need in needs_of(ledger)
    ]


def _step_title(found: Diagnosis) -> Message:
    steps, mean = found.steps, found.mean_steps
    if found.step is not None:
        return Message("ledger.iteration" if found.iterations else "ledger.step", step=found.step)
    if found.repeats is not None and found.repeats > 1:
        return Message("ledger.repeat", count=found.repeats)
    step = steps[0][0] if steps else None
    if step is None:
        return Message("ledger.capture")
    if len(steps) == 1:
        return Message("ledger.iteration" if found.iterations else "ledger.step", step=step)
    if found.iterations:
        return in_period(Message("ledger.mean", count=mean), found.period)
    is_cut = 0 < mean < len(steps)
    return Message("ledger.mean_whole", count=mean) if is_cut else Message("ledger.mean", count=len(steps))
