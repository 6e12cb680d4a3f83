"""How long others waited for a rank, and which waits tell of a peer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import (
    FirstWait,
    Tasks,
    lateness,
    longest_first_waits,
    operators_of,
)
from tb_npu_plugin.tables import Table
from tests.support.span import table_of


def ops(*rows: tuple[str, int | None], step: str | None = "1", kind: str = "collective", group: str = "g") -> Table:
    found: list[dict[str, Any]] = [
        {"step": step, "kind": kind, "group": group, "name": name, "elapse_ns": elapse} for name, elapse in rows
    ]
    return table_of("comm_ops", found)


def test_lateness_is_the_difference_to_the_next_shortest() -> None:
    assert lateness([ops(("a", 100)), ops(("a", 30)), ops(("a", 90))]) == [{"1": 0}, {"1": 60}, {"1": 0}]


def test_the_longest_wait_counts_and_not_the_sum() -> None:
    """Where launching takes the time, a rank that is 20 ns late is so at each collective, and the others lose them once."""
    late = ops(*((name, 10) for name in "abcdef"))
    assert lateness([ops(*((name, 30) for name in "abcdef")), late]) == [{"1": 0}, {"1": 20}]


def test_steps_and_groups_are_separate() -> None:
    one, other = ops(("a", 5), step="1"), ops(("a", 50), step="2")
    assert lateness([one, other]) == [{}, {}]
    assert lateness([ops(("a", 5), group="g"), ops(("a", 9), group="h")]) == [{}, {}]


def test_sends_and_unknown_times_do_not_count() -> None:
    assert lateness([ops(("a", 5), kind="p2p"), ops(("a", 9), kind="p2p")]) == [{}, {}]
    assert lateness([ops(("a", None)), ops(("a", 9)), None]) == [{}, {}, {}]
    assert lateness([]) == lateness([None])[1:] == []


def test_names_that_do_not_tell_the_collectives_apart_are_ignored() -> None:
    assert lateness([ops(("a", 5), ("a", 6), ("b", 1)), ops(("a", 9), ("a", 9), ("b", 3))]) == [{"1": 2}, {"1": 0}]
    assert lateness([ops(("a", 5), ("a", 6)), ops(("a", 9))]) == [{}, {}]


def test_collectives_among_kernels_tell_the_same_and_sends_and_receives_do_not_count() -> None:
    def kernels(wait: int) -> Table:
        rows = [
            ("hcom_allReduce__509_0_1", "HCCL", wait),
            ("hcom_receive__509_0_1", "HCCL", 7 * wait),
            ("MatMul", "AI_CORE", wait),
        ]
        return table_of(
            "kernels", [{"step": "1", "name": name, "core": core, "dur_ns": dur} for name, core, dur in rows]
        )

    assert lateness([operators_of(kernels(wait)) for wait in (30, 4, 29)]) == [{"1": 0}, {"1": 25}, {"1": 0}]
    assert lateness([operators_of(kernels(30)), ops(("hcom_allReduce__509_0_1", 4))]) == [
        {},
        {},
    ]  # another group, or not


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
