"""The views of the real level-1 result against its files, read with the standard library alone."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.views import distributed, kernel, overview
from tb_npu_plugin.views.base import ViewInput, ViewResult
from tests.support.span import TestSpan, real_folder, span_of

RANKS = (0, 1)


@cache
def span(rank: int) -> TestSpan:
    return span_of(real_folder(rank))


def raw(rank: int, name: str) -> list[dict[str, str]]:
    path: Path = real_folder(rank) / "ASCEND_PROFILER_OUTPUT" / name
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ns(text: str) -> int:
    """Microseconds as text to integer ns."""
    return round(Decimal(text.strip()) * 1000)


def build(view: Any, *ranks: int, **params: str) -> ViewResult:
    return view.build(ViewInput([span(rank) for rank in ranks], params))  # type: ignore[no-any-return]


#: ns; docs/facts/analysis.md, Reference figures of step times, text.
BUDGETS = {
    0: (8873756, 101963203, 4028675, 105991878, 25744050, 136581000, 17902500),
    1: (8878295, 96359047, 4016239, 100375286, 26675274, 131912500, 20433250),
}


@pytest.mark.parametrize("rank", RANKS)
def test_overview_has_the_digits_of_the_file(rank: int) -> None:
    data = build(overview, rank).data
    (step,) = data["steps"]

    keys = ("computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "preparing")
    assert tuple(step[key] for key in keys) == BUDGETS[rank]
    assert (step["step"], step["bubble"]) == ("50", 0)
    assert data["steps_source"] == "step_trace_time.csv"
    assert data["capture"]["world_size"] == 8
    assert data["capture"]["rank"] == rank
    assert data["capture"]["level"] == "Level1"


@pytest.mark.parametrize("rank", RANKS)
def test_types_are_op_statistic_and_so_are_the_computed_ones(rank: int) -> None:
    result = build(kernel, rank)
    expected = raw(rank, "op_statistic.csv")

    for table, tolerance in (
        (result.tables["types"].table, 0),
        (build(kernel, rank, step="50").tables["types"].table, 10),
    ):
        rows = dict(zip(zip(table.text("type").tolist(), table.text("core").tolist()), range(len(table))))
        assert set(rows) == {(row["OP Type"], row["Core Type"]) for row in expected}
        for row in expected:
            place = rows[row["OP Type"], row["Core Type"]]
            assert table.ints("calls")[place] == int(row["Count"])
            assert table.ints("min_ns")[place] == ns(row["Min Time(us)"])
            assert table.ints("max_ns")[place] == ns(row["Max Time(us)"])
            assert abs(table.ints("total_ns")[place] - ns(row["Total Time(us)"])) <= tolerance
            assert abs(table.ints("avg_ns")[place] - ns(row["Avg Time(us)"])) <= (1 if tolerance else 0)
            assert table.floats("ratio")[place] == pytest.approx(float(row["Ratio(%)"]), abs=0.0006)
    assert result.data["types_source"] == "op_statistic.csv"


def test_communication_is_split_exactly_and_bytes_are_not_doubled() -> None:
    result = build(distributed, 1, 0)
    data = result.data
    assert [rank["rank"] for rank in data["ranks"]] == [0, 1]
    for rank, budget in zip(RANKS, data["budgets"]):
        path = real_folder(rank) / "ASCEND_PROFILER_OUTPUT" / "communication.json"
        totals = json.loads(path.read_text())["step50"]["collective"]["Total Op Info"]["Communication Time Info"]
        parts = [budget[key] for key in ("transit", "wait", "synchronization", "idle")]
        assert sum(parts) == budget["elapse"]
        assert budget["elapse"] == pytest.approx(totals["Elapse Time(ms)"] * 1e6, abs=4)
        assert budget["transit"] == pytest.approx(totals["Transit Time(ms)"] * 1e6, abs=4)
        assert budget["wait"] + budget["synchronization"] == pytest.approx(totals["Wait Time(ms)"] * 1e6, abs=4)
        assert budget["idle"] == pytest.approx(totals["Idle Time(ms)"] * 1e6, abs=9)

    transports = result.tables["transports"].table
    assert transports.text("transport").tolist() == ["HCCS", "HCCS"]
    assert [round(value, 3) for value in transports.floats("bandwidth").tolist()] == [15.654, 15.502]
    assert transports.ints("size_bytes").tolist() == [427_596_096, 427_596_096]
    operators = result.tables["ops"].table
    assert operators.ints("size_bytes").tolist() == [427_596_096, 427_596_096]
    assert operators.ints("calls").tolist() == [4, 4]
