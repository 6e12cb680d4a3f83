"""What the views say of a serving capture of 200 iterations: percentiles by phase and requests, the verdict, Diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.analysis.steps.iterations import TimeBetween, time_between
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.schema.serving import ENGINES
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tb_npu_plugin.views import distributed, overview, step_trace, trace_ranks
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.steps import MOST_STEPS
from tb_npu_plugin.views.tables_json import inline_tables
from tests.support.cli import run, shown
from tests.support.span import TestSpan, table_of
from tests.unit.readers.test_iterations import annotation, replay
from tests.unit.readers.test_kineto import Event, kernel, launch

#: Iterations of the trace: every tenth is a prefill.
COUNT = 200


def serving(slower: int = 0) -> list[Event]:
    """Decodes of 8 requests take 1,000 us + their number by a graph of two kernels; prefills of 1 request 3,000 us."""
    out = []
    for number in range(COUNT):
        host, device, is_prefill = number * 100, 1_000_000 + number * 10_000, number % 10 == 0
        out.append(annotation(f"step[{'EXTEND bs=1 toks=64' if is_prefill else 'DECODE bs=8'}]", host, 80))
        call = number + 1
        out.append(launch(call, host + 10) if is_prefill else replay(call, host + 10))
        if is_prefill:
            out.append(kernel(call, device, 3000))
        else:
            out += [kernel(call, device, 400), kernel(call, device + 400, 600 + number + slower)]
    return out


def written(folder: Path, name: str, events: list[Event]) -> Path:
    path = folder / name / "host_1.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path.parent


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("serving")
    return [written(folder, "before", serving()), written(folder, "after", serving(100))]


def columns(table: dict[str, Any], *keys: str) -> list[tuple[object, ...]]:
    return list(zip(*(table["data"][key] for key in keys)))


@pytest.mark.slow
def test_percentiles_are_by_phase_and_requests(captures: list[Path]) -> None:
    decodes = sorted(1_000_000 + 1000 * number for number in range(COUNT) if number % 10)
    answer = shown("step_trace", captures[0])
    assert columns(
        answer["tables"]["groups"], "phase", "requests", "count", "median_ns", "p99_ns", "graph_kernels"
    ) == [
        ("decode", 8, 180, 1_100_000, decodes[178], 360),
        ("prefill", 1, 20, 3_000_000, 3_000_000, 0),
    ]
    assert answer["data"]["averaged"]["count"] == 180
    assert answer["data"]["mean"]["total_ns"] == sum(decodes) // 180
    few = written(captures[0].parent, "few", serving()[: 4 * 10])
    assert set(shown("step_trace", few)["tables"]["groups"]["data"]["p99_ns"]) == {None}


@pytest.mark.parametrize("view", ["overview", "kernel", "distributed"])
def test_views_say_that_their_steps_are_iterations(captures: list[Path], view: str) -> None:
    answer = shown(view, captures[0])
    assert answer["data"]["period"] == "iteration"
    titles = [one["title"] for table in answer["tables"].values() for one in table["columns"] if one["key"] == "step"]
    assert set(titles) <= {"Iteration"} and (titles or view == "overview")


def test_the_verdict_is_of_one_phase_and_speaks_of_iterations(captures: list[Path]) -> None:
    done = run("diagnose", captures[0])
    assert done.stdout.startswith("before: 200 iterations, mean of 180: 1.10 ms\n")
    assert "Decode, 8 requests, graph replay (2 kernels): Healthy" in done.stdout
    assert "mean iteration: 100 % computing" in done.stdout
    assert "step" not in done.stdout.split("checks ran")[0]


def test_the_time_between_iterations_is_a_figure(captures: list[Path]) -> None:
    """It stood in none: an engine without requests looked as busy as a loaded one."""
    times = [3_000_000 if number % 10 == 0 else 1_000_000 + 1000 * number for number in range(COUNT)]
    span = 10_000_000 * (COUNT - 1) + times[-1]
    total = span - sum(times)
    between = shown("step_trace", captures[0])["data"]["between"]
    gaps = sorted(10_000_000 - time for time in times[:-1])
    assert between == {
        "total_ns": total,
        "per_iteration_ns": total // COUNT,
        "gaps": COUNT - 1,
        "median_ns": gaps[COUNT // 2 - 1],
        "longest_ns": gaps[-1],
        "span_ns": span,
    }
    found = json.loads(run("diagnose", captures[0], "--json").stdout)["runs"][0]
    assert "Between iterations: 1.73 s, 87 % of the 1.99 s" in found["verdict"]["message"]
    assert found["ledger"]["between_ns"] == total // COUNT
    assert sum(one["ns"] for one in found["ledger"]["entries"]) == found["ledger"]["window_ns"]


def test_iterations_that_overlap_have_no_time_between() -> None:
    assert time_between([(0, 10), (2, 5), (20, 30), (25, 40)]) == TimeBetween(10, 2, 1, 10, 10, 40)
    assert time_between([(0, 10), (5, 20)]) == TimeBetween(0, 0, 0, 0, 0, 20)
    assert time_between([(0, 10)]) is None


def test_idle_time_inside_a_replay_is_not_the_hosts(tmp_path: Path) -> None:
    """The launch of the graph is long past: no rule about late launches applies, and the sentence says what it is."""
    gaps = [kernel(1, 1000 + 100 * at, 80) for at in range(50)]
    flows = [{"ph": "s", "id": 1, "pid": 9, "tid": 9, "ts": 10, "cat": "ac2g", "name": "ac2g"}]
    flows += [{**flows[0], "ph": "f", "bp": "e", "pid": 0, "tid": 7, "ts": one["ts"]} for one in gaps]
    path = written(tmp_path, "gaps", [annotation("step[DECODE bs=4]", 0, 50), replay(1, 10), *gaps, *flows])
    found = json.loads(run("diagnose", path, "--json").stdout)["runs"][0]
    assert "gaps between the kernels of a graph replay" in found["verdict"]["message"]
    assert [one["rule"] for one in found["findings"]] == []


def test_diff_pairs_iterations_by_phase_and_requests(captures: list[Path]) -> None:
    answer = shown("diff", *captures)["data"]
    assert answer["period"] == "iteration"
    assert [
        (pair["id"], pair["baseline_count"], pair["experimental_ns"] - pair["baseline_ns"]) for pair in answer["steps"]
    ] == [
        ("mean", 180, 100_000),
        ("decode 8", 180, 100_000),
        ("prefill 1", 20, 0),
    ]


def test_diff_of_iterations_that_have_nothing_in_common_is_of_the_whole_captures(captures: list[Path]) -> None:
    others = written(
        captures[0].parent, "others", [annotation("step[VERIFY bs=3]", 0, 50), launch(1, 5), kernel(1, 90, 7)]
    )
    assert [pair["id"] for pair in shown("diff", captures[0], others)["data"]["steps"]] == ["*"]


def test_a_capture_without_steps_is_called_a_capture(tmp_path: Path) -> None:
    events = [launch(1, 5), launch(2, 8), kernel(1, 20, 40), kernel(2, 100, 20, name="other")]
    text = run("diagnose", written(tmp_path, "bare", events)).stdout
    assert text.startswith("bare: capture of 0.10 ms\n")
    assert "neither steps nor iterations were recorded" in text
    assert "step " not in text.split("checks ran")[0].replace("neither steps", "")
    assert shown("kernel", tmp_path / "bare")["data"]["period"] == "capture"
    assert "vLLM, SGLang, ATOM mark iterations by themselves" in text and "ProfilerActivity.CUDA" in text


def test_each_engine_is_named_where_iterations_are_missing() -> None:
    """It named two of the four engines of an NPU, and none on a GPU."""
    kernel = {"step": None, "name": "a", "type": "A", "core": "AI_CORE", "start_ns": 100, "dur_ns": 10}
    texts = {}
    for kind in ("torch_npu", "kineto"):
        step = {"step": None, "start_ns": 100, "stage": 10, "computing": 10}
        tables = {"kernels": table_of("kernels", [kernel]), "step_trace": table_of("step_trace", [step], STEP_START)}
        found = diagnose([TestSpan(tables, format=kind)]).findings
        texts[kind] = " ".join(text for one in found if one.rule == "capture_quality" for text in one.fix)
    for engine in (one for one in ENGINES if one.devices):
        for device, kind in (("NPU", "torch_npu"), ("GPU", "kineto")):
            assert (engine.name in texts[kind]) == (device in engine.devices)


@pytest.mark.slow
def test_ten_thousand_iterations_fit_into_a_bounded_answer() -> None:
    """The percentiles are those of all; the trend keeps the extremes; the tables are paged."""
    count, slowest = 10_000, 2_345
    times = [1_000_000 + at for at in range(count)]
    times[slowest] = 90_000_000
    numbers = [str(at) for at in range(count)]
    rows = zip(numbers, times)
    steps = [{"step": step, "start_ns": 10**8 * int(step), "stage": time, "computing": time} for step, time in rows]
    span = TestSpan(
        {
            "step_trace": table_of("step_trace", steps, STEP_START),
            "engine_iterations": table_of(
                "engine_iterations",
                [
                    {"step": step, "phase": "decode", "requests": 8, "kernels": 1, "graph_kernels": 0}
                    for step in numbers
                ],
            ),
        }
    )
    for view in (overview, step_trace, distributed, trace_ranks):
        result = view.build(ViewInput([span], {}))
        assert len(encode_json({**result.data, "tables": inline_tables("", result)})) < 2_000_000, view
        if view is overview:
            assert (len(result.data["steps"]), result.data["step_count"]) == (MOST_STEPS, count)
        elif view is distributed:
            assert (
                [one["step"] for one in result.data["budgets"]]
                == result.data["steps"]
                == numbers[: distributed.MOST_BUDGETS]
            )
            assert result.data["step_count"] == count
        elif view is step_trace:
            trend = {one["step"]: one["total_ns"] for one in result.data["steps"]}
            assert trend[str(slowest)] == 90_000_000 and trend["0"] == 1_000_000
            assert len(result.tables["steps"].table) == count == result.data["averaged"]["count"]
            (p99,) = result.tables["groups"].table.ints("p99_ns").tolist()
            assert p99 == sorted(times)[count * 99 // 100 - 1]
            chosen = step_trace.build(ViewInput([span], {"step": "777"})).data
            assert chosen["chosen"] == "777" in [one["step"] for one in chosen["steps"]]
    for view in (overview, distributed):
        sent = [
            one if view is distributed else one["step"]
            for one in view.build(ViewInput([span], {"step": "777"})).data["steps"]
        ]
        linked = view.build(ViewInput([span], {"step": "9000"})).data["steps"]
        assert [one if view is distributed else one["step"] for one in linked] == [*sent, "9000"]
    assert len(distributed.build(ViewInput([span], {"all": "1"})).data["budgets"]) == count
