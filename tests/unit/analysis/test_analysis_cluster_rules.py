"""What stands out among ranks, by MindInsight's rules and by better ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding, LinkFigures, RankFigures, findings
from tb_npu_plugin.analysis.steps.trajectory import course, stage_of
from tests.support.span import table_of

RANK = RankFigures(0, 1, 1000, 800, 200, 50, 150, 100.0, 10.0)


def by_rule(found: list[ClusterFinding]) -> dict[str, ClusterFinding]:
    return {one.rule: one for one in found}


def test_one_rank_that_starts_late_stands_out_of_its_stage() -> None:
    ranks = [replace(RANK, rank=at, interval_ns=value) for at, value in enumerate((1000, 1010, 990, 2000))]
    found = by_rule(findings("data", ranks, []))["step_interval"]
    assert (found.rank, found.fires, found.outlier, found.gain_ns) == (3, True, True, 995)


def test_stages_that_differ_by_design_are_no_outliers() -> None:
    """MindInsight's rule fires; compared with its own stage no rank is late."""
    values = (1000, 1010, 990, 3000, 3010, 2990)
    ranks = [replace(RANK, rank=at, stage=1 + at // 3, interval_ns=value) for at, value in enumerate(values)]
    found = by_rule(findings("pipeline", ranks, []))["step_interval"]
    assert (found.fires, found.outlier, found.peers, found.median) == (True, False, 3, 3000)


def test_two_ranks_are_too_few_to_tell() -> None:
    ranks = [replace(RANK, rank=at, interval_ns=value) for at, value in enumerate((1000, 9000))]
    assert by_rule(findings("data", ranks, []))["step_interval"].outlier is None


def test_unknown_ranks_take_no_part() -> None:
    ranks = [replace(RANK, rank=at, interval_ns=value) for at, value in enumerate((1000, None, 1100))]
    found = by_rule(findings("data", ranks, []))["step_interval"]
    assert (found.peers, found.mean) == (2, 1050)
    assert "step_interval" not in by_rule(findings("data", [replace(RANK, interval_ns=None)] * 3, []))


def test_slow_floating_point_counts_downwards() -> None:
    ranks = [replace(RANK, rank=at, flops_rate=value) for at, value in enumerate((10.0, 5.0, 10.0, 10.0))]
    found = by_rule(findings("data", ranks, []))["flops_per_second"]
    assert (found.rank, found.fires, found.outlier) == (1, True, True)
    assert found.share == pytest.approx((8.75 - 5) / 8.75)


def link(rank: int, size: int, time: int, steps: int = 1) -> LinkFigures:
    return LinkFigures(rank, 1, 0, 1, "SDMA", size, time, steps)


def test_links_that_move_little_are_not_judged() -> None:
    links = [link(0, 20_000_000, 1_000_000), link(1, 20_000_000, 1_000_000), link(2, 900_000, 1_000_000)]
    assert not by_rule(findings("data", [RANK], links))["link"].fires
    links.append(link(3, 4_000_000, 1_000_000, steps=2))
    found = by_rule(findings("data", [RANK], links))["link"]
    assert (found.rank, found.fires, found.value, found.median, found.gain_ns) == (3, True, 4.0, 20.0, 400_000)


def test_communication_of_data_parallel_ranks() -> None:
    found = by_rule(findings("data", [RANK, RANK], []))["communication"]
    assert (found.share, found.fires, found.gain_ns) == (0.2, True, 100)
    assert "communication" not in by_rule(findings("data", [replace(RANK, computation_ns=None)], []))


def test_pipelines_are_judged_between_and_within_stages() -> None:
    ranks = [RANK, replace(RANK, stage=2, collective_alone_ns=50, flops=300.0)]
    found = findings("pipeline", ranks, [])
    assert [(one.rule, one.stage, one.fires) for one in found if one.stage or one.rule == "between_stages"] == [
        ("step_interval", 1, False),
        ("flops_per_second", 1, False),
        ("between_stages", None, False),
        ("within_stage", 1, True),
        ("within_stage", 2, False),
        ("stage_flops", 2, True),
    ]


@pytest.mark.parametrize(
    ("rank", "ranks", "stages", "stage"), [(0, 4, 2, 1), (1, 4, 2, 1), (2, 4, 2, 2), (4, 5, 2, 2), (0, None, 2, None)]
)
def test_stages_have_the_same_number_of_ranks(rank: int, ranks: int | None, stages: int, stage: int | None) -> None:
    assert stage_of(rank, ranks, stages) == stage


def test_a_course_joins_both_files_and_leaves_the_first_step_out_of_means() -> None:
    iterations = table_of(
        "iterations",
        [{"step": str(at), "average": 0, "interval_ns": 10 * at, "total_ns": 100} for at in (1, 2, 3)]
        + [{"step": None, "average": 1, "interval_ns": 77, "total_ns": 7}],
    )
    parallel = table_of("parallel_times", [{"step": at, "average": 0, "computation_ns": at} for at in (1, 2)])
    found = course(3, 1, iterations, parallel)
    mean, recorded, first, *_, last = found.rows
    assert (mean.count, mean.figures["interval_ns"], mean.figures["computation_ns"]) == (2, 25, 2)
    assert (recorded.basis, recorded.figures["interval_ns"]) == ("recorded", 77)
    assert (first.step, first.figures["computation_ns"], last.step, last.figures.get("computation_ns")) == (
        "1",
        1,
        "3",
        None,
    )
