"""All-pairs covering: few combinations in which any two values of two different axes meet."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from random import Random

#: Rows that are tried for each one that is taken.
_TRIES = 20
Axes = Mapping[str, Sequence[Hashable]]
Row = dict[str, Hashable]
#: Two axes with a value each, the axes in their order.
Pair = tuple[tuple[str, Hashable], tuple[str, Hashable]]


def pairs_of(axes: Axes) -> set[Pair]:
    """All pairs of values of two axes."""
    return {((one, a), (other, b)) for one, other in combinations(axes, 2) for a in axes[one] for b in axes[other]}


def pairs_in(row: Mapping[str, Hashable]) -> set[Pair]:
    """Those that meet in a row, whose axes have the order of the others."""
    return set(combinations(row.items(), 2))


def covering(axes: Axes, seed: int = 0) -> list[Row]:
    """Rows with a value of each axis, in which every pair of pairs_of(axes) meets. Greedy; the same seed gives the same rows."""
    random, missing, rows = Random(seed), pairs_of(axes), []
    while missing:
        ordered = sorted(missing, key=repr)
        candidates = [_row(axes, dict(random.choice(ordered)), missing, random) for _ in range(_TRIES)]
        best = max(candidates, key=lambda row: len(pairs_in(row) & missing))
        missing -= pairs_in(best)
        rows.append(best)
    return rows


def _row(axes: Axes, row: Row, missing: set[Pair], random: Random) -> Row:
    """A row that begins with a pair: each other axis, in any order, has the value that meets most of what is missing."""
    names = list(axes)
    for name in random.sample(names, len(names)):
        if name not in row:
            values = random.sample(list(axes[name]), len(axes[name]))
            row[name] = max(
                values, key=lambda value: sum(_pair(names, name, value, *item) in missing for item in row.items())
            )
    return {name: row[name] for name in names}


def _pair(names: list[str], name: str, value: Hashable, other: str, other_value: Hashable) -> Pair:
    one, two = (name, value), (other, other_value)
    return (one, two) if names.index(name) < names.index(other) else (two, one)
