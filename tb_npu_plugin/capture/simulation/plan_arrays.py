"""What the times of a step are drawn from: columns of its plan, which all steps that run it share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_npu_plugin.capture.simulation.columns import Ints, arrays

if TYPE_CHECKING:
    from tb_npu_plugin.capture.simulation.plan import Plan

#: ns; longer ones are waits for data, pauses, and the like.
_SHORT = 50_000


def _ints(values: Sequence[Any]) -> Ints:
    return np.array(values, dtype=np.int64)


class PlanArrays:
    """Named as in Plan.

    works       0 for ticks without work; short: spells that are skewed, as those of operators are; of the others each
                is a known figure, give or take a tenth
    queue_ticks of the elements of the queue; *_draws: places of random numbers
    streams, ns, compiles, is_new, ai_cpu   of the launches; new: places of those that are compiled on first sight
    prepares, takes   1 for launches whose workspace the launching thread asks for, and takes
    """

    def __init__(self, plan: Plan) -> None:
        self.spells, self.lots = _ints(plan.spells), _ints(plan.lots)
        self.works = (self.spells != 0).astype(np.int64)
        self.short = self.spells < _SHORT
        self.queue_ticks, draws = arrays(plan.queue, "tick", "draw")
        places, sizes, compiles, self.takes = arrays(plan.launches, "place", "size", "compiles", "takes")
        self.prepares, self.is_new = (sizes >= 0).astype(np.int64), (compiles >= 0).astype(np.int64)
        self.new = np.flatnonzero(self.is_new)
        self.prepare_draws = draws[places]
        self.launch_draws = self.prepare_draws + self.prepares + self.takes
        self.ns, self.compiles = arrays(plan.launches, "launch.ns", "launch.compiled")
        self.streams = _ints([plan.tasks[item.task].stream for item in plan.launches])
        self.ai_cpu = np.array([item.launch.kernel.core == "AI_CPU" for item in plan.launches], dtype=bool)
        self.copy_draws = draws[_ints([copy[0] for copy in plan.copies])]
        self.exchange_draws = draws[_ints([place for place, _ in plan.exchanges])]
