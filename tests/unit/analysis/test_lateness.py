"""Communication operators of kernels, and which waits tell of a peer."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import (
    FirstWait,
    Tasks,
    longest_first_waits,
    operators_of,
)
from tb_npu_plugin.schema.communicators import group_hash
from tests.support.span import table_of


def test_operators_of_kernels_know_their_group_and_kind() -> None:
    """The name ends with the last digits of the group's id; two groups with the same digits cannot be told apart."""
    group = "10.0.0.1%eth0_60000_1"
    id_ = group_hash(group)
    names = [f"hcom_allReduce__{id_[-3:]}_0_1", "hcom_batchSendRecv__007_0_1", "MatMul"]
    cores = ["COMMUNICATION", "COMMUNICATION", "AI_CORE"]
    rows = table_of("kernels", [{"step": "1", "name": name, "core": core} for name, core in zip(names, cores)])
    found = operators_of(rows, [group])
    assert found.text("group").tolist() == [id_, "007"]
    assert found.text("kind").tolist() == ["collective", "p2p"]
    assert operators_of(rows, [group, group]).text("group").tolist() == [id_[-3:], "007"]


def tasks(*rows: tuple[int, int], ids: int = 0) -> Tasks:
    """Start and duration of each, in microseconds."""
    start, dur = (np.array([row[at] * 1000 for row in rows], dtype=np.int64) for at in (0, 1))
    return Tasks(start, dur, np.arange(ids, ids + len(rows)))


def test_plane_with_the_longest_first_wait_is_chosen() -> None:
    operators = tasks((0, 1000), (2000, 1000))
    early, late = tasks((1, 0), (2001, 300), ids=10), tasks((1, 900), (2001, 250), ids=20)
    assert [(one.operator, one.task) for one in longest_first_waits(operators, [early, late])] == [(0, 20), (1, 11)]


def test_waits_that_follow_are_for_data_and_those_before_and_behind_belong_to_others() -> None:
    operators = tasks((1000, 1000))
    plane = tasks((0, 900), (1001, 100), (1200, 800), (2001, 900))
    assert not any(one.is_long for one in longest_first_waits(operators, [plane, tasks((2000, 900)), tasks()]))


def test_short_waits_are_ignored_nor_do_those_that_are_little_of_their_operator() -> None:
    assert longest_first_waits(tasks((0, 1000)), [tasks((0, 199))]) == [FirstWait(0, 0, 199_000, 0, False)]
    assert longest_first_waits(tasks((0, 1000)), [tasks((0, 200)), tasks((0, 150))]) == [
        FirstWait(0, 0, 200_000, 150_000, True)
    ]
    assert not longest_first_waits(tasks((0, 9000)), [tasks((0, 899))])[0].is_long
    assert longest_first_waits(tasks(), [tasks((0, 899))]) == []
