"""Waiting for a late rank: two ranks with a known skew, an unprofiled straggler, a ring, no trace, level 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import numpy as np
import pytest

from tb_npu_plugin.analysis.communication.clocks import align_clocks, match_collectives
from tb_npu_plugin.analysis.communication.first_waits import CollectiveWait
from tb_npu_plugin.analysis.communication.lateness import operators_of
from tb_npu_plugin.analysis.communication.waiting import PARTS, split_of_rows, waits_of_ranks
from tb_npu_plugin.analysis.run.arrivals import arrivals_of
from tb_npu_plugin.analysis.run.budgets import budgets_in
from tb_npu_plugin.analysis.run.communication import Hold, RunCommunication
from tb_npu_plugin.model import Capture
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.span import TestSpan, table_of

MS = 1_000_000
END = 1_000 * MS
#: Elapsed time of each collective of a rank in ms; all ranks end together.
Elapsed = list[Optional[int]]


def ops(elapsed: Elapsed, clock: int = 0, group: str | None = "g", **more: Any) -> Table:
    """Collectives that end every second by the clock of the first rank. clock: ns that this clock is ahead."""
    rows = [
        {
            "step": "1",
            "kind": "collective",
            "group": group,
            "name": f"allReduce_{number}",
            "start_ns": (number + 1) * END + clock - (time or 0) * MS,
            "elapse_ns": None if time is None else time * MS,
            **{key: None if value is None else value * MS for key, value in more.items()},
        }
        for number, time in enumerate(elapsed)
    ]
    return table_of("comm_ops", rows)


def seen(row: int, wait: float, peer: int, until: float = 0) -> CollectiveWait:
    return CollectiveWait(row, "", 0, int(wait * MS), 0, peer, int(max(until, wait) * MS), ())


def waits(tables: list[Table], traces: Optional[list[Optional[list[CollectiveWait]]]] = None) -> list[Any]:
    """(ms, late rank) of each collective of each rank: a profiled rank by its index, an unprofiled one as "peer 5"."""
    found = match_collectives(tables)
    out = waits_of_ranks(
        [len(table) for table in tables],
        found,
        align_clocks(found, len(tables)),
        traces or [None] * len(tables),
        np.ones(len(found.owner), dtype=bool),
    )
    return [
        [
            None if time == NULL_INT else (0 if time == 0 else (time // MS, owner if owner >= 0 else f"peer {peer}"))
            for time, owner, peer in zip(one.time.tolist(), one.owner.tolist(), one.peer.tolist())
        ]
        for one in out
    ]


THREE: Elapsed = [40, 9, 30]


@pytest.mark.parametrize(
    ("tables", "traces", "expected"),
    [
        # Two ranks of which the second arrives 20 ms late, with clocks 5 s apart.
        ([ops(THREE), ops([20, 9, 10], 5 * END)], None, [[(20, 1), 0, (20, 1)], [0, 0, 0]]),
        # Two collectives align clocks if their ends agree; one cannot show that they do.
        ([ops([40, 9]), ops([20, 9], 5 * END)], None, [[(20, 1), 0], [0, 0]]),
        ([ops([40]), ops([20], 5 * END)], None, [[None], [None]]),
        # Ends that differ by more than 1 ms do not align them.
        ([ops(THREE), ops([20, 9, 10, 7], 7)], [None, None], [[(20, 1), 0, (20, 1)], [0, 0, 0, None]]),
        # One profiled rank: nothing is known without its trace.
        ([ops(THREE)], None, [[None, None, None]]),
        ([ops(THREE)], [[seen(0, 35, 5), seen(2, 25, 5)]], [[(35, "peer 5"), None, (25, "peer 5")]]),
        # It waits again after a first exchange without a wait.
        ([ops(THREE)], [[seen(0, 35, 5), replace(seen(2, 0, 5), is_part=True)]], [[(35, "peer 5"), None, None]]),
        # Waits of 0.05 ms count.
        ([ops(THREE)], [[seen(0, 35, 5), seen(1, 0.06, 6), seen(2, 0, 6)]], [[(35, "peer 5"), (0, "peer 6"), 0]]),
        ([ops([40, 9, 31]), ops([40, 9, 30])], None, [[0, 0, (1, 1)], [0, 0, 0]]),
        # Both are profiled: the trace of the first and the starts agree; its own trace counts.
        ([ops(THREE), ops([20, 9, 10])], [[seen(0, 20, 1)], None], [[(20, "peer 1"), 0, (20, 1)], [0, 0, 0]]),
        # An unprofiled rank is later than both profiled ranks.
        (
            [ops(THREE), ops([20, 9, 10])],
            [[seen(0, 35, 5)], [seen(0, 15, 5)]],
            [[(35, "peer 5"), 0, (20, 1)], [(15, "peer 5"), 0, 0]],
        ),
        # A ring: the first rank sees its neighbours only, which are early; the second has the late one as its neighbour.
        (
            [ops(THREE), ops([38, 9, 28])],
            [[seen(0, 2, 1)], [seen(0, 30, 5)]],
            [[(32, "peer 5"), 0, (2, 1)], [(30, "peer 5"), 0, 0]],
        ),
        # Without a group, as in kernels, names must identify collectives.
        ([ops(THREE, group=None), ops([20, 9, 10], group=None)], None, [[(20, 1), 0, (20, 1)], [0, 0, 0]]),
        ([ops(THREE), ops([20, 9, 10], group="h")], None, [[None] * 3, [None] * 3]),
        ([ops([40, None, 30]), ops([20, 9, 10])], None, [[(20, 1), None, (20, 1)], [0, None, 0]]),
    ],
)
def test_each_rank_waits_for_the_last_to_arrive(tables: Any, traces: Any, expected: Any) -> None:
    assert waits(tables, traces) == expected


def test_level_0_has_starts_of_kernels() -> None:
    def kernels(elapsed: list[int]) -> Table:
        rows = [
            {"step": "1", "name": f"hcom_allReduce__5_{number}_1", "core": "HCCL"}
            | {"start_ns": (number + 1) * END - time * MS, "dur_ns": time * MS}
            for number, time in enumerate(elapsed)
        ]
        return table_of("kernels", rows)

    tables = [operators_of(kernels(elapsed)) for elapsed in ([40, 9, 30], [20, 9, 10])]
    assert waits(tables) == [[(20, 1), 0, (20, 1)], [0, 0, 0]]


def test_clocks_are_refused_where_ends_disagree() -> None:
    tables = [ops([4, 4, 4, 4]), ops([4, 4, 4, 4])]
    drift = np.array([0, 9, 18, 27]) * MS
    tables[1] = Table(tables[1].columns, {**tables[1].data, "start_ns": tables[1].ints("start_ns") + drift})
    assert [clock.reference for clock in align_clocks(match_collectives(tables), 2)] == [0, 1]


#: Of one operator of 100 ms in ms: recorded transit, synchronisation, wait; wait for the late rank; time until the first
#: transfer in the trace; time of its packets by size in MB.
SPLITS = [
    ((10, 30, 35), None, None, {}, (None, 30, 10, None, 60)),
    ((10, 30, 35), 60, None, {}, (60, 0, 10, None, 30)),
    ((10, 30, 35), 20, None, {}, (20, 10, 10, None, 60)),
    ((10, 30, 35), 60, 64, {16: 30, 15: 10}, (60, 4, 7.5, 2.5, 26)),
    ((10, 0, 0), 95, 97, {20: 1}, (95, 2, 3, 0, 0)),
    ((None, None, None), None, None, {}, (None, None, None, None, 100)),
    ((None, None, None), 60, None, {}, (60, None, None, None, 40)),
]


@pytest.mark.parametrize(("recorded", "wait", "until", "packets", "expected"), SPLITS)
def test_parts_sum_to_the_elapsed_time(recorded: Any, wait: Any, until: Any, packets: Any, expected: Any) -> None:
    transit, sync, waited = recorded
    table = ops([100], transit_ns=transit, sync_ns=sync, wait_ns=waited)
    identity = {"step": "1", "kind": "collective", "group": "g", "name": "allReduce_0", "transport": "HCCS"}
    sizes = [
        {**identity, "packet_bytes": size * 1_000_000, "count": 1, "time_ns": time * MS}
        for size, time in packets.items()
    ]
    collectives = match_collectives([table])
    (waits,) = waits_of_ranks([1], collectives, align_clocks(collectives, 1), [None], np.ones(1, dtype=bool))
    waits.time[:] = NULL_INT if wait is None else wait * MS
    waits.until_transfer[:] = NULL_INT if until is None else until * MS
    found = split_of_rows(table, table_of("comm_packets", sizes) if sizes else None, waits)
    values = [int(found[part][0]) for part in PARTS]
    assert values == [NULL_INT if part is None else part * MS for part in expected]
    assert sum(value for value in values if value != NULL_INT) == 100 * MS


def test_without_a_trace_waits_are_unknown_where_ranks_were_not_profiled() -> None:
    tables = [ops([100] * 3), ops([90] * 3)]
    found = match_collectives(tables)
    waits = {
        is_complete: waits_of_ranks([3, 3], found, align_clocks(found, 2), [None, []], np.full(6, is_complete))
        for is_complete in (True, False)
    }
    assert (waits[True][0].time.tolist(), waits[False][0].time.tolist()) == ([10 * MS] * 3, [NULL_INT] * 3)
    assert (waits[True][1].time.tolist(), waits[False][1].time.tolist()) == ([0] * 3, [NULL_INT] * 3)


def drifting(table: Table) -> Table:
    """With a clock that no offset aligns."""
    return Table(table.columns, {**table.data, "start_ns": table.ints("start_ns") + np.array([0, 50, -50]) * MS})


@pytest.mark.parametrize(
    ("tables", "groups", "expected"),
    [
        ([ops(THREE), ops([20, 9, 10]), ops([10, 9, 5])], {}, [30 * MS, 0, 25 * MS]),
        # The third rank may be later, unless the group is of the first two.
        ([ops(THREE), ops([20, 9, 10]), None], {}, [NULL_INT] * 3),
        ([ops(THREE), ops([20, 9, 10]), None], {"g": {"global_ranks": [0, 1]}}, [20 * MS, 0, 20 * MS]),
        # It misses a collective, or its clock cannot be aligned.
        ([ops(THREE), ops([20, 9, 10]), ops([10, 9, None])], {}, [30 * MS, 0, NULL_INT]),
        ([ops(THREE), ops([20, 9, 10]), drifting(ops([10, 9, 5]))], {}, [NULL_INT] * 3),
    ],
)
def test_waits_are_known_where_the_starts_of_all_members_are(tables: Any, groups: Any, expected: list[int]) -> None:
    spans = [
        TestSpan({} if one is None else {"comm_ops": one}, Capture(rank=rank, groups=groups))
        for rank, one in enumerate(tables)
    ]
    assert RunCommunication(spans).waits[0].time.tolist() == expected


def test_the_collective_at_which_the_others_wait_longest_for_a_rank() -> None:
    """The second rank is last at the first collective, by 20 ms against 40, and at the third, by 10 against 30."""
    tables = [ops([40, 9, 30]), ops([20, 9, 20], 5 * END), ops([35, 9, 30])]
    spans = [TestSpan({"comm_ops": one}, token=f"s{rank}") for rank, one in enumerate(tables)]
    run = RunCommunication(spans)
    assert run.longest_hold("s1") == Hold("1", 6 * END - 40 * MS, 6 * END), "by its own clock"
    assert (run.longest_hold("s0"), run.longest_hold("s2")) == (None, None)
    assert RunCommunication(spans[:1]).longest_hold("s0") is None
    assert RunCommunication([]).longest_hold("s0") is None


def test_clocks_come_from_kernels_where_communication_files_convert_the_clock_in_another_way() -> None:
    def rank(number: int, clock_of_file: int, clock_of_kernels: int) -> TestSpan:
        of_file = ops([4, 5, 6], clock_of_file)
        starts, names = ops([4, 5, 6], clock_of_kernels).ints("start_ns"), of_file.text("name")
        rows = [{"name": names[row], "core": "HCCL", "start_ns": int(starts[row]), "dur_ns": MS} for row in range(3)]
        return TestSpan({"comm_ops": of_file, "kernels": table_of("kernels", rows)}, Capture(rank=number))

    ranks = [rank(0, 0, 0), rank(1, -20_350, 14_516)]
    assert RunCommunication(ranks).clocks[1].offset == 14_516
    del ranks[1].tables["kernels"]
    assert RunCommunication(ranks).clocks[1].offset == -20_350


def test_a_range_counts_the_collectives_that_overlap_it_by_the_clock_of_each_rank() -> None:
    """The second rank arrives 20 ms late at the first and the third collective; the fourth has no known time."""
    spans = [
        TestSpan({"comm_ops": ops([*times, None], clock)}, Capture(rank=rank))
        for rank, times, clock in ((0, THREE, 0), (1, [20, 9, 10], 0))
    ]
    run = RunCommunication(spans)
    third = 3 * END - 15 * MS, 3 * END - 11 * MS  # rank 1 begins 10 ms before the end, so only rank 0 is in it
    first, second = budgets_in(run, *third)
    assert (first.elapse, first.waiting, first.step, first.stage) == (30 * MS, 20 * MS, None, None)
    assert [(one.rank, one.time) for one in first.waiting_for] == [(1, 20 * MS)]
    assert (second.elapse, second.waiting, second.waiting_for) == (None, None, ())
    (arrival,) = arrivals_of(run, third)
    assert (arrival.operator, arrival.wait) == ("allReduce_2", 20 * MS)
    assert arrivals_of(run, (3 * END, 4 * END)) == []
    everything = budgets_in(run, 0, 9 * END)
    assert [one.elapse for one in everything] == [79 * MS, 39 * MS]


def calls(first: int, clock: int = 0, steps: str = "123") -> Table:
    """Two steps and more of four collectives, whose numbers begin with `first`; they end at uneven times."""
    rows = [
        {"step": step, "kind": "collective", "group": "g", "name": f"hcom_allReduce__564_{first + 4 * at + call}_1"}
        | {"start_ns": clock + (10 * int(step) + call**2) * MS, "elapse_ns": MS}
        for at, step in enumerate(steps)
        for call in range(4)
    ]
    return table_of("comm_ops", rows)


@pytest.mark.parametrize("first", [1, 3, 1000])
@pytest.mark.parametrize("steps", ["123", "23"])
def test_ranks_that_number_their_calls_otherwise_are_compared_by_step(first: int, steps: str) -> None:
    """The second rank counts from another zero, and may have begun with another step."""
    found = match_collectives([calls(0), calls(first, clock=180_000 * MS, steps=steps)])
    _, other = align_clocks(found, 2)
    assert (other.reference, other.offset, other.error) == (0, 180_000 * MS, 0)
    assert other.collectives == 4 * len(steps)


def test_numbers_are_kept_where_the_ends_agree_with_them() -> None:
    """The second rank counts its steps otherwise: calls of equal numbers end together, those of equal steps do not."""
    ranks = [calls(0, steps="1234"), calls(4, steps="1234")]
    ends = np.array([0, 1, 4, 9, 12, 13, 20, 22, 30, 37, 38, 40, 50, 53, 54, 59, 63, 64, 65, 70]) * 1000
    tables = [Table(one.columns, {**one.data, "start_ns": ends[at : at + 16]}) for one, at in zip(ranks, (0, 4))]
    assert [clock.reference for clock in align_clocks(match_collectives(tables), 2)] == [0, 1]
