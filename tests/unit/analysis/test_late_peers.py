"""The longest of the first waits of an operator."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import Tasks, longest_first_waits


def tasks(*rows: tuple[int, int], ids: int = 0) -> Tasks:
    """Start and duration of each, in microseconds."""
    start, dur = (np.array([row[at] * 1000 for row in rows], dtype=np.int64) for at in (0, 1))
    return Tasks(start, dur, np.arange(ids, ids + len(rows)))


def test_the_plane_whose_first_task_waits_longest_tells_the_peer() -> None:
    operators = tasks((0, 1000), (2000, 1000))
    early, late = tasks((1, 0), (2001, 300), ids=10), tasks((1, 900), (2001, 250), ids=20)
    assert longest_first_waits(operators, [early, late]) == [(0, 20), (1, 11)]


def test_waits_that_follow_are_for_data_and_those_before_and_behind_belong_to_others() -> None:
    operators = tasks((1000, 1000))
    plane = tasks((0, 900), (1001, 100), (1200, 800), (2001, 900))
    assert longest_first_waits(operators, [plane, tasks((2000, 900)), tasks()]) == []


def test_short_waits_tell_nothing_nor_do_those_that_are_little_of_their_operator() -> None:
    assert longest_first_waits(tasks((0, 1000)), [tasks((0, 199))]) == []
    assert longest_first_waits(tasks((0, 1000)), [tasks((0, 200))]) == [(0, 0)]
    assert longest_first_waits(tasks((0, 9000)), [tasks((0, 899))]) == []
    assert longest_first_waits(tasks(), [tasks((0, 899))]) == []
