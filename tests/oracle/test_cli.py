"""`tb-npu show VIEW PATH --json`, through discovery, workers and cache: the same figures as the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb_npu_plugin.cli import cli
from tests.oracle.figures import REAL_BUDGETS, us, whole
from tests.oracle.raw import REAL_RUN, Raw, ns, raw
from tests.support.fixtures import FIXTURES

RUNS = [
    *(pytest.param(FIXTURES / "results" / name, id=name) for name in ("two_ranks", "new_spellings", "old_spellings")),
    pytest.param(REAL_RUN, id="real"),
]


def _show(view: str, *arguments: object) -> Any:
    result = CliRunner().invoke(cli, ["show", view, *map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _ranks(run: Path) -> list[Raw]:
    raw(run)  # skips where the real data are absent
    return [Raw(folder) for folder in sorted(run.glob("*_ascend_pt"))]


def _column(shown: Any, table: str, key: str) -> list[Any]:
    return list(shown["tables"][table]["data"][key])


@pytest.mark.parametrize("run", RUNS)
def test_overview_of_each_worker(run: Path) -> None:
    for rank, files in enumerate(_ranks(run)):
        shown = _show("overview", run, "--worker", rank)
        expected = [(row["Step"], us(row["Computing"]), us(row["Free"])) for row in files.csv("step_trace_time.csv")]
        assert [(s["step"], s["computing"], s["free"]) for s in shown["data"]["steps"]] == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_overview_prints_the_published_digits(rank: int) -> None:
    raw(REAL_RUN)
    (step,) = _show("overview", REAL_RUN, "--worker", rank)["data"]["steps"]
    assert {key: step[key] for key in REAL_BUDGETS[rank]} == {k: us(v) for k, v in REAL_BUDGETS[rank].items()}


@pytest.mark.parametrize("run", RUNS)
def test_kernel_rows_are_whole_and_exact(run: Path) -> None:
    files = _ranks(run)[0]
    shown = _show("kernel", run)
    starts = [start + int(shown["base_ns"]) for start in _column(shown, "all", "start_ns")]
    assert starts == [ns(row["Start Time(us)"]) for row in files.kernels]
    assert _column(shown, "all", "dur_ns") == [us(row["Duration(us)"]) for row in files.kernels]


@pytest.mark.parametrize("run", RUNS)
def test_operator_sums(run: Path) -> None:
    rows = _ranks(run)[0].csv("operator_details.csv")
    shown = _show("operator", run)
    assert shown["data"]["device_self_ns"] == sum(us(row["Device Self Duration(us)"]) or 0 for row in rows)
    assert sum(_column(shown, "by_name", "calls")) == len(rows)


@pytest.mark.parametrize("run", RUNS)
def test_memory_peaks(run: Path) -> None:
    rows = _ranks(run)[0].csv("memory_record.csv")
    peaks = {peak["component"]: peak["allocated_bytes"] for peak in _show("memory", run)["data"]["peaks"]}
    for component in ("PTA", "GE", "PTA+GE"):
        values = [whole(row["Total Allocated(MB)"], 1 << 20) or 0 for row in rows if row["Component"] == component]
        assert peaks[component] == max(values)


@pytest.mark.parametrize("run", RUNS)
def test_distributed_has_both_ranks(run: Path) -> None:
    ranks = _ranks(run)
    shown = _show("distributed", run)["data"]
    expected = [
        (rank, us(row["Communication(Not Overlapped)"]))
        for rank, files in enumerate(ranks)
        for row in files.csv("step_trace_time.csv")
    ]
    assert [(b["rank"], b["communication_not_overlapped"]) for b in shown["budgets"]] == expected


@pytest.mark.parametrize("run", RUNS)
def test_diff_compares_rank_0_with_rank_1(run: Path) -> None:
    first, second = _ranks(run)
    rows = [files.csv("step_trace_time.csv") for files in (first, second)]
    sums = [
        sum(us(row["Duration(us)"]) or 0 for row in files.kernels) / len(own)
        for files, own in zip((first, second), rows)
    ]
    free = [sum(us(row["Free"]) or 0 for row in own) / len(own) for own in rows]
    for shown in (_show("diff", run), _show("diff", first.folder, second.folder)):
        idle = shown["data"]["steps"][0]["classes"][-1]
        assert [idle["baseline_ns"], idle["experimental_ns"]] == pytest.approx(free, abs=1)
        differences = _column(shown, "kernels", "difference_ns")
        assert sum(differences) == pytest.approx(sums[1] - sums[0], abs=len(differences)) != 0


def test_two_cycles_of_one_rank_are_two_spans() -> None:
    run = FIXTURES / "results" / "several_cycles"
    steps = [_show("overview", run, "--span", number)["data"]["steps"][0]["step"] for number in (1, 2)]
    assert sorted(steps) == ["5", "8"]
