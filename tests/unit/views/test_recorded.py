"""Tables that are shown as the profiler recorded them; figures here with the standard library alone."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

from tb_npu_plugin.views import kernel, operator
from tb_npu_plugin.views.base import ViewInput, ViewResult
from tests.support.span import TestSpan, found_spans, span_of

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"


def rows(span: Path, pattern: str) -> list[dict[str, str]]:
    (path,) = span.rglob(pattern)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def built(view: str, span: TestSpan) -> ViewResult:
    return {"kernel": kernel, "operator": operator}[view].build(ViewInput([span], {}))


def test_operator_shows_the_calls_of_cann() -> None:
    (folder,) = (RESULTS / "level1").glob("*_ascend_pt")
    table = built("operator", span_of(folder)).tables["api_statistic"].table
    wanted = [
        (row["API Name"], int(row["Count"]), int(Decimal(row["Time(us)"]) * 1000))
        for row in rows(folder, "api_statistic.csv")
    ]
    assert (
        list(zip(table.text("name").tolist(), table.ints("calls").tolist(), table.ints("total_ns").tolist())) == wanted
    )


def test_kernel_shows_fused_operators() -> None:
    (span,) = found_spans(RESULTS / "msprof_pieces")
    table = built("kernel", span).tables["fusion_op"].table
    found = rows(RESULTS / "msprof_pieces", "fusion_op_*.csv")
    assert table.text("original").tolist() == [row["Original Ops"] for row in found]
    assert table.ints("total_bytes").tolist() == [int(Decimal(row["Memory Total(KB)"]) * 1024) for row in found]
    assert (table.ints("weight_bytes") < 0).tolist() == [row["Memory Weight(KB)"] == "N/A" for row in found]


def test_kernel_shows_communication_by_type() -> None:
    (span,) = found_spans(RESULTS / "msprof_pieces")
    table = built("kernel", span).tables["communication_statistic"].table
    found = rows(RESULTS / "msprof_pieces", "communication_statistic_*.csv")
    assert table.text("type").tolist() == [row["OP Type"] for row in found]
    assert table.ints("avg_ns").tolist() == [int(Decimal(row["Avg Time(us)"]) * 1000) for row in found]


def test_calls_are_shown_where_no_operators_are() -> None:
    (span,) = found_spans(RESULTS / "msprof")
    result = built("operator", span)
    assert set(result.tables) == {"api_statistic"} and result.data["calls"] == 0
