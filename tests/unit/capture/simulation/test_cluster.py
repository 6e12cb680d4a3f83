"""Ranks fit each other, and the same seed gives the same run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.layout import Layout
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.schema.communicators import group_hash

RECIPE = Recipe("tiny", ranks=8, tp=2, pp=2, steps=2, sizes=Sizes(micro=3))


def segments(recipe: Recipe, rank: int) -> list[Segment]:
    cluster = recipe.cluster()
    table, _ = cluster.times()
    return list(cluster.record(rank, table)[1])


def test_the_same_seed_gives_the_same_times_and_another_gives_others() -> None:
    tables = [replace(RECIPE, seed=seed).cluster().times() for seed in (7, 7, 8)]
    assert tables[0] == tables[1]
    assert tables[0][0] != tables[2][0]
    assert tables[0][0].keys() == tables[2][0].keys()


def test_recorded_truth_is_the_one_of_the_times() -> None:
    cluster = RECIPE.cluster()
    table, truths = cluster.times()
    for rank in (0, 5):
        process, found = cluster.record(rank, table)
        for step, segment in enumerate(found):
            assert sum(task.dur for task in segment.tasks if task.kernel.core) == truths[rank].computing[step]
        assert process.end > process.start


@pytest.mark.parametrize("rank", [0, 5])
def test_a_rank_recorded_beside_the_others_is_the_same(rank: int) -> None:
    cluster = RECIPE.cluster()
    process, found, truths = cluster.record_beside(rank)
    assert repr(list(found)) == repr(segments(RECIPE, rank))
    table, expected = cluster.times()
    assert truths == expected
    other, later = cluster.record(rank, table)
    assert len(list(later)) == RECIPE.steps
    assert repr(process) == repr(other)


def test_members_of_a_group_meet() -> None:
    """Operators of one group and number overlap on all its members, and those that arrive early take longer."""
    found = {rank: [op for segment in segments(RECIPE, rank) for op in segment.comm] for rank in range(8)}
    by_key: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for ops in found.values():
        for op in ops:
            by_key.setdefault((op.group.id, int(op.name.split("_")[-2])), []).append((op.start, op.end))
    assert len({len(spans) for spans in by_key.values()}) == 1  # all groups here have two members
    for spans in by_key.values():
        assert max(start for start, _ in spans) < min(end for _, end in spans)


def test_a_communicator_has_one_name_on_all_its_ranks() -> None:
    """As on a real cluster: both ranks of the public sample name theirs 90.91.105.46%enp189s0f0_60000_0_1736410538306028."""
    recipe = Recipe("tiny", ranks=16, tp=2, pp=4, sizes=Sizes(layers=4))
    cluster = recipe.cluster()
    found: dict[tuple[str, tuple[int, ...]], set[tuple[str, str]]] = {}
    for rank in range(16):
        for group in cluster.record(rank, {})[0].groups:
            found.setdefault((group.group_name, group.ranks), set()).add((group.name, group.id))
    assert all(len(names) == 1 for names in found.values())
    assert len(found) == 1 + 8 + 8 + 4 + 12 == len({name for names in found.values() for name, _ in names})
    for (_, ranks), ((name, id_),) in found.items():
        address, _, card = name.partition("%")
        assert address == f"10.0.0.{ranks[0] // 8 + 1}" and card.split("_")[:2] == ["eth0", str(60_000 + ranks[0] % 8)]
        assert id_ == group_hash(name)


@pytest.mark.parametrize("rank", [0, 7])
def test_nothing_of_a_later_segment_begins_before_the_cut(rank: int) -> None:
    found = segments(RECIPE, rank)
    for segment, later in zip(found, found[1:]):
        starts = [op.start for op in later.ops] + [call.start for call in later.cann]
        starts += [task.start for task in later.tasks] + [op.start for op in later.comm]
        starts += [totals.at for totals in later.totals] + [sample.at for sample in later.samples]
        assert min(starts) >= segment.until


def test_memory_comes_back_after_every_step() -> None:
    for recipe in (RECIPE, Recipe("resnet50", ranks=2, steps=3, sizes=Sizes(layers=4, batch=2))):
        _, truths = recipe.cluster().times()
        for truth in truths:
            assert len(set(truth.allocated)) == 1


def test_layout_numbers_ranks_as_megatron_does() -> None:
    layout = Layout(16, tp=2, pp=4)
    assert layout.dp == 2
    teams = layout.teams(5)
    assert {role: team.ranks for role, team in teams.items()} == {
        "world": tuple(range(16)),
        "tp": (4, 5),
        "dp": (5, 7),
        "pp": (1, 5, 9, 13),
        "pp-": (1, 5),
        "pp+": (5, 9),
    }
    assert (teams["pp"].role, teams["pp-"].role) == ("pp", "p2p")
    assert "pp" not in Layout(8, tp=2, pp=2).teams(5)  # of two stages the pair is the group
    for rank in range(16):
        for team in layout.teams(rank).values():
            assert rank in team.ranks
            assert all(team in layout.teams(other).values() for other in team.ranks)


def test_data_parallel_over_all_ranks_uses_the_world_group() -> None:
    teams = Layout(4).teams(1)
    assert teams["dp"] is teams["world"] and set(teams) == {"world", "dp"}


@pytest.mark.parametrize(("ranks", "tp", "pp"), [(8, 3, 1), (4, 2, 4), (6, 4, 1)])
def test_ranks_that_do_not_divide_are_refused(ranks: int, tp: int, pp: int) -> None:
    with pytest.raises(BadRequest, match="cannot be split"):
        Layout(ranks, tp, pp)


@pytest.mark.parametrize("pp", [1, 2, 4])
@pytest.mark.parametrize("micro", [1, 2, 5])
def test_the_pipeline_never_locks_up(pp: int, micro: int) -> None:
    recipe = Recipe("tiny", ranks=2 * pp, pp=pp, steps=1, sizes=Sizes(layers=4, micro=micro))
    table, truths = recipe.cluster().times()
    assert all(len(truth.computing) == 1 for truth in truths)
    transfers = sum(len(arrivals) for group, arrivals in table.items() if group.startswith(("pp:", "p2p:")))
    assert transfers == 2 * 2 * (pp - 1) * 2 * micro  # two ranks each; dp 2, there and back
