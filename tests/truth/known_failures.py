"""Cases that the diagnosis gets wrong today: number of the case -> what is wrong. A case that passes leaves the list.

`python -m tests.truth.sample [--small | --healthy 50]` prints them all.
"""

_EVEN = "wrong: ranks of an even pipeline are culprits"
_LEVEL0 = "not named: Level0 names no unprofiled rank"
_BUBBLE = "not named: the bubble"
SMALL: dict[int, str] = {18: _EVEN}
WHOLE: dict[int, str] = {
    1: f"{_BUBBLE} of the column Bubble at Level0 is transfer",
    7: "wrong: a second culprit, of the other stage",
    15: "wrong: culprits that wait themselves, for a stage without a profile",
    28: _EVEN,
    36: f"{_BUBBLE} of batches of some ranks",
    62: f"{_BUBBLE} of batches of some ranks; {_EVEN}",
    65: "wrong: a stage of an even pipeline",
    89: _LEVEL0,
    107: _LEVEL0,
    109: f"{_BUBBLE} of the column Bubble of one rank is transfer",
    196: "not named: a rank that computes longer in analysis.db alone",
    198: _EVEN,
    225: _LEVEL0,
    232: _EVEN,
    269: _EVEN,
    272: _EVEN,
    302: "wrong: the stage after the slow one, which is not recorded",
}
#: (seed, level) -> what is wrong.
HEALTHY: dict[tuple[int, int], str] = dict.fromkeys(
    [(seed, level) for seed in (3, 15, 23, 27, 31, 35, 43) for level in (1, 2)], _EVEN
)
