"""Ranks fit each other, and the same seed gives the same run."""

from __future__ import annotations

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.layout import Layout
from tb_npu_plugin.schema.communicators import group_hash


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


def test_layout_numbers_ranks_as_megatron_does() -> None:
    layout = Layout(16, tp=2, pp=4)
    assert layout.dp == 2
    communicators = layout.communicators(5)
    assert {role: communicator.ranks for role, communicator in communicators.items()} == {
        "world": tuple(range(16)),
        "tp": (4, 5),
        "dp": (5, 7),
        "pp": (1, 5, 9, 13),
        "pp-": (1, 5),
        "pp+": (5, 9),
    }
    assert (communicators["pp"].role, communicators["pp-"].role) == ("pp", "p2p")
    assert "pp" not in Layout(8, tp=2, pp=2).communicators(5)  # of two stages the pair is the group
    for rank in range(16):
        for communicator in layout.communicators(rank).values():
            assert rank in communicator.ranks
            assert all(communicator in layout.communicators(other).values() for other in communicator.ranks)


@pytest.mark.parametrize("pp", [1, 2, 4])
@pytest.mark.parametrize("micro", [1, 2, 5])
def test_the_pipeline_never_locks_up(pp: int, micro: int) -> None:
    recipe = Recipe("tiny", ranks=2 * pp, pp=pp, steps=1, sizes=Sizes(layers=4, micro=micro))
    table, truths = recipe.cluster().times()
    assert all(len(truth.computing) == 1 for truth in truths)
    transfers = sum(len(arrivals) for group, arrivals in table.items() if group.startswith(("pp:", "p2p:")))
    assert transfers == 2 * 2 * (pp - 1) * 2 * micro  # two ranks each; dp 2, there and back
