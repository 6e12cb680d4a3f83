"""Cases that the diagnosis gets wrong today: number of the case -> what is wrong. A case that passes leaves the list.

`python -m tests.truth.sample [--small | --healthy 50]` prints them all.
"""

SMALL: dict[int, str] = {18: "wrong culprit: both stages of an even pipeline"}
WHOLE: dict[int, str] = {}
#: (seed, level) -> what is wrong.
HEALTHY: dict[tuple[int, int], str] = {}
