"""The ledger of a rank: disjoint entries whose sum is its step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Optional

from tb_npu_plugin.analysis.run.chains import EndKind
from tb_npu_plugin.analysis.steps.iterations import TimeBetween
from tb_npu_plugin.model import SpanData

#: "communication": waiting and transfer together. "idle": idle time with a known cause. "unexplained": other idle time.
EntryKind = Literal["computing", "waiting", "transfer", "communication", "copies", "idle", "unexplained"]
#: Data that would narrow an entry: the trace, the kernels, the files of the other ranks, the profile of an unprofiled rank.
Needs = Literal["", "trace", "kernels", "ranks", "rank"]


@dataclass(frozen=True)
class ChainEnd:
    """What a rank did at the end of a chain of waits: the awaited rank, or one that it waited for in turn."""

    rank: Optional[int]
    """Rank in the job; null if unknown."""
    kind: EndKind
    """What it did."""
    ns: int
    """Part of the waiting that ends there."""


@dataclass(frozen=True)
class Entry:
    """A part of a step, ns."""

    entry: EntryKind
    """What it is. "communication": waiting and transfer, if no data tell them apart."""
    detail: str
    """Waiting: "collective", "p2p", or the type of the kernel that waits inside. Idle: "late" or "before", its launch. Unexplained: "idle", or
    "gap" before the forward pass. Computing between recorded points: "forward_backward", "tail", or "or_idle" if the
    recorded sum contains idle time. Else ""."""
    ns: int
    """Best estimate. The sum over a ledger is the step."""
    low_ns: int
    """Least possible."""
    high_ns: int
    """Largest possible."""
    culprit: Optional[int] = None
    """Rank at the root of waiting: the awaited rank, or one that it waits for in turn; null if unknown."""
    chain: list[ChainEnd] = field(default_factory=list)
    """Waiting: where its chains end, the largest part first; the sum is `ns`. Empty if the waits have no times."""
    needs: Needs = ""
    """Data that would narrow it; "" if it is exact."""


@dataclass(frozen=True)
class RankLedger:
    """The mean step of a rank or of one of its devices, ns."""

    span: SpanData
    device_id: Optional[int]
    window_ns: int
    """From the first to the last task."""
    before_ns: int
    """Before the first task, outside the window."""
    after_ns: int
    """From the last task to the end of the step's mark, outside the window; 0 if unknown."""
    outside_ns: int
    """Time of the step that neither the window nor its marks cover: by its recorded length, or by the longest rank."""
    hidden_ns: int
    """Communication beside computing: a memo, inside computing."""
    entries: tuple[Entry, ...]
    """In the order of EntryKind. Their sum is the window."""
    between: Optional[TimeBetween] = None
    """Between iterations of a serving engine, outside the window; None for steps, and for one iteration."""

    @property
    def between_ns(self) -> int:
        """Time between iterations, per iteration. No loss: without requests nothing has to run."""
        return 0 if self.between is None else self.between.per_iteration_ns

    @property
    def rank(self) -> Optional[int]:
        """Rank in the job."""
        return self.span.capture.rank

    def total(self, *kinds: EntryKind) -> int:
        """Sum of the entries of these kinds."""
        return sum(one.ns for one in self.entries if one.entry in kinds)

    def ends_at(self, rank: Optional[int], *kinds: EndKind) -> int:
        """Waiting whose chains end where a rank does what it is awaited for: computes or is idle, as far as is known."""
        ends = (end for one in self.entries for end in one.chain if end.rank == rank)
        return sum(end.ns for end in ends if end.kind in (kinds or ("computing", "idle", "unknown", "unprofiled")))

    @property
    def losses_ns(self) -> int:
        """All time except computing, with the time beside the window."""
        return self.window_ns - self.total("computing") + self.before_ns + self.after_ns + self.outside_ns
