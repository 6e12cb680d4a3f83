"""Which times belong to a recording."""

from __future__ import annotations

import numpy as np
import pytest

from tb_npu_plugin.analysis.recording import LONGEST_PAUSE, Window, is_short, window_of
from tb_npu_plugin.tables import NULL_INT, IntArray

NOW = 1_749_970_800_123_456_780


def ints(*values: int) -> IntArray:
    return np.array(values, dtype=np.int64)


def window(*times: int) -> Window:
    found = window_of([ints(*times)])
    assert found is not None
    return found


def test_no_times() -> None:
    assert window_of([]) is None
    assert window_of([ints(), ints(NULL_INT)]) is None


@pytest.mark.parametrize(
    "stray", [0, 1, -5, 172_163_581_670_080, NOW + 10**18, NOW - 2 * LONGEST_PAUSE, 2**63 - 1, -(2**63) + 1]
)
def test_one_time_far_from_the_others(stray: int) -> None:
    found = window_of([ints(NOW, NOW + 5, stray), ints(NULL_INT, NOW + 9)])
    assert found == Window(NOW - LONGEST_PAUSE, NOW + 9 + LONGEST_PAUSE)
    assert found.strays(ints(NOW, stray, NULL_INT)).tolist() == [False, True, False]


def test_long_recordings_stay_whole() -> None:
    """Samples of a week, each within a day of the next one."""
    times = ints(*(NOW + day * LONGEST_PAUSE for day in range(8)))
    assert not window(*times.tolist()).strays(times).any()


def test_strays_on_both_sides() -> None:
    times = ints(3, 4, NOW, NOW + 1, NOW + 2, NOW + 3, NOW + 10**18)
    assert window(*times.tolist()).strays(times).tolist() == [True, True, False, False, False, False, True]


def test_ends() -> None:
    found = window(NOW, NOW + 10)
    start = ints(NOW, NOW, NOW, NULL_INT, 0, NOW)
    dur = ints(10, 10**18, NULL_INT, 10**18, 10**18, 2**63 - 1)
    assert found.late_ends(start, dur).tolist() == [False, True, False, False, False, True]
    assert not found.late_ends(ints(NOW + 10), ints(LONGEST_PAUSE)).any()
    assert found.late_ends(ints(NOW + 10), ints(LONGEST_PAUSE + 1)).all()


@pytest.mark.parametrize("broken", [2**62, -(2**62), 2**63 - 1])
def test_what_is_no_time_does_not_count(broken: int) -> None:
    assert window_of([ints(broken, broken)]) is None
    assert window_of([ints(broken, broken, NOW)]) == Window(NOW - LONGEST_PAUSE, NOW + LONGEST_PAUSE)


@pytest.mark.parametrize("place", [0, 2**16, 2**16 + 3])
@pytest.mark.parametrize(
    ("stray", "dur"),
    [
        (0, 0),
        (NOW - LONGEST_PAUSE - 1, 0),
        (NOW + 2 * LONGEST_PAUSE, 0),
        (NOW, LONGEST_PAUSE + 1),
        (NOW, 2**63 - 1),
        (2**63 - 1, 0),
        (-(2**63) + 1, 0),
    ],
)
def test_nothing_short_holds_strays(stray: int, dur: int, place: int) -> None:
    times, durations = np.full(2**16 + 4, NOW), np.zeros(2**16 + 4, dtype=np.int64)
    times[1], durations[1] = NULL_INT, NULL_INT
    assert is_short(times, durations)
    times[place], durations[place] = stray, dur
    assert not is_short(times, durations)


def test_what_has_no_time_is_short() -> None:
    assert is_short(ints(), ints()) and is_short(ints(NULL_INT), ints(NULL_INT))
