"""The ledger of a rank: disjoint entries that sum to its step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from tb_npu_plugin.model import SpanData

#: "communication": waiting or transfer, which nothing tells apart. "idle": the device did nothing, and the cause is known.
EntryKind = Literal["computing", "waiting", "transfer", "communication", "copies", "idle", "unexplained"]
#: What would tell more: the trace, the files of the other ranks, the profile of an unprofiled rank.
Needs = Literal["", "trace", "ranks", "rank"]


@dataclass(frozen=True)
class Entry:
    """A part of a step, ns."""

    entry: EntryKind
    """What it is."""
    detail: str
    """Of waiting: "collective" or "p2p". Of idle: its launch, "late" or "before". Of unexplained: "idle". Else ""."""
    ns: int
    """Best estimate; the entries of a ledger sum to the step."""
    low_ns: int
    """Least possible."""
    high_ns: int
    """Largest possible."""
    culprit: Optional[int]
    """Rank that is waited for; null if unknown, and for other entries."""
    needs: Needs
    """What would tell more; "" if nothing is unknown."""


@dataclass(frozen=True)
class RankLedger:
    """The mean step of a rank or of one of its devices, ns."""

    span: SpanData
    device_id: Optional[int]
    window_ns: int
    """From the first to the last task."""
    before_ns: int
    """Before the first task, outside the window."""
    entries: tuple[Entry, ...]
    """In the order of EntryKind; they sum to the window."""

    @property
    def rank(self) -> Optional[int]:
        """Rank in the job."""
        return self.span.capture.rank

    def total(self, *kinds: EntryKind) -> int:
        """Sum of the entries of some kinds."""
        return sum(one.ns for one in self.entries if one.entry in kinds)

    @property
    def losses_ns(self) -> int:
        """What is not computing, and what is before the window."""
        return self.window_ns - self.total("computing") + self.before_ns
