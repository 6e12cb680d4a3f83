"""The mean step of each rank from DistributedJson."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from tb_npu_plugin.analysis.parts import BUDGET

#: Ranks that are shown at most.
MOST_RANKS = 64
_TIMES = ("computing", "overlapped", "communication_not_overlapped", "copying", "free", "exposed_waiting", "bubble")


@dataclass(frozen=True)
class RankMean:
    """The mean step of a rank and device, in ns. None: not recorded.

    Attributes:
        span: Token of the span.
        parts: By id of BUDGET; without "preparing" they sum to `whole`.
        times: By field of RankBudget.
        whole: Step time.
        waiting_for: Late rank and the waiting for it, the longest first.
    """

    name: str
    rank: Optional[int]
    span: str
    parts: Mapping[str, Optional[float]]
    times: Mapping[str, Optional[float]]
    whole: Optional[float]
    waiting_for: Sequence[tuple[str, float]]


def step_count(steps: Sequence[Mapping[str, Any]], budgets: Sequence[Mapping[str, Any]]) -> int:
    """Number of steps, or of repeats in a capture without step marks; at least 1."""
    marked = sum(step["step"] is not None for step in steps)
    return marked or max((budget["repeats"] or 1 for budget in budgets), default=1)


def means_of_ranks(budgets: Sequence[Mapping[str, Any]], averaged: Collection[Optional[str]]) -> list[RankMean]:
    """One for each span and device, in the order of the budgets. Steps with an unknown part are left out.

    averaged: steps that enter the mean; all of a rank that has none of them.
    """
    lines: dict[tuple[str, Optional[int]], list[Mapping[str, Any]]] = {}
    for budget in budgets:
        lines.setdefault((budget["span"], budget["device_id"]), []).append(budget)
    own = {key: [one for one in line if one["step"] in averaged] for key, line in lines.items()}
    return [_mean(own[key] or line) for key, line in lines.items()]


def chosen_ranks(means: Sequence[RankMean], named: frozenset[int]) -> list[RankMean]:
    """At most MOST_RANKS, in their order: the ranks of `named`, and the slowest and the fastest of the others."""
    if len(means) <= MOST_RANKS:
        return list(means)
    kept = {at for at, mean in enumerate(means) if mean.rank in named}
    kept = set(sorted(kept)[: MOST_RANKS // 2])
    others = sorted(set(range(len(means))) - kept, key=lambda at: -(means[at].whole or 0))
    fastest = (MOST_RANKS - len(kept)) // 2
    slowest = MOST_RANKS - len(kept) - fastest
    kept.update(others[:slowest], others[len(others) - fastest :])
    return [means[at] for at in sorted(kept)]


def mean_of_parts(means: Sequence[RankMean]) -> dict[str, Optional[float]]:
    """Mean of each part over the ranks whose step time is known; None if no rank recorded it."""
    known = [mean for mean in means if mean.whole is not None]
    return {part: _average([mean.parts[part] for mean in known], len(known)) for part in BUDGET}


def _mean(line: Sequence[Mapping[str, Any]]) -> RankMean:
    whole = [budget for budget in line if _whole(budget) is not None]
    count = max(sum(budget["repeats"] or 1 if budget["step"] is None else 1 for budget in whole), 1)
    parts = [budget["parts"] for budget in whole]
    late: dict[str, float] = {}
    for budget in whole:
        for one in budget["waiting_for"]:
            name, time = _late_name(one), one["exposed"] if one["exposed"] is not None else one["time"]
            late[name] = late.get(name, 0) + time / count
    first = line[0]
    device = "" if first["device_id"] is None else f" · device {first['device_id']}"
    return RankMean(
        f"{first['worker']}{device}",
        first["rank"],
        first["span"],
        {part: _average([one[part] for one in parts], count) for part in BUDGET},
        {name: _average([budget[name] for budget in whole], count) for name in _TIMES},
        _average([_whole(budget) for budget in whole], count),
        sorted(late.items(), key=lambda item: -item[1]),
    )


def _whole(budget: Mapping[str, Any]) -> Optional[int]:
    """Step time; None if a part is unknown. Only GPUs record copying."""
    times = [budget[name] for name in ("computing", "communication_not_overlapped", "free")]
    return None if None in times else sum(times) + (budget["copying"] or 0)


def _late_name(late: Mapping[str, Any]) -> str:
    if late["rank"] is not None:
        return f"rank {late['rank']}"
    return "–" if late["peer"] is None else f"local {late['peer']}"


def _average(values: Sequence[Optional[float]], count: int) -> Optional[float]:
    known = [value for value in values if value is not None]
    return sum(known) / count if known else None
