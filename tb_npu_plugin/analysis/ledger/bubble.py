"""Why a pipeline stage waits for the others: they work longer, there are few micro-batches, or they are idle.

With p stages that work for W_i in m micro-batches, a step takes (sum of W_i) / m + (m - 1) / m * max of W_i, and stage i waits
for the rest of it. With equal stages each waits for (p - 1) / m * mean of W_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BubbleParts:
    """Waiting of a stage for the other stages, ns. The parts sum to it."""

    uneven: int
    """More than with equal stages."""
    batches: int
    """What remains with equal stages: the pipeline fills and drains."""
    idle: int
    """The rest: the other stages are idle or communicate meanwhile."""


def split_bubble(waiting: int, own: float, works: Sequence[float], batches: int) -> BubbleParts:
    """Divide the waiting of a stage.

    Args:
        waiting: Waiting of the stage for the others, ns.
        own: Its work in all micro-batches, ns.
        works: Work of all stages, its own included.
        batches: Micro-batches, at least 1.
    """
    even = (len(works) - 1) / batches * sum(works) / len(works)
    step = sum(works) / batches + (batches - 1) / batches * max(works)
    of_batches = min(waiting, round(even))
    uneven = min(waiting - of_batches, max(0, round(step - own - even)))
    return BubbleParts(uneven, of_batches, waiting - of_batches - uneven)


def saved_by_equal_stages(works: Sequence[float], batches: int) -> float:
    """What a step loses to unequal stages, ns. batches: 0 if unknown; then an upper bound."""
    share = (batches - 1) / batches if batches else 1.0
    return share * (max(works) - sum(works) / len(works))


def saved_by_batches(works: Sequence[float], batches: int, more: int) -> float:
    """What a step saves if `more` micro-batches move as much, ns: the slowest stage works as long, the others 1 / m of it."""
    return (sum(works) - max(works)) * (1 / batches - 1 / more)
