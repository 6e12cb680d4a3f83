"""Overview: the step budgets are those of step_trace_time.csv, to the digit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.figures import REAL_BUDGETS, us
from tests.oracle.raw import REAL_RUN, every_result, raw
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
    expected = [
        {"step": row["Step"] or None, **{key: us(row.get(header)) for key, header in HEADERS.items()}}
        for row in raw(folder).csv("step_trace_time.csv")
    ]
    shown = [
        {key: value for key, value in step.items() if key in ("step", *HEADERS)}
        for step in show("overview", folder).data["steps"]
    ]
    assert shown == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_real_steps_equal_the_published_digits(rank: int) -> None:
    raw(REAL_RUN / f"rank{rank}_ascend_pt")  # skips where it is absent
    (step,) = show("overview", REAL_RUN / f"rank{rank}_ascend_pt").data["steps"]
    assert step["step"] == "50"
    assert {key: step[key] for key in REAL_BUDGETS[rank]} == {
        key: us(value) for key, value in REAL_BUDGETS[rank].items()
    }
    assert step["bubble"] == 0


@pytest.mark.parametrize("folder", every_result("operator_details.csv"))
def test_top_operators_come_first(folder: Path) -> None:
    totals: dict[str, int] = {}
    for row in raw(folder).csv("operator_details.csv"):
        totals[row["Name"]] = totals.get(row["Name"], 0) + (us(row["Device Self Duration(us)"]) or 0)
    best = sorted(totals.values(), reverse=True)[:10]
    if best[0] > 0:  # a CPU-only capture has no device time to order by
        assert [row["device_self_ns"] for row in show("overview", folder).tables["operators"]] == best
