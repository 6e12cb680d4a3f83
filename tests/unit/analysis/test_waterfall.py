"""Ledgers of several captures beside one another: what one does not tell apart is one row, and the sums stay exact."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.ledger.bubble import BubbleParts
from tb_npu_plugin.analysis.ledger.model import Entry, EntryKind, RankLedger
from tb_npu_plugin.analysis.ledger.waterfall import DeviceLedger, WaterfallRow, running_sums, waterfall, window_ns
from tests.support.span import TestSpan


def entry(
    kind: EntryKind, ns: int, detail: str = "", culprit: Optional[int] = None, low: Optional[int] = None
) -> Entry:
    return Entry(kind, detail, ns, ns if low is None else low, ns, culprit)


def device(*entries: Entry, before: int = 0, bubble: Optional[BubbleParts] = None) -> DeviceLedger:
    window = sum(one.ns for one in entries)
    return DeviceLedger(RankLedger(TestSpan({}), None, window, before, 0, 0, 0, entries), bubble)


def shown(rows: list[WaterfallRow]) -> dict[str, list[Optional[int]]]:
    return {str(row.title): [None if one is None else one.ns for one in row.times] for row in rows}


COMPUTING = entry("computing", 700)


def test_waiting_has_a_row_for_each_rank_and_one_for_the_short_ones() -> None:
    short = [entry("waiting", 2, "collective", rank) for rank in (2, 3)]
    one = [device(COMPUTING, entry("waiting", 100, "collective", 5), *short, before=9)]
    other = [device(COMPUTING, entry("waiting", 40, "p2p", 1))]
    assert shown(waterfall([one, other])) == {
        "Computing": [700, 700],
        "Waiting for rank 5": [100, 0],
        "Waiting for rank 1": [0, 40],
        "Waiting for 2 other ranks": [4, 0],
        "Before the first task": [9, 0],
    }
    assert running_sums(waterfall([one, other]), 0, 1) == [(0, 804), (-100, 704), (40, 744), (-4, 740)]
    assert waterfall([one, other])[-1].is_beside


def test_what_one_capture_does_not_tell_apart_is_one_row_for_all() -> None:
    known = [device(COMPUTING, entry("waiting", 100, "collective", 5), entry("transfer", 30), entry("idle", 5, "late"))]
    open_ = [device(COMPUTING, entry("communication", 90), entry("unexplained", 6, "idle"))]
    assert shown(waterfall([known, open_])) == {
        "Computing": [700, 700],
        "Exposed communication": [130, 90],
        "Idle": [5, 6],
    }
    inside = [device(COMPUTING, entry("waiting", 20, "AllToAllGMM", 5), entry("communication", 90))]
    assert shown(waterfall([known, inside]))["Waiting for rank 5"] == [0, 20], (
        "a wait inside a kernel is computing else"
    )


def test_waiting_is_divided_by_cause_where_each_capture_knows_it() -> None:
    waits = [entry("waiting", 100, "p2p", 5)]
    staged = [device(COMPUTING, *waits, bubble=BubbleParts(uneven=60, batches=30, idle=0))]
    rows = {"Waiting: Uneven stages": 60, "Waiting: Bubble of the micro-batches": 30, "Waiting: Other waiting": 10}
    found = shown(waterfall([staged, [device(COMPUTING)]]))
    assert {name: times for name, times in found.items() if name != "Computing"} == {
        name: [ns, 0] for name, ns in rows.items()
    }
    unknown = [device(COMPUTING, *waits)]
    assert shown(waterfall([staged, unknown])) == {"Computing": [700, 700], "Waiting for rank 5": [100, 100]}
    untold = [device(COMPUTING, entry("communication", 90))]
    assert shown(waterfall([staged, untold])) == {"Computing": [700, 700], "Exposed communication": [100, 90]}


def test_devices_of_a_capture_are_means_that_still_sum_to_the_step() -> None:
    """Each entry rounds; their sum is the rounded mean of the steps."""
    two = [device(entry("computing", 3), entry("transfer", 3)), device(entry("copies", 4), entry("computing", 1))]
    rows = waterfall([two, []])
    assert window_ns(two) == 6 == sum(row.times[0].ns for row in rows if row.times[0] is not None)
    assert window_ns([]) is None and all(row.times[1] is None for row in rows) and running_sums(rows, 0, 1) == []


def test_bounds_are_kept() -> None:
    (row,) = waterfall([[device(entry("waiting", 50, "collective", None, low=20))]])
    assert (str(row.title), row.times) == ("Waiting", [(50, 20, 50)])
