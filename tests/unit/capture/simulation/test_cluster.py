"""Ranks fit each other, and the same seed gives the same run."""

from __future__ import annotations

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.simulation.layout import Layout


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
