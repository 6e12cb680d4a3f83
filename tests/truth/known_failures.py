"""Cases that the diagnosis gets wrong today: number of the case -> what is wrong. A case that passes leaves the list.

`python -m tests.truth.sample [--small | --healthy 50]` prints them all.
"""

SMALL: dict[int, str] = {}
WHOLE: dict[int, str] = {
    107: "not named: the recorded rank waits for 4 % of its step, and hidden waits delay its transfers",
}
#: (seed, level) -> what is wrong.
HEALTHY: dict[tuple[int, int], str] = {}
