"""Figures of recorded legacy results against the standard library.
Source of the expected figures: docs/facts/mindinsight.md, Rules with thresholds."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.distributed import VIEW as DISTRIBUTED
from tb_npu_plugin.views.overview import VIEW as OVERVIEW
from tb_npu_plugin.views.step_trace import VIEW as STEP_TRACE
from tests.support.fixtures import FIXTURES
from tests.support.real_data import recording
from tests.support.span import TestSpan, found_spans

RANKS = range(4)
STAGES = {1: (0, 1), 2: (2, 3)}


@pytest.fixture(scope="module")
def folder() -> Path:
    found = recording("mindinsight_cluster")
    csv.field_size_limit(1 << 24)
    return found / "profiler"


@pytest.fixture(scope="module")
def spans(folder: Path) -> list[TestSpan]:
    return found_spans(folder.parent)


@pytest.fixture(scope="module")
def findings(spans: list[TestSpan]) -> dict[tuple[str, str, int | None], dict[str, Any]]:
    data = DISTRIBUTED.build(ViewInput(spans, {})).data
    assert data["cluster"]["complete"]
    return {
        (one["basis"], one["rule"], one["stage"] if one["rule"] == "within_stage" else None): one
        for one in data["cluster"]["findings"]
    }


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def percent(finding: dict[str, Any]) -> float:
    return round(100 * finding["share"], 2)


def steps_of(folder: Path, rank: int) -> list[dict[str, str]]:
    return [row for row in rows(folder, f"step_trace_raw_{rank}_detail_time.csv") if row["step_num"] != "-"]


def test_means_of_steps_are_recomputed(folder: Path, spans: list[TestSpan]) -> None:
    for rank in RANKS:
        data = STEP_TRACE.build(ViewInput([spans[rank]], {})).data
        later = steps_of(folder, rank)[1:]
        assert data["averaged"]["count"] == len(later) == 4
        for key, header in (
            ("gap_ns", "iteration_interval"),
            ("fp_bp_ns", "fp_and_bp"),
            ("tail_ns", "tail"),
            ("total_ns", "total"),
        ):
            mean = Fraction(sum(int(row[header]) for row in later), len(later)) * 10
            assert data["mean"][key] == round(mean)
        parts = data["mean"]["gap_ns"] + data["mean"]["fp_bp_ns"] + data["mean"]["tail_ns"]
        assert abs(parts - data["mean"]["total_ns"]) <= 1  # each is rounded to the nanosecond


def test_reduces_are_those_of_the_columns(folder: Path, spans: list[TestSpan]) -> None:
    row = steps_of(folder, 0)[2]
    names = [name for name in row if name.startswith("stream_") and not name.endswith("_point")]
    expected = sorted(
        ((int(row[f"{name}_start_point"]) - int(row["start_point"])) * 10, int(row[name]) * 10)
        for name in names
        if int(row[f"{name}_start_point"])
    )
    data = STEP_TRACE.build(ViewInput([spans[0]], {"step": "3"})).data
    found = sorted((one["offset_ns"], one["dur_ns"]) for one in data["reduces"])
    assert len(found) == len(expected)
    assert [offset for offset, _ in found] == [offset for offset, _ in expected]
    assert all(abs(ours - theirs) <= 10 for (_, ours), (_, theirs) in zip(found, expected))  # it rounds a count


def test_the_gap_of_the_recorded_averages(findings: dict[Any, dict[str, Any]]) -> None:
    """The files hold five steps and the average of more: MindInsight's figures come from that average."""
    found = findings["recorded", "step_interval", None]
    assert (found["rank"], percent(found), found["fires"]) == (2, 22.23, True)
    assert found["value"] == 2_431_800


def test_the_gap_of_the_steps_that_are_there(folder: Path, findings: dict[Any, dict[str, Any]]) -> None:
    means = [fmean(int(row["iteration_interval"]) for row in steps_of(folder, rank)[1:]) for rank in RANKS]
    worst = max(RANKS, key=lambda rank: means[rank])
    found = findings["mean", "step_interval", None]
    assert found["rank"] == worst == 3
    assert found["share"] == pytest.approx(means[worst] / fmean(means) - 1, rel=1e-6)
    # Compared with its own stage it does not stand out; two ranks are too few to tell.
    assert (found["peers"], found["outlier"]) == (2, None)
    assert found["median"] == pytest.approx(10 * (means[2] + means[3]) / 2, rel=1e-6)


def cluster_means(folder: Path, recorded: bool) -> list[dict[str, float]]:
    out = []
    for rank in RANKS:
        [name] = [path.name for path in folder.glob(f"ascend_cluster_analyse_*_{rank}.csv")]
        every = rows(folder, name)
        chosen = every[-1:] if recorded else every[1:-1]
        out.append({key: fmean(float(row[key]) for row in chosen) for key in every[0]})
    return out


@pytest.mark.parametrize("basis", ["mean", "recorded"])
def test_shares_of_communication(folder: Path, findings: dict[Any, dict[str, Any]], basis: str) -> None:
    means = cluster_means(folder, basis == "recorded")

    def whole(ranks: Any) -> float:
        return sum(means[rank]["computation_time"] + means[rank]["communication_alone_time"] for rank in ranks)

    between = sum(mean["receive_alone_time"] for mean in means) / whole(RANKS)
    assert findings[basis, "between_stages", None]["share"] == pytest.approx(between, rel=1e-6)
    for stage, ranks in STAGES.items():
        within = sum(means[rank]["collective_communication_alone_time"] for rank in ranks) / whole(ranks)
        assert findings[basis, "within_stage", stage]["share"] == pytest.approx(within, rel=1e-6)
    if basis == "recorded":  # the published figures
        shares = [
            findings[basis, rule, stage]
            for rule, stage in (("between_stages", None), ("within_stage", 1), ("within_stage", 2))
        ]
        assert [percent(finding) for finding in shares] == [25.82, 60.30, 23.44]


def test_work_of_ranks_and_stages(folder: Path, findings: dict[Any, dict[str, Any]]) -> None:
    work = [json.loads((folder / f"flops_summary_{rank}.json").read_text()) for rank in RANKS]
    speeds = [one["FLOPS"] for one in work]
    found = findings["mean", "flops_per_second", None]
    assert not found["fires"]
    assert (percent(found), found["rank"]) == (5.32, speeds.index(min(speeds)))
    stages = findings["mean", "stage_flops", None]
    assert (percent(stages), stages["stage"]) == (50.94, 2)


def test_the_slow_link_by_recomputed_bandwidth(folder: Path, findings: dict[Any, dict[str, Any]]) -> None:
    speeds = {}
    for rank in RANKS:
        moved: dict[str, list[float]] = {}
        for row in rows(folder, f"hccl_raw_{rank}.csv"):
            if row["step_num"] != "-":
                for link, transports in json.loads(row["link_info"]).items():
                    time, size, *_ = transports["SDMA"]
                    sums = moved.setdefault(link, [0.0, 0.0])
                    sums[0] += time
                    sums[1] += size
        speeds |= {(rank, link): size / time / 1000 for link, (time, size) in moved.items() if link[0] != link[2]}
    found = findings["mean", "link", None]
    assert (found["rank"], found["src"], found["dst"], found["transport"]) == (1, 0, 1, "SDMA")
    assert found["value"] == pytest.approx(speeds[1, "0-1"], rel=1e-6)
    assert found["mean"] == pytest.approx(fmean(speeds.values()), rel=1e-6)
    assert (round(found["value"], 2), round(found["mean"], 2), percent(found)) == (5.06, 15.68, 67.77)
    assert found["outlier"] is True


def test_overview_says_the_recorded_step_time_where_kernels_know_no_step() -> None:
    """Kernels of one step, 5.21 ms of them, are no step of a run whose steps take 72 ms."""
    (span,) = found_spans(FIXTURES / "results" / "mindinsight_single")
    assert span.rows("kernels")
    data = OVERVIEW.build(ViewInput([span], {})).data
    assert data["steps"] == [] and not data["steps_computed"]
    assert data["course"] == STEP_TRACE.build(ViewInput([span], {})).data["mean"]
    assert round(data["course"]["total_ns"] / 1e6, 2) == 72.32
