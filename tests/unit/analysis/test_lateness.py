"""How long others waited for a rank."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.analysis.communication.lateness import collectives_of, lateness
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

    assert lateness([collectives_of(kernels(wait)) for wait in (30, 4, 29)]) == [{"1": 0}, {"1": 25}, {"1": 0}]
    assert lateness([collectives_of(kernels(30)), ops(("hcom_allReduce__509_0_1", 4))]) == [
        {},
        {},
    ]  # another group, or not
