"""Rules about idle time: on small timelines, and on simulated runs with a known fault."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_npu_plugin.analysis.findings import host_idle, input_bound, sync_stream
from tb_npu_plugin.analysis.findings.diagnose import diagnose, with_causes
from tb_npu_plugin.analysis.findings.model import Confidence, Finding, Subject
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tests.oracle.raw import FULL
from tests.oracle.timelines import timeline
from tests.support.idle import COMPILE, GC, LOADER, MALLOC, SYNC, US, Slice, idle_span
from tests.support.mock import rank_folder, written
from tests.support.reading import open_spans
from tests.support.span import TestSpan, found_spans

RULES = [
    host_idle.ALLOCATOR,
    host_idle.GARBAGE_COLLECTION,
    host_idle.HOST_BOUND,
    input_bound.RULE,
    host_idle.COMPILE,
    sync_stream.RULE,
]


def run_of(*spans: TestSpan, step_us: int = 1000) -> RunData:
    """Ranks of a run with one step."""
    for rank, span in enumerate(spans):
        span.capture, span.token = Capture(rank=rank), f"s{rank}"
    run = RunData(spans)
    vars(run).update(step_ns=step_us * US, step_count=1)
    return run


def found(run: RunData) -> dict[str, Finding]:
    return {one.rule: one for rule in RULES if rule.missing(run) is None for one in rule.find(run)}


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ((), {"host_bound": 800}),
        ((GC,), {"garbage_collection": 300, "host_bound": 500}),
        (((*LOADER[:4], 600),), {"input_bound": 550, "host_bound": 250}),
        ((SYNC,), {"sync_stream": 200, "host_bound": 600}),
        ((COMPILE,), {"operator_compile": 300, "host_bound": 500}),
        ((COMPILE, MALLOC), {"allocator": 100, "operator_compile": 200, "host_bound": 500}),
    ],
)
def test_each_cause_has_a_rule(slices: tuple[Slice, ...], expected: dict[str, int]) -> None:
    findings = found(run_of(idle_span(*slices, launch=890)))
    assert {rule: one.cost_ns // US for rule, one in findings.items()} == expected
    assert sum(sum(one.costs.values()) for one in findings.values()) == 800 * US, "no time counts twice"


def test_a_finding_names_the_rank_with_the_highest_cost_and_its_longest_interval() -> None:
    spans = [idle_span(GC, launch=890), idle_span((*GC[:4], 400), launch=890), idle_span(launch=890)]
    one = found(run_of(*spans))["garbage_collection"]
    assert (one.subject.rank, one.cost_ns, one.confidence) == (1, 400 * US, Confidence("confirmed", 2))
    assert one.message == "Rank 1 is idle for 400.00 µs per step (40.0 % of step time) while Python collects garbage."
    base = spans[1].timeline.base_ns
    trace = [(place.span, place.start_ns, place.end_ns) for place in one.evidence if place.view == "trace"]
    assert trace == [("s1", base + 200 * US, base + 600 * US)]
    assert found(run_of(*spans, step_us=50_000)).keys() == {"host_bound"}, "below 1 % of the step"


def test_a_rank_also_loses_what_it_waits_for_another_one_in_averaged_steps() -> None:
    """Rank 1 collects garbage for 200 us, and waits for 150 us of the 300 us of rank 0; in step 2, which is cut, for 250 us."""
    run = run_of(idle_span(GC, launch=890), idle_span((*GC[:4], 200), launch=890))
    waits = [
        SimpleNamespace(span=span, step=step, waiting_for=[SimpleNamespace(rank=0, exposed=time * US)], preparing=0)
        for span, step, time in (("s1", "1", 150), ("s1", "2", 250), ("s0", "1", 250))
    ]
    vars(run).update(lines=run.lines, ledgers=run.ledgers, averaged=frozenset({"1"}), budgets=waits)
    assert found(run)["garbage_collection"].cost_ns == 350 * US


def test_without_launches_or_a_trace_nothing_is_guessed() -> None:
    def missing(run: RunData) -> dict[str, str]:
        return {one.rule: one.option for rule in RULES if (one := rule.missing(run)) is not None}

    launches = dict.fromkeys(
        ("allocator", "host_bound", "operator_compile", "sync_stream"), ""
    )  # each level records them
    assert missing(run_of(idle_span())) == launches
    assert missing(run_of(idle_span(launch=890))) == {"garbage_collection": "gc_detect_threshold=1.0"}
    assert missing(run_of(TestSpan())).keys() == {rule.id for rule in RULES}


def test_idle_time_explains_why_others_wait() -> None:
    late = replace(
        found(run_of(idle_span(launch=890)))["host_bound"],
        rule="straggler",
        subject=Subject(0),
        part="waiting",
        cost_ns=300 * US,
        costs={},
        message=Message("verdict.unknown"),
    )
    run = run_of(idle_span(GC, launch=890), idle_span(launch=890))
    causes = {one.rule: one.causes for one in with_causes([late, *found(run).values()], run)}
    assert causes["straggler"] == ("garbage_collection",)
    alike = run_of(idle_span(GC, launch=890), idle_span(GC, launch=890))
    assert with_causes([late, *found(alike).values()], alike)[0].causes == ()


HEALTHY = Recipe("llama-7b", ranks=2, steps=2, sizes=Sizes(layers=1))
LOADER_FAULT = ("slow-loader:0:60",)
RUNS = {
    "healthy": (HEALTHY, ""),
    "not synced": (replace(HEALTHY, step_sync=False), ""),
    "gc": (replace(HEALTHY, faults=("gc-pause:1:40",), options=Options(gc_threshold=0.0)), "garbage_collection"),
    "loader": (replace(HEALTHY, faults=LOADER_FAULT, steps=3), "input_bound"),
    "loader, not synced": (
        Recipe("gpt2", steps=2, faults=LOADER_FAULT, step_sync=False, sizes=Sizes(layers=2)),
        "input_bound",
    ),
    "compile": (Recipe("resnet50", steps=2, faults=("dynamic-shapes",), sizes=Sizes(layers=2)), "operator_compile"),
    "small kernels": (Recipe("tiny", steps=2, sizes=Sizes(layers=8)), "host_bound"),
}
QUICK = ("not synced", "gc", "loader, not synced", "compile")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else FULL) for name in RUNS])
def test_simulated_faults(name: str) -> None:
    recipe, expected = RUNS[name]
    folder, spans = written(recipe)[0], []
    for rank in range(recipe.ranks):
        (span,) = found_spans(rank_folder(folder, rank))
        span.timeline = timeline(rank_folder(folder, rank))
        spans.append(span)
    diagnosis = diagnose(spans)
    if expected:
        assert diagnosis.findings[0].rule == expected
    else:
        assert {diagnosis.severity(one) for one in diagnosis.findings} <= {"low"}


def test_without_launches_nothing_is_said_of_the_host(tmp_path: Path) -> None:
    """Kernels of 60 us every 100 us; the trace of a GPU without its host."""
    args = {"device": 0, "stream": 7}
    events = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at * 100, "dur": 60, "args": args}
        for at in range(1, 100)
    ]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "host_1.1700000000000.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    verdict = diagnose(open_spans(folder, tmp_path / "cache")).verdict
    assert verdict.kind == "unexplained"
    assert "no launches of kernels" in str(verdict.conclusion) and "had the work" not in str(verdict.conclusion)


def test_idle_time_beyond_that_of_the_step_is_told(tmp_path: Path) -> None:
    """The trace shows late launches; a cell of step_trace_time.csv says that the step computes all the time."""
    folder = written(RUNS["small kernels"][0])[0]
    (file,) = folder.glob("*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv")
    rows = [line.split(",") for line in file.read_text().splitlines()]
    for row in rows[1:]:
        row[rows[0].index("Computing")] = row[rows[0].index("Stage")]
        row[rows[0].index("Free")] = "0"
    file.write_text("\n".join(map(",".join, rows)) + "\n")
    result = diagnose(open_spans(folder, tmp_path))
    assert "host_bound" not in {one.rule for one in result.findings}
    (told,) = [one for one in result.unchecked if one.rule == "host_bound"]
    assert "contradict" in str(told.missing)


def test_a_group_of_kernels_names_the_operator_that_launches_them() -> None:
    folder = rank_folder(written(Recipe("gpt2", faults=("ai-cpu",), sizes=Sizes(layers=2)))[0], 0)
    (span,) = found_spans(folder)
    span.timeline = timeline(folder)
    (found,) = (one for one in diagnose([span]).findings if one.rule == "ai_cpu")
    assert "ms · aten::nonzero" in str(found.fix[0])
