"""Cases that the diagnosis gets wrong today: number of the case -> what is wrong. A case that passes leaves the list.

`python -m tests.truth.sample [--small | --healthy 50]` prints them all.
"""

_BUBBLE = "not named: the bubble"
SMALL: dict[int, str] = {}
WHOLE: dict[int, str] = {
    56: "wrong: a rank whose own waits are unknown, beside one that nobody recorded waits for",
    109: f"{_BUBBLE} of the column Bubble of one rank is transfer",
    253: "wrong: an unprofiled rank at the slow end of a link, which waits for it",
    196: "not named: a rank that computes longer in analysis.db alone",
}
#: (seed, level) -> what is wrong.
HEALTHY: dict[tuple[int, int], str] = {}
