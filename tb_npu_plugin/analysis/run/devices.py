"""The devices of the spans of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.lateness import operators_of
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.intervals import Intervals
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Table, known

#: Least part of the recorded computing that kernels hold, if none is lost. Files differ by less than 0.01 %.
_LEAST_KERNELS = 0.99


def rank_order(span: SpanData) -> tuple[bool, int, str, int]:
    """Sort key: spans of a run by rank, those without one last."""
    rank = span.capture.rank
    return rank is None, rank or 0, span.worker_label, span.base_ns


@dataclass(frozen=True)
class RankDevice:
    """One device of a span. device_id: None if the span has one device, and for data of no certain device."""

    span: SpanData
    device_id: Optional[int]
    steps: Sequence[Step]
    comm_ops: Optional[Table]

    def kernels(self) -> Optional[Table]:
        """Kernels of the device; None if the span has none."""
        kernels = self.span.table("kernels")
        if kernels is None or self.device_id is None:
            return kernels
        return kernels.take(kernels.ints("device_id") == self.device_id)

    def operators(self) -> Optional[Table]:
        """comm_ops, else the communication operators among the kernels; None if the span has neither."""
        kernels = self.kernels() if self.comm_ops is None else None
        return self.comm_ops if kernels is None else operators_of(kernels, self.span.capture.groups)

    def computing(self) -> Optional[Intervals]:
        """When kernels compute, ns since the epoch. None if unknown, of several devices, or if the kernels hold less computing than
        the steps: some are lost, and a wait beside them would look exposed."""
        kernels = self.kernels()
        if kernels is None or (self.device_id is None and not self.steps):
            return None
        kernels = kernels.take(is_computing(kernels))
        kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
        found = intervals.union(kernels.ints("start_ns"), kernels.ints("start_ns") + kernels.ints("dur_ns"))
        return None if found.total < _LEAST_KERNELS * sum(step.computing or 0 for step in self.steps) else found


def devices_of(span: SpanData) -> list[RankDevice]:
    """The devices of a span in the order of their steps. communication.json does not name devices, so with several
    devices it becomes a separate line."""
    steps, _ = steps_and_source(span)
    comm_ops = span.table("comm_ops")
    devices = list(dict.fromkeys(step.device_id for step in steps))
    if len(devices) < 2:
        return [RankDevice(span, None, steps, comm_ops)]
    lines = [RankDevice(span, device, [step for step in steps if step.device_id == device], None) for device in devices]
    return lines if comm_ops is None else [*lines, RankDevice(span, None, [], comm_ops)]
