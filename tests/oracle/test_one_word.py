"""Views that use the same word of the glossary for a rank and a step show the same figure.
Diff and Step trace against Overview: tests/property/test_parts_are_whole.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import mul
from typing import Any, Union

import pytest

from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS, find_view
from tests.oracle.raw import FULL, REAL_RUN, raw
from tests.oracle.shown import rows_of
from tests.support.fixtures import FIXTURES
from tests.support.span import TestSpan, found_spans

SHOWN = ("overview", "kernel", "operator", "distributed", "diff", "step_trace")
#: Subject and word: ("step 5", "computing").
Label = tuple[str, str]
Figure = tuple[str, Label, Union[int, float]]
#: Files round the sums of a step to 0.25 us, and the parts to the ns.
ROUNDING_NS = 500

#: Words of the fields of a step, in each contract that has it.
STEP = {
    "computing": "computing",
    "communication_not_overlapped": "exposed communication",
    "communication": "communication",
    "overlapped": "overlapped",
    "copying": "copying",
    "free": "free",
    "bubble": "bubble",
    "preparing": "preparing",
    "stage": "stage",
}
#: Words of the columns of tables.
KERNELS = {"calls": "calls", "total_ns": "total", "avg_ns": "avg", "min_ns": "min", "max_ns": "max"}
OPERATORS = {
    "calls": "calls",
    "device_self_ns": "device self",
    "device_total_ns": "device total",
    "host_self_ns": "host self",
    "host_total_ns": "host total",
}


def _steps(view: str, rows: list[dict[str, Any]]) -> Iterator[Figure]:
    for row in rows:
        subject = f"step {row['step']} device {row['device_id']}"
        for field, word in STEP.items():
            if row.get(field) is not None:
                yield view, (subject, word), row[field]
        parts = [row["computing"], row["communication_not_overlapped"], row.get("copying") or 0, row["free"]]
        if None not in parts:
            yield view, (subject, "step time"), sum(parts)


def _mean_steps(built: dict[str, Any], chosen: TestSpan) -> Iterator[Figure]:
    """The mean step of each view that has one."""
    course = built["overview"].data["course"]
    if course is not None:
        yield "overview", ("mean", "step time"), course["total_ns"]
        yield "overview", ("mean", "number of steps"), built["overview"].data["course_steps"]
    if "step_trace" in built and built["step_trace"].data["steps"]:
        devices = built["step_trace"].data["devices"]
        asked = [{"device": str(device)} for device in devices] if len(devices) > 1 else [{}]
        means = [find_view("step_trace").build(ViewInput([chosen], one)).data for one in asked]
        counts = [len(data["averaged"]) for data in means]
        times = [data["mean"]["total_ns"] for data in means]
        yield "step_trace", ("mean", "step time"), sum(map(mul, times, counts)) / sum(counts)
        yield "step_trace", ("mean", "number of steps"), len({step for data in means for step in data["averaged"]})
    entry = next(iter(built["diff"].data["steps"]), None) if "diff" in built else None
    if entry is not None and entry["baseline_ns"] is not None:
        yield "diff", ("mean", "step time"), entry["baseline_ns"]
        yield "diff", ("mean", "number of steps"), entry["baseline_count"]


def _table(view: str, rows: list[dict[str, Any]], keys: tuple[str, ...], words: dict[str, str]) -> Iterator[Figure]:
    for row in rows:
        subject = " ".join(str(row[key]) for key in keys)
        for column, word in words.items():
            if row.get(column) is not None:
                yield view, (subject, word), row[column]
        share = row.get("share", row["ratio"] / 100 if row.get("ratio") is not None else None)
        if share is not None:
            yield view, (subject, "share of computing"), share


def _figures(spans: list[TestSpan], chosen: TestSpan) -> Iterator[Figure]:
    built: dict[str, Any] = {}
    for view in VIEWS:
        given = {"span": [chosen], "run": spans, "diff": [chosen, chosen]}[view.scope]
        if view.id in SHOWN and is_available(view, facts_of_span(chosen)):
            built[view.id] = view.build(ViewInput(given, {}))
    tables = {(view, name): rows_of(table.table) for view, made in built.items() for name, table in made.tables.items()}
    steps = built["overview"].data["steps"]
    devices: dict[str | None, list[Any]] = defaultdict(list)
    for row in steps:
        devices[row["step"]].append(row["device_id"])
    yield from _steps("overview", steps)
    budgets = built["distributed"].data["budgets"] if "distributed" in built else []
    own = [row for row in budgets if row["span"] == chosen.token]
    for row in own:
        row["device_id"] = row["device_id"] if len(devices[row["step"]]) > 1 else (devices[row["step"]] or [None])[0]
    yield from _steps("distributed", own)
    yield from _mean_steps(built, chosen)
    top = tables.get(("overview", "kernels"), [])
    by = "type" if top and "type" in top[0] else "name"
    yield from _table("overview", top, (by, "core"), KERNELS)
    yield from _table(
        "kernel", tables.get(("kernel", "types" if by == "type" else "statistic"), []), (by, "core"), KERNELS
    )
    yield from _table("overview", tables.get(("overview", "operators"), []), ("name",), OPERATORS)
    yield from _table("operator", tables.get(("operator", "by_name"), []), ("name",), OPERATORS)


RUNS = {
    "two_ranks": FIXTURES / "results" / "two_ranks",
    "two_steps": FIXTURES / "results" / "two_steps",
    "db_only": FIXTURES / "results" / "db_only",
    "mindspore_db": FIXTURES / "results" / "mindspore_db",
    "gpu": FIXTURES / "results" / "kineto_gpu",
    "gpu_host_ahead": FIXTURES / "results" / "kineto_ahead",
    "mindinsight": FIXTURES / "results" / "mindinsight_single",
    "demo": FIXTURES / "demo" / "transformer_910b",
    "real_text": REAL_RUN,
    "real_db": REAL_RUN.parent / "ascend_pt_db_level1",
}


QUICK = ("two_ranks", "two_steps", "mindspore_db", "gpu", "mindinsight")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else FULL) for name in RUNS])
def test_one_word_is_one_figure(name: str) -> None:
    if name.startswith("real"):
        raw(REAL_RUN)  # skips where the real data are absent
    spans = [span for span in found_spans(RUNS[name]) if span.format != "cluster"]
    for chosen in spans:
        figures: dict[Label, dict[str, Union[int, float]]] = defaultdict(dict)
        for view, label, value in _figures(spans, chosen):
            figures[label][view] = value
        for label, by_view in figures.items():
            slack: float = ROUNDING_NS if label[0].startswith("step ") or label[1] == "total" else 1
            if label[1] == "share of computing":
                slack = 1e-5  # a file gives it in percent of three digits
            assert max(by_view.values()) - min(by_view.values()) <= slack, (label, by_view)
        compared = {word for (_, word), by_view in figures.items() if len(by_view) > 1}
        if chosen.tables.get("kernels") is not None and name != "mindinsight":
            words = {"computing", "exposed communication", "free", "step time", "total", "number of steps"}
            assert words <= compared | ({"number of steps"} if name == "db_only" else set())
        if chosen.tables.get("operators") is not None:
            assert {"calls", "host self"} <= compared or "mindspore" in name
