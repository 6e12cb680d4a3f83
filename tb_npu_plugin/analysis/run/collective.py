"""One collective on all ranks that run it."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.communication.first_waits import SAME_START_NS
from tb_npu_plugin.analysis.run.communication import RunCommunication


def starts_of_collective(run: RunCommunication, span: str, name: str, start: int) -> dict[str, int]:
    """Start of a collective on each rank that runs it, ns since the epoch by the clock of the rank, by token of its span.

    Args:
        span, name, start: A slice of the collective: token of the span, name, and start in ns since the epoch.

    Returns:
        Empty if the collective cannot be matched, as a send or receive, or one that not every member recorded as often.
    """
    found, tokens = run.matched, [line.span.token for line in run.lines]
    starts = found.rows.ints("start_ns")
    is_own = np.array([token == span for token in tokens], dtype=bool)
    own = np.flatnonzero(found.rows.text("name").equals(name) & (found.number >= 0))
    own = own[is_own[found.owner[own]]]
    if not len(own):
        return {}
    nearest = own[np.argmin(np.abs(starts[own] - start))]
    if abs(int(starts[nearest]) - start) > SAME_START_NS:
        return {}
    rows = np.flatnonzero(found.number == found.number[nearest])
    return {tokens[int(found.owner[row])]: int(starts[row]) for row in rows}
