"""The mean step, of one rank and of a run. partition.averaged_steps says which steps enter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Optional

from tb_npu_plugin.analysis.steps.partition import Step


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
