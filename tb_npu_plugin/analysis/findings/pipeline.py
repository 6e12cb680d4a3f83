"""Micro-batches of a pipeline, and what they make of time that each of them loses."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS

#: Operators between two ranks.
BETWEEN_TWO = COMM_KINDS[0]


def stages_of(run: RunData) -> int:
    """Pipeline stages of the profiled ranks; 1 without a pipeline."""
    return max((stage or 1 for stage in run.stages), default=1)


def micro_batches(run: RunData) -> int:
    """Micro-batches of a step; 0 if unknown."""
    if not run.has_stages:
        return 0
    return min((count for line in run.communication.lines if (count := _received(line))), default=0)


def whole_step(run: RunData, cost: float) -> float:
    """Time that the step loses if a stage loses `cost` in its micro-batches. With p stages that work W in m micro-batches the
    step takes W (1 + (p - 1) / m): it fills and drains the pipeline, too."""
    count = micro_batches(run)
    return cost * (1 + (stages_of(run) - 1) / count) if count else cost


def _received(line: RankDevice) -> int:
    """Micro-batches that a rank receives in a step from the same neighbour; 0 if it receives nothing."""
    ops = line.comm_ops
    if ops is None:
        return 0
    names = ops.text("name")
    is_receive = np.asarray(["receive" in name.lower() or "recv" in name.lower() for name in names.values] + [False])
    chosen = ops.take(ops.text("kind").equals(BETWEEN_TWO) & is_receive[names.codes])
    return int(Groups([chosen.text("step"), chosen.text("group")], len(chosen)).count().max(initial=0))
