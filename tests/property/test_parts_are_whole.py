"""Parts of a time sum to it, no moment counts in two parts or two steps, and nothing is longer than the capture: to the ns
where times exist, within the rounding of files elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.analysis.steps import step_trace as courses
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.schema.formats import KINETO, MINDSPORE
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tb_npu_plugin.views import data_pipeline, diff, distributed, overview, step_trace
from tb_npu_plugin.views.base import View, ViewInput
from tests.support.fixtures import FIXTURES
from tests.support.mock import written
from tests.support.span import TestSpan, found_spans, table_of, tables_of_trace

#: What a file may be wrong by for each figure: torch_npu writes Stage and Preparing in quarters of a microsecond.
ROUNDING = 500
TINY = {"sizes": Sizes(layers=1), "options": Options(shapes=False, memory=False, stack=False)}
SIMULATED = {
    "not_synced": Recipe("tiny", 2, steps=3, only=(1,), step_sync=False, **TINY),
    "pipeline": Recipe("tiny", 4, tp=1, pp=2, steps=2, only=(0, 3), **{**TINY, "sizes": Sizes(layers=2)}),
    "mindspore": Recipe("tiny", 2, steps=3, only=(1,), framework="mindspore", **TINY),
    "slow_loader_not_synced": Recipe("tiny", steps=3, faults=("slow-loader:0:5",), step_sync=False, **TINY),
    "host_ahead": Recipe("llama-7b", 2, steps=3, only=(0,), step_sync=False, **TINY),
    "mindspore_not_synced": Recipe("tiny", steps=3, framework="mindspore", step_sync=False, **TINY),
}
RESULTS = sorted(
    path.name
    for path in (FIXTURES / "results").iterdir()
    if path.is_dir() and not path.name.startswith(("metrics_", "kineto"))
)
GPU = {
    f"{path.parent.name}/{path.name[:10]}": path for path in (FIXTURES / "results").glob("kineto_*/*") if path.is_file()
}
#: Simulations that only `make test-all` waits for.
SLOW = ("slow_loader_not_synced", "host_ahead", "mindspore_not_synced")


@cache
def spans_of(name: str) -> tuple[TestSpan, ...]:
    if name in GPU:
        return (TestSpan(tables_of_trace(GPU[name], ProblemLog()), format=KINETO.id, files=[GPU[name].name]),)
    return tuple(found_spans(written(SIMULATED[name])[0] if name in SIMULATED else FIXTURES / "results" / name))


#: Figures that Overview and Distributed share.
SHARED = ("computing", "communication_not_overlapped", "overlapped", "free", "bubble", "preparing", "stage", "copying")
SHARED += ("exposed_waiting", "parts")
NAMES = [*RESULTS, *GPU, *SIMULATED]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.full if name in SLOW else ()) for name in NAMES])
def spans(request: pytest.FixtureRequest) -> tuple[TestSpan, ...]:
    return spans_of(request.param)


def shown(view: View, *spans: TestSpan, ranks: tuple[TestSpan, ...] = (), **params: str) -> Any:
    values = {param.name: param.default for param in view.params} | params
    return view.build(ViewInput(list(spans), values, [ranks or spans] * len(spans))).data


def whole_of(step: Any) -> int | None:
    parts = (step["computing"], step["communication_not_overlapped"], step["free"])
    return None if None in parts else sum(parts) + (step["copying"] or 0)


def check_step(step: Any, rounding: int, span: TestSpan) -> None:
    """A row of Overview or Distributed. Stage is the time of the step without the recorded bubble; that of MindSpore is of its own
    making."""
    own = [one for one in steps_and_source(span)[0] if step["device_id"] in (None, one.device_id)]
    recorded_bubble = next((one.bubble or 0 for one in own if one.step == step["step"]), 0)
    whole = whole_of(step)
    if whole is not None and step["stage"] is not None and span.format != MINDSPORE.id:
        assert abs(whole - step["stage"] - recorded_bubble) <= rounding
    if whole is not None:
        parts = step["parts"]
        assert sum(value or 0 for key, value in parts.items() if key != "preparing") == whole
        assert (parts["waiting"] or 0) == (step["exposed_waiting"] or 0), "one figure"
        assert (parts["bubble"] or 0) <= (step["bubble"] or 0), "no bubble counts twice"
    if None not in (step["overlapped"], step["computing"]):
        assert 0 <= step["overlapped"] <= step["computing"] + rounding
    if None not in (step["preparing"], step["exposed_preparing"]):
        assert 0 <= step["exposed_preparing"] <= step["preparing"] or step["exposed_preparing"] == step["preparing"]


def test_overview(spans: tuple[TestSpan, ...]) -> None:
    for span in spans:
        data = shown(overview.VIEW, span)
        rounding = 0 if data["steps_computed"] else ROUNDING
        for step in data["steps"]:
            check_step(step, rounding, span)
            if None not in (step["communication"], step["overlapped"]):
                assert step["communication"] == step["communication_not_overlapped"] + step["overlapped"]
        check_no_moment_twice(span, data["steps"], rounding)


def check_no_moment_twice(span: TestSpan, steps: list[Any], rounding: int) -> None:
    """All that the bars of a device show fits between its first mark and its last task."""
    kernels = span.table("kernels")
    if kernels is None or not len(kernels):
        return
    ends = kernels.ints("start_ns") + kernels.ints("dur_ns")
    for device in {step["device_id"] for step in steps}:
        own = [step for step in steps if step["device_id"] == device]
        if any(whole_of(step) is None for step in own):
            continue
        extents = analysis.extents_of(kernels)
        first = min(
            (start for (one, _), (start, _) in extents.items() if device in (None, one) or one is None), default=None
        )
        if first is None:
            continue
        before = max((step["preparing"] or 0 for step in own if step["step"] == own[0]["step"]), default=0)
        counted = sum((whole_of(step) or 0) + (step["exposed_preparing"] or 0) for step in own)
        begun, ended = span.capture.start_ns, span.capture.end_ns
        if span.capture.simulated and begun is not None and ended is not None:
            assert counted <= ended - begun + rounding * len(own)  # the profiler stops after the device
        assert counted <= int(ends.max()) - first + before + rounding * len(own)


def test_step_trace(spans: tuple[TestSpan, ...]) -> None:
    for span in spans:
        data = shown(step_trace.VIEW, span)
        budgets = {(step["device_id"], step["step"]): step for step in shown(overview.VIEW, span)["steps"]}
        for device in data["devices"] or [None]:
            view = shown(step_trace.VIEW, span, device="" if data["device"] is None else str(device))
            check_course(view)
            for step in view["steps"]:
                own = [one for (of, name), one in budgets.items() if name == step["step"] and device in (None, of)]
                if len(own) == 1 and view["method"] != "points":  # the same word, the same figure
                    assert step["total_ns"] in (None, whole_of(own[0]))
                    assert step["reduce_ns"] in (None, own[0]["communication"])


def check_course(view: Any) -> None:
    reached = None
    for step in view["steps"]:
        parts = [step[key] for key in ("gap_ns", "fp_bp_ns", "tail_ns")]
        assert all(part is None or part >= 0 for part in parts)
        if step["total_ns"] is not None:
            total = sum(part or 0 for part in parts)
            assert total == step["total_ns"] if None not in parts else total <= step["total_ns"]
        if view["method"] == "kernels":
            assert reached is None or step["start_ns"] >= reached
            reached = step["start_ns"] + step["total_ns"]


def test_distributed(spans: tuple[TestSpan, ...]) -> None:
    if not spans:
        return
    computed = all(shown(overview.VIEW, span)["steps_computed"] for span in spans)
    by_place = {(span.token, span.capture.rank): span for span in spans}
    steps = {
        (span.token, span.capture.rank, step["step"], device): step
        for span in spans
        for step in shown(overview.VIEW, span, ranks=spans)["steps"]
        for device in {
            step["device_id"],
            *([] if len({one.device_id for one in steps_and_source(span)[0]}) > 1 else [None]),
        }
    }
    for budget in shown(distributed.VIEW, *spans)["budgets"]:
        step = steps.get((budget["span"], budget["rank"], budget["step"], budget["device_id"]))
        if step is not None:  # the same words, the same figures
            assert {key: budget[key] for key in SHARED} == {key: step[key] for key in SHARED}
        check_step(budget, 0 if computed else ROUNDING, by_place[budget["span"], budget["rank"]])
        parts = [budget[key] for key in ("transit", "wait", "synchronization", "idle")]
        if budget["elapse"] is not None and None not in parts and not budget["incomplete"]:
            assert sum(parts) == budget["elapse"]


def test_data_pipeline(spans: tuple[TestSpan, ...]) -> None:
    for span in spans:
        loader = shown(data_pipeline.VIEW, span)["loader"]
        if loader is not None and loader["steps_ns"] is not None:
            assert loader["longest_ns"] <= loader["total_ns"] <= loader["steps_ns"]


def test_diff(spans: tuple[TestSpan, ...]) -> None:
    """Classes sum to the time of the step on both sides, which is that of the Overview; what computes has a class."""
    for before, after in zip(spans, [*spans[1:], *spans[:1]]):
        budgets: dict[str, dict[str | None, list[int | None]]] = {}
        for side, span in (("baseline", before), ("experimental", after)):
            budgets[side] = defaultdict(list)
            for step in shown(overview.VIEW, span)["steps"]:
                budgets[side][step["step"]].append(whole_of(step))
        computed = shown(overview.VIEW, before)["steps_computed"] and shown(overview.VIEW, after)["steps_computed"]
        for entry in shown(diff.VIEW, before, after)["steps"]:
            has_kernels = before.table("kernels") is not None and after.table("kernels") is not None
            assert not (computed and has_kernels) or "computing" not in [one["id"] for one in entry["classes"]]
            for side, own in budgets.items():
                whole, name = entry[f"{side}_ns"], entry[f"{side}_step"]
                if whole is not None and None not in (entry["baseline_ns"], entry["experimental_ns"]):
                    assert sum(one[f"{side}_ns"] for one in entry["classes"]) == whole
                if name is not None and len(own[name]) == 1:
                    assert own[name] == [whole]
            if None not in (entry["baseline_ns"], entry["experimental_ns"]):
                change = entry["experimental_ns"] - entry["baseline_ns"]
                assert sum(one["difference_ns"] for one in entry["classes"]) == change


# -- random tables ----------------------------------------------------------------------------------
CORES = ("AI_CORE", "HCCL", "MEMCPY", "MEMSET")
KERNELS = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(0, 25),
        st.sampled_from(CORES),
        st.sampled_from((None, "1", "2", "3")),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=14,
)


def rows_of(found: list[tuple[int, int, str, str | None, int]]) -> list[dict[str, Any]]:
    keys = ("start_ns", "dur_ns", "core", "step", "device_id")
    return [{**dict(zip(keys, row)), "name": "k", "stream_id": 1} for row in found]


def moments(rows: list[dict[str, Any]], *cores: str) -> set[int]:
    return {
        at for row in rows if row["core"] in cores for at in range(row["start_ns"], row["start_ns"] + row["dur_ns"])
    }


def by_device(found: list[tuple[int, int, str, str | None, int]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    rows = rows_of(found)
    for device in {row["device_id"] for row in rows}:
        yield device, [row for row in rows if row["device_id"] == device]


@given(KERNELS)
def test_steps_of_random_kernels(found: list[tuple[int, int, str, str | None, int]]) -> None:
    """Each moment between the first start and the last end belongs to one part of one step."""
    steps = analysis.from_kernels(table_of("kernels", rows_of(found)))
    for device, rows in by_device(found):
        reached = None
        for step in (one for one in steps if one.device_id == device):
            assert step.start_ns is not None and step.stage is not None
            assert reached in (None, step.start_ns)
            reached = step.start_ns + step.stage
            inside = set(range(step.start_ns, reached))
            computing, communication = moments(rows, "AI_CORE") & inside, moments(rows, "HCCL") & inside
            copying = (moments(rows, "MEMCPY", "MEMSET") & inside) - computing - communication
            assert step.computing == len(computing) and step.communication == len(communication)
            assert step.communication_not_overlapped == len(communication - computing)
            assert step.overlapped == len(communication & computing)
            assert (step.copying or 0) == len(copying)
            assert step.free == len(inside - computing - communication - copying)
            assert step.total_ns == step.stage


@given(KERNELS, st.dictionaries(st.sampled_from("123"), st.tuples(st.integers(0, 80), st.integers(0, 40))))
def test_courses_of_random_kernels(
    found: list[tuple[int, int, str, str | None, int]], recorded: dict[str, tuple[int, int]]
) -> None:
    """Alone, and with figures of a file that need not agree with the kernels."""
    for _, rows in by_device(found):
        kernels = table_of("kernels", rows)
        figures = [{"step": name, "stage": stage, "preparing": before} for name, (stage, before) in recorded.items()]
        for table in (None, table_of("step_trace", figures) if figures else None):
            trace = courses.from_kernels(kernels, table, table is not None)
            check_course(
                {
                    "method": "kernels",
                    "steps": [
                        {key: getattr(step, key) for key in ("start_ns", "total_ns", "gap_ns", "fp_bp_ns", "tail_ns")}
                        for step in trace.steps
                    ],
                }
            )


@given(
    st.lists(st.tuples(st.integers(1, 50_000), st.integers(0, 20_000), st.integers(0, 40_000)), min_size=1, max_size=6)
)
def test_exposed_preparing_of_random_steps(found: list[tuple[int, int, int]]) -> None:
    """With the steps, it covers no moment twice."""
    rows = [
        {"step": str(at), "start_ns": start, "stage": stage, "preparing": before}
        for at, (start, stage, before) in enumerate(found)
    ]
    steps = analysis.from_step_trace(table_of("step_trace", rows, STEP_START))
    order = sorted(steps, key=lambda step: (step.start_ns or 0, len(step.step or ""), step.step or ""))
    reached = None
    for step in order:
        assert step.start_ns is not None and step.stage is not None and step.exposed_preparing is not None
        assert step.exposed_preparing <= (step.preparing or 0)
        if reached is not None and step.exposed_preparing:
            assert step.start_ns - step.exposed_preparing >= reached
        reached = max(reached or 0, step.start_ns + step.stage)
