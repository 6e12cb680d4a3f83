"""What ranks are compared by: each rank of a run, and each device of one that recorded several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.steps import StepJson
from tb_npu_plugin.views.steps import steps_of as step_budgets


@dataclass(frozen=True)
class RankLine:
    """One device of a span. device_id: None where the span has one device only, and of what belongs to no certain one."""

    span: SpanData
    device_id: Optional[int]
    steps: Sequence[StepJson]
    comm_ops: Optional[Table]

    def kernels(self) -> Optional[Table]:
        """Those of the device; None where the span has none."""
        kernels = self.span.table("kernels")
        if kernels is None or self.device_id is None:
            return kernels
        return kernels.take(kernels.ints("device_id") == self.device_id)


def lines_of(span: SpanData) -> list[RankLine]:
    """The devices of a span in the order of their steps; communication.json does not tell devices apart, and so stands alone
    where there are several."""
    steps, _ = step_budgets(span)
    comm_ops = span.table("comm_ops")
    devices = list(dict.fromkeys(step["device_id"] for step in steps))
    if len(devices) < 2:
        return [RankLine(span, None, steps, comm_ops)]
    lines = [
        RankLine(span, device, [step for step in steps if step["device_id"] == device], None) for device in devices
    ]
    return lines if comm_ops is None else [*lines, RankLine(span, None, [], comm_ops)]
