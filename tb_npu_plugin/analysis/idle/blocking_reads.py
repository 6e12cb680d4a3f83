"""Counts the operators that block the host until the device is done: `.item()`, `nonzero`, copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.idle.causes import host_slices
from tb_npu_plugin.analysis.idle.places import operators_and_frames
from tb_npu_plugin.model import Timeline

#: The second operator calls the first one: a read counts once.
_INNER, _OUTER = "aten::_local_scalar_dense", "aten::item"


@dataclass(frozen=True)
class BlockingRead:
    """Calls of one operator from one Python line."""

    operator: str
    """The operator that blocks."""
    frame: Optional[str]
    """File, line and function that call it; null without stacks."""
    calls: int
    """Calls in the capture."""


def blocking_reads(timeline: Timeline) -> Sequence[BlockingRead]:
    """The most frequent first. Synchronizations outside operators are left out."""
    calls = host_slices(timeline, "synchronization")
    counts: Counter[tuple[int, int]] = Counter()
    seen: set[int] = set()  # an operator may synchronize several times
    for operator, frame in zip(*(places.tolist() for places in operators_and_frames(timeline, calls))):
        if operator >= 0 and operator not in seen:
            seen.add(operator)
            counts[int(timeline.name[operator]), int(timeline.name[frame]) if frame >= 0 else -1] += 1
    names = timeline.names
    if any(names[operator] == _INNER for operator, _ in counts):
        counts = Counter({key: count for key, count in counts.items() if names[key[0]] != _OUTER})
    return [
        BlockingRead(names[operator], names[frame] if frame >= 0 else None, count)
        for (operator, frame), count in counts.most_common()
    ]
