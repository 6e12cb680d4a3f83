"""The parts of a step as bars show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.steps.partition import Step


@dataclass(frozen=True)
class StepParts:
    """Parts of a step in the order of the bar, ns. Null: not recorded. All but `preparing`, which is before the step, sum to the
    step time. Names and colours: analysis/parts.py."""

    preparing: Optional[int] = None
    """Exposed preparing."""
    computing: Optional[int] = None
    """Exposed computing."""
    overlapped: Optional[int] = None
    """Communication hidden behind computing."""
    waiting: Optional[int] = None
    """Exposed communication: waiting for other ranks."""
    communication: Optional[int] = None
    """Exposed communication without waiting and bubble."""
    bubble: Optional[int] = None
    """Exposed communication: receiving from another pipeline stage, if its waiting is unknown. Else 0: part of `waiting`."""
    copying: Optional[int] = None
    """Time in which only copies run."""
    free: Optional[int] = None
    """Nothing runs on the device."""


UNKNOWN_PARTS = StepParts()


def parts_of(step: Step, waiting: Optional[int], bubble: Optional[int] = None) -> StepParts:
    """The parts of a step. Bubble and waiting are limited to the exposed communication, which contains them.

    Args:
        waiting: Exposed waiting; None if unknown.
        bubble: Bubble beside it; None: as recorded.
    """
    bare = step.communication_not_overlapped
    waiting = None if waiting is None else min(waiting, bare or 0)
    bubble = step.bubble if bubble is None else bubble
    bubble = None if bubble is None else min(bubble, (bare or 0) - (waiting or 0))
    return StepParts(
        preparing=step.exposed_preparing,
        computing=None if step.computing is None else max(0, step.computing - (step.overlapped or 0)),
        overlapped=step.overlapped,
        waiting=waiting,
        communication=None if bare is None else bare - (bubble or 0) - (waiting or 0),
        bubble=bubble,
        copying=step.copying,
        free=step.free,
    )
