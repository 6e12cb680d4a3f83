"""What a rule reports: findings with subject, cost, evidence and fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Optional

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData

Category = Literal["ranks", "communication", "host", "input", "compute", "memory", "capture"]
Severity = Literal["high", "medium", "low"]
#: "measured": the step gets shorter by this time. "upper bound": by at most this time.
CostKind = Literal["measured", "upper bound"]
#: "confirmed": several ranks show it. "measured": one rank shows it. "inferred": other explanations remain.
ConfidenceKind = Literal["confirmed", "measured", "inferred"]
#: "not_applicable": the run has no such device, one rank only, or no backward pass.
UncheckedReason = Literal["not_recorded", "not_applicable"]
Device = Literal["NPU", "GPU"]
#: Part of a step that a finding would shorten. "waiting": for a late rank; "communication": the rest of it.
Part = Literal["computing", "waiting", "communication", "bubble", "free", "preparing"]

#: Least share of step time of a severity; below the last, a finding is "low". As in msprof-analyze's advisor.
SEVERITIES: tuple[tuple[Severity, float], ...] = (("high", 0.05), ("medium", 0.03))
#: Shorter steps are those of models that are too small for a device, ns.
SHORT_STEP_NS = 5_000_000


@dataclass(frozen=True)
class Subject:
    """What a finding is about. Absent fields are None; ranks are numbers of the job."""

    rank: Optional[int] = None
    """Rank of the job."""
    worker: Optional[str] = None
    """Name of the worker, if its rank is unknown."""
    stage: Optional[int] = None
    """Pipeline stage, from 1."""
    step: Optional[str] = None
    """Step number, if the finding concerns one step."""
    group: Optional[str] = None
    """Communication group."""
    operator: Optional[str] = None
    """Operator of the framework, or communication operator."""
    kernel: Optional[str] = None
    """Kernel name or type."""
    link: Optional[tuple[int, int]] = None
    """Source and destination rank."""

    @staticmethod
    def of(span: SpanData, **more: Any) -> Subject:
        """A span, by the name of its worker only if its rank is unknown. more: other fields."""
        rank = span.capture.rank
        return Subject(rank, None if rank is not None else span.worker_label, **more)


@dataclass(frozen=True)
class Confidence:
    """How sure a finding is."""

    kind: ConfidenceKind
    """See ConfidenceKind."""
    ranks: int = 1
    """Profiled ranks that show it."""


@dataclass(frozen=True)
class Evidence:
    """A place that shows a finding: a row of a table, or a time range."""

    view: str
    """Id of the view."""
    span: Optional[str] = None
    """Token of the span; null: the run."""
    table: Optional[str] = None
    """Table of the view."""
    row: Optional[str] = None
    """Text that identifies the row."""
    start_ns: Optional[int] = None
    """Start of the range, ns since the epoch."""
    end_ns: Optional[int] = None
    """End of the range."""
    step: Optional[str] = None
    """Step that the view shows."""


@dataclass(frozen=True)
class Finding:
    """One conclusion."""

    rule: str
    """Id of the rule."""
    category: Category
    """Subject area."""
    subject: Subject
    """What it is about."""
    message: Message
    """The sentence, with its figure."""
    cost_ns: int
    """Time at stake per step."""
    part: Part
    """Part of the step that it would shorten."""
    confidence: Confidence
    """How sure it is."""
    cost_kind: CostKind = "upper bound"
    """Whether the cost is measured."""
    evidence: tuple[Evidence, ...] = ()
    """Places that show it."""
    fix: tuple[Message, ...] = ()
    """What to do, as it is typed."""
    check: Optional[Message] = None
    """How to see that it helped."""
    causes: tuple[str, ...] = ()
    """Rules whose findings explain this one; their cost contains its cost."""
    is_of_simulation: bool = False
    """It is about the host of a machine that simulated the device: "low"."""
    costs: Mapping[str, int] = field(default_factory=dict)
    """The cost by item of the part, such as a kernel type or a cause of idle time, ns per step: findings about different
    items of a part do not share their time. Empty: about the whole part."""


@dataclass(frozen=True)
class Unchecked:
    """A rule that could not run, or has nothing to check."""

    rule: str
    """Id of the rule."""
    missing: Message
    """What is missing."""
    option: str
    """Profiler option that records it; "" if none does."""
    reason: UncheckedReason = "not_recorded"
    """See UncheckedReason."""


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        find: Findings of a run.
        missing: What the rule lacks in a run; None if it can run.
        device: The kind of device that it is about, or whose profilers alone write its files; None: all kinds.
        needs_ranks: It says nothing about a run of one rank.
        needs_training: It says nothing about a run without a backward pass.
    """

    id: str
    category: Category
    find: Callable[[RunData], Sequence[Finding]]
    missing: Callable[[RunData], Optional[Unchecked]]
    device: Optional[Device] = None
    needs_ranks: bool = False
    needs_training: bool = False

    def inapplicable(self, run: RunData) -> Optional[Unchecked]:
        """Why there is nothing to check in a run; None if the rule applies."""
        reason = None
        if run.recorded.is_of_cpu:
            reason = Message("unchecked.for_devices")
        elif self.device is not None and self.device not in run.recorded.device_kinds:
            reason = Message("unchecked.for_device", device=self.device)
        elif self.needs_ranks and run.has_one_rank:
            reason = Message("unchecked.for_ranks")
        elif self.needs_training and not run.recorded.may_train:
            reason = Message("unchecked.for_training")
        return None if reason is None else Unchecked(self.id, reason, "", "not_applicable")


def severity_of(finding: Finding, step_ns: int) -> Severity:
    """Severity by the share of step time. Idle time and the bubble of short steps are "low": to launch their kernels takes
    the host longer than to run them takes the device."""
    if finding.is_of_simulation or (finding.part in ("free", "bubble") and step_ns < SHORT_STEP_NS):
        return "low"
    share = finding.cost_ns / step_ns if step_ns > 0 else 0.0
    return next((severity for severity, least in SEVERITIES if share >= least), "low")
