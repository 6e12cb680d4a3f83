"""Overview: the step budgets are those of step_trace_time.csv, to the digit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.figures import us
from tests.oracle.raw import every_result, raw
from tests.oracle.shown import show

HEADERS = {
    "computing": "Computing",
    "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped",
    "communication": "Communication",
    "free": "Free",
    "stage": "Stage",
    "bubble": "Bubble",
    "preparing": "Preparing",
}


@pytest.mark.parametrize("folder", every_result("step_trace_time.csv"))
def test_steps_equal_the_file(folder: Path) -> None:
    rows, steps = raw(folder).csv("step_trace_time.csv"), show("overview", folder).data["steps"]
    assert [step["step"] for step in steps] == [row["Step"] or None for row in rows]
    for key, header in HEADERS.items():
        assert [step[key] for step in steps] == [us(row.get(header)) for row in rows], key


@pytest.mark.parametrize("folder", every_result("operator_details.csv"))
def test_top_operators_come_first(folder: Path) -> None:
    totals: Counter[str] = Counter()
    for row in raw(folder).csv("operator_details.csv"):
        totals[row["Name"]] += us(row["Device Self Duration(us)"]) or 0
    best = [total for _, total in totals.most_common(10)]
    if best[0] > 0:  # a CPU-only capture has no device time to order by
        assert [row["device_self_ns"] for row in show("overview", folder).tables["operators"]] == best
