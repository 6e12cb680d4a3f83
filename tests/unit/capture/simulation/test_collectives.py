"""The waits of one member are the arrivals of the others."""

from __future__ import annotations

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.collectives import Exchange, schedule
from tb_npu_plugin.capture.simulation.topology import Topology

CHIP = CHIPS["910B2"]
MESH, RING = (0, 1, 2, 3, 4, 5, 6, 7), (0, 8, 16, 24)
SIZE = 64 << 20


@pytest.mark.parametrize(
    ("count", "share", "last"),
    [
        (4_097_000, 2_064_384, 1_937_312),
        (16_781_312, 8_404_992, 8_290_304),
        (37_752_832, 18_890_752, 18_776_064),
        (2_469_696, 1_245_184, 1_162_496),
    ],
)
def test_an_all_reduce_has_the_tasks_of_a_real_910b(count: int, share: int, last: int) -> None:
    """Counts of the operators of the public sample (FP32, 8 ranks) and the sizes of their tasks on rank 0."""
    _, tasks = schedule(Exchange("hcom_allReduce_", 4 * count, MESH, "x"), (10**9,) * 8, Topology(CHIP), 0)
    for name in ("Reduce_Inline", "Memcpy"):
        moves = {task.dst: task.size for task in tasks if task.name == name and task.link == "HCCS"}
        assert moves == {**dict.fromkeys(range(1, 7), share), 7: last}
    own = [(task.name, task.size) for task in tasks if task.plane == 0]
    assert own == [("Reduce_Inline", 4), ("Memcpy", share), ("Memcpy", share), ("Reduce_Inline", 4)]
    names = [task.name for task in tasks if task.plane]
    assert (names.count("Notify_Record"), names.count("Notify_Wait")) == (28, 28)
    # on plane 1 the next rank comes first, in the second phase the one before
    assert [task.dst for task in tasks if task.plane == 1 and task.size] == [1, 7]
    assert len({(task.name, task.dst, task.notify) for task in tasks if task.notify}) == 28  # both phases use the same
