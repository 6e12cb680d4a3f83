"""Refuses regular expressions that may take too long to search, since Python's `re` cannot be interrupted."""

from __future__ import annotations

import re
import warnings
from typing import Any, Optional

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse

#: A search of n characters takes at most n ** 2 times this number of steps.
_MOST_WAYS = 64
#: Repetitions of a character up to which they count one by one.
_FEW = 16
_ANCHOR = [(sre_parse.AT, sre_parse.AT_BEGINNING)]


def why_expensive(pattern: str) -> Optional[str]:
    """Why a search for a pattern may take too long; None if it cannot.

    Raises:
        re.error: It is not a regular expression.
    """
    parsed: Any = sre_parse.parse(pattern)
    is_anchored = parsed.data[:1] == _ANCHOR and not parsed.state.flags & re.MULTILINE
    try:
        ways, open_ended = _cost(parsed)
    except _Expensive as error:
        return str(error)
    if open_ended + (not is_anchored) > 2:
        return f"{open_ended} times * or +: at most one, after ^ two"
    return f"{ways} ways to match: at most {_MOST_WAYS}" if ways > _MOST_WAYS else None


class _Expensive(Exception):
    """The cost grows faster than a polynomial, or cannot be told."""


def _cost(items: Any) -> tuple[int, int]:
    """Ways in which a sequence can match at one place, and number of its open-ended repetitions."""
    ways, open_ended = 1, 0
    for kind, value in items:
        more, also_open = _cost_of_one(kind, value)
        ways, open_ended = ways * more, open_ended + also_open
    return ways, open_ended


def _cost_of_one(kind: Any, value: Any) -> tuple[int, int]:
    if kind is sre_parse.BRANCH:
        costs = [_cost(branch) for branch in value[1]]
        return sum(ways for ways, _ in costs), max(count for _, count in costs)
    if kind is sre_parse.SUBPATTERN:
        return _cost(value[-1])
    if kind in (sre_parse.ASSERT, sre_parse.ASSERT_NOT):
        return _cost(value[1])
    if kind in (sre_parse.MAX_REPEAT, sre_parse.MIN_REPEAT):
        return _cost_of_repetition(*value)
    if kind in (sre_parse.LITERAL, sre_parse.NOT_LITERAL, sre_parse.ANY, sre_parse.IN, sre_parse.AT):
        return 1, 0
    raise _Expensive(f"{str(kind).lower()} is not allowed")


def _cost_of_repetition(least: int, most: int, items: Any) -> tuple[int, int]:
    ways, open_ended = _cost(items)
    if most <= 1:
        return ways + 1 - least, open_ended
    if (ways, open_ended) != (1, 0):
        raise _Expensive("a repetition of what can match in several ways")
    return (most - least + 1, 0) if most - least < _FEW else (1, 1)
