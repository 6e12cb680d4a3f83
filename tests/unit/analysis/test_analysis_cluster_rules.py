"""What stands out among ranks, by MindInsight's rules and by better ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding, LinkFigures, RankFigures, findings
from tb_npu_plugin.analysis.steps.trajectory import stage_of

RANK = RankFigures(0, 1, 1000, 800, 200, 50, 150, 100.0, 10.0)


def by_rule(found: list[ClusterFinding]) -> dict[str, ClusterFinding]:
    return {one.rule: one for one in found}


@pytest.mark.parametrize(
    ("parallel", "intervals", "ranks_of_a_stage", "shown"),
    [
        ("data", (1000, 1010, 990, 2000), 4, {"rank": 3, "fires": True, "outlier": True, "gain_ns": 995}),
        ("pipeline", (1000, 1010, 990, 3000, 3010, 2990), 3, {"fires": True, "outlier": False, "median": 3000}),
        ("data", (1000, 9000), 2, {"outlier": None}),
        ("data", (1000, None, 1100), 3, {"peers": 2, "mean": 1050}),
        ("data", (None, None, None), 3, None),
    ],
    ids=["one is late", "stages that differ by design", "two are too few", "an unknown one", "all unknown"],
)
def test_a_late_rank_stands_out_of_its_stage(
    parallel: str, intervals: tuple[int | None, ...], ranks_of_a_stage: int, shown: dict[str, object] | None
) -> None:
    ranks = [
        replace(RANK, rank=at, stage=1 + at // ranks_of_a_stage, interval_ns=value)
        for at, value in enumerate(intervals)
    ]
    found = by_rule(findings(parallel, ranks, [])).get("step_interval")
    assert (found and {key: getattr(found, key) for key in shown or ()}) == shown


def test_slow_floating_point_counts_downwards() -> None:
    ranks = [replace(RANK, rank=at, flops_rate=value) for at, value in enumerate((10.0, 5.0, 10.0, 10.0))]
    found = by_rule(findings("data", ranks, []))["flops_per_second"]
    assert (found.rank, found.fires, found.outlier) == (1, True, True)
    assert found.share == pytest.approx((8.75 - 5) / 8.75)


def test_links_that_move_little_are_not_judged() -> None:
    def link(rank: int, size: int, steps: int = 1) -> LinkFigures:
        return LinkFigures(rank, 1, 0, 1, "SDMA", size, 1_000_000, steps)

    links = [link(0, 20_000_000), link(1, 20_000_000), link(2, 900_000)]
    assert not by_rule(findings("data", [RANK], links))["link"].fires
    found = by_rule(findings("data", [RANK], [*links, link(3, 4_000_000, steps=2)]))["link"]
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
