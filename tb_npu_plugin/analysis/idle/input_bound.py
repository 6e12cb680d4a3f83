"""Steps in which the device idles because the host waits for the next batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.idle.model import DeviceIdle

#: To hand over a batch that is ready takes up to this time per step, ns.
HANDOVER_NS = 500_000
#: Least share of step time.
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class InputBoundSteps:
    """Number of input-bound steps, and of all steps."""

    steps: int
    """Steps in which the device idles for 0.5 ms and 1 % of the step time or longer while the host waits for a batch."""
    of: int
    """Steps of the span."""


def input_bound_steps(idle: Sequence[DeviceIdle]) -> Optional[InputBoundSteps]:
    """Input-bound steps of a span; of several devices, a step counts if one of them idles. None without idle times."""
    if not idle:
        return None
    found: dict[Optional[str], bool] = {}
    for device in idle:
        for step, waited in zip(device.steps, device.times_of_steps("data_loading").tolist()):
            least = max(HANDOVER_NS, LEAST_SHARE * (step.total_ns or 0))
            found[step.step] = found.get(step.step, False) or waited >= least
    return InputBoundSteps(sum(found.values()), len(found))
