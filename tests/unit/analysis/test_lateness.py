"""Communication operators of kernels, and which waits tell of a peer."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import (
    FirstWait,
    Tasks,
    last_first_waits,
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


def test_the_first_wait_that_ends_last_is_chosen_and_counts_from_the_start_of_the_operator() -> None:
    """In the second operator a short wait follows the long one on the same stream."""
    operators = tasks((0, 1000), (2000, 1000))
    early, late = tasks((1, 0), (2001, 300), ids=10), tasks((1, 900), (2301, 60), ids=20)
    assert last_first_waits(operators, [early, late]) == [
        FirstWait(0, 20, 901_000, 0),
        FirstWait(1, 21, 361_000, 301_000),
    ]


def test_waits_that_follow_are_for_data_and_those_before_and_behind_belong_to_others() -> None:
    operators = tasks((1000, 1000))
    plane = tasks((0, 900), (1001, 100), (1200, 800), (2001, 900))
    assert last_first_waits(operators, [plane, tasks((2000, 900)), tasks()]) == [FirstWait(0, 1, 101_000, 0)]


def test_waits_below_50_us_are_noise() -> None:
    assert last_first_waits(tasks((0, 1000)), [tasks((0, 49)), tasks((40, 49))]) == [FirstWait(0, 0, 0, 0)]
    assert last_first_waits(tasks((0, 9000)), [tasks((0, 50)), tasks((10, 49))]) == [FirstWait(0, 0, 50_000, 0)]
    assert last_first_waits(tasks(), [tasks((0, 899))]) == []
