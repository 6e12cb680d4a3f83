"""The parts of a step as bars show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
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


# The mean step, of one rank and of a run. partition.averaged_steps says which steps enter.


def divide_rounded(time: int, by: int) -> int:
    """time / by, rounded to ns, halves to even."""
    return round(Fraction(time, by))


def mean_of(times: Iterable[Optional[int]]) -> Optional[int]:
    """Mean of the known times, rounded to ns; None if none is known."""
    known = [time for time in times if time is not None]
    return divide_rounded(sum(known), len(known)) if known else None


def mean_step_ns(steps: Sequence[Step]) -> Optional[int]:
    """Mean step time of a rank or of one of its devices. steps: those that enter the mean."""
    return mean_of(step.total_ns for step in steps)


def longest_by_step(ranks: Iterable[Iterable[Step]]) -> dict[Optional[str], int]:
    """Step time of the longest rank, by step in order of time. Steps without a known time are left out."""
    longest: dict[Optional[str], int] = {}
    for step in (step for steps in ranks for step in steps):
        if step.total_ns is not None:
            longest[step.step] = max(longest.get(step.step, 0), step.total_ns)
    return longest
