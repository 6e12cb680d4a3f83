"""Overlap rows come out the same, however the records are cut into segments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.simulation.records import CommOp, Group, HostOp, Kernel, OpInfo, Segment, Step, Task
from tb_npu_plugin.capture.writers.overlap import (
    ALONE,
    COMMUNICATION,
    COMPUTING,
    FREE,
    Overlap,
    StepFinder,
    Windows,
)

KERNEL = Kernel("k", "K", "AI_CORE", "AI_CORE")
GROUP = Group(0, "1", (0, 1), 0, 1)
OP = HostOp(OpInfo("aten::op"), 1, 0, 1)
#: (start, duration, is a kernel)
pieces = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 40), st.booleans()), max_size=30)


def task(start: int, dur: int) -> Task:
    return Task(KERNEL, start, dur, 2, 1, 1)


def comm(start: int, dur: int) -> CommOp:
    return CommOp("c", "hcom_allReduce_", GROUP, start, dur, 1, 1, 1, 1, [], OP)


def segment(found: list[tuple[int, int, bool]], until: int) -> Segment:
    tasks = [task(start, dur) for start, dur, is_kernel in sorted(found) if is_kernel]
    return Segment(until=until, tasks=tasks, comm=[comm(s, d) for s, d, is_kernel in sorted(found) if not is_kernel])


def covered(found: list[tuple[int, int, bool]], kinds: tuple[bool, ...]) -> set[int]:
    return {at for start, dur, kind in found if kind in kinds for at in range(start, start + dur)}


@given(pieces, st.lists(st.integers(1, 320), max_size=4))
def test_rows_are_those_of_a_naive_count(found: list[tuple[int, int, bool]], cuts: list[int]) -> None:
    overlap, rows, since = Overlap(), list[list[int]](), 0
    for cut in sorted(cuts):
        rows += overlap.add(segment([one for one in found if since <= one[0] < cut], cut)).tolist()
        since = max(since, cut)
    rows += overlap.add(segment([one for one in found if one[0] >= since], 1 << 62)).tolist()
    rows += overlap.finish().tolist()
    computing, communicating = covered(found, (True,)), covered(found, (False,))
    busy = computing | communicating
    free = set(range(min(busy), max(busy))) - busy if busy else set()
    expected = {COMPUTING: computing, COMMUNICATION: communicating, ALONE: communicating - computing, FREE: free}
    for kind, moments in expected.items():
        mine = [row for row in rows if row[2] == kind]
        assert sorted(at for start, end, _ in mine for at in range(start, end)) == sorted(moments)
        assert all(a[1] < b[0] for a, b in zip(mine, mine[1:]))  # rows of one kind never touch
    assert rows == sorted(rows, key=lambda row: (row[0], row[2]))


def test_the_first_window_that_holds_a_time_has_it() -> None:
    windows = Windows()
    for number, (start, end) in enumerate(((100, 200), (190, 300)), 1):
        launched = [Task(KERNEL, start + 5, 20, 2, 1, 1, acl=start + 1)]
        windows.add(Segment(Step(number, start, end), until=end, tasks=launched))
    find = StepFinder(windows)
    steps = [find(at) for at in (100, 105, 195, 200, 299, 300)]
    assert [step and step.id for step in steps] == [None, 1, 1, 2, 2, None]
