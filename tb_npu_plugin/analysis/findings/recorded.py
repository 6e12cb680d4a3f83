"""What was recorded of a run: devices, framework, training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from tb_npu_plugin.analysis.steps.of_span import are_computed
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.mindspore_cpu import CPU
from tb_npu_plugin.tables import known

#: Part of the names of operators and kernels of a training step.
_TRAINS = re.compile("backward|backprop|grad|bwd|optimizer", re.IGNORECASE)
#: Tables that show what a device did.
_OF_DEVICE = frozenset(("step_trace", "kernels", "iterations", "parallel_times"))
#: Share of kernels without times from which steps that are computed from kernels are not judged.
_MOST_UNTIMED = 0.1


class Recorded:
    """Facts that decide which rules apply. spans: one per rank."""

    def __init__(self, spans: Sequence[SpanData]) -> None:
        self._spans = spans

    @cached_property
    def device_kinds(self) -> set[str]:
        """Kinds of the devices that were profiled."""
        return {device_kind_of(span) for span in self._spans}

    @property
    def has_npu(self) -> bool:
        """False for profiles of a GPU or a CPU alone."""
        return "NPU" in self.device_kinds

    @property
    def is_of_gpu(self) -> bool:
        """A GPU was profiled."""
        return "GPU" in self.device_kinds

    @property
    def is_of_cpu(self) -> bool:
        """All ranks ran on a CPU."""
        return self.device_kinds == {CPU}

    @property
    def has_trace_alone(self) -> bool:
        """The tables of all ranks were rebuilt from their traces."""
        codes = [{problem.code for problem in span.problems} for span in self._spans]
        return bool(codes) and all("trace_alone" in own for own in codes)

    @property
    def is_simulated(self) -> bool:
        """The device was simulated by the machine whose host times were recorded."""
        return any(span.capture.simulated and not span.capture.simulated_host for span in self._spans)

    @cached_property
    def may_train(self) -> bool:
        """False if operators of the host were recorded, and neither they nor the kernels belong to a backward pass."""
        found = [table for span in self._spans if (table := span.table("operators")) is not None]
        if not found:
            return True
        found += [table for span in self._spans if (table := span.table("kernels")) is not None]
        return any(table.text("name").matching(lambda name: bool(_TRAINS.search(name))).any() for table in found)

    @property
    def framework(self) -> str:
        """ "PyTorch" or "MindSpore"; "" if unknown, or if ranks differ."""
        found = {FORMATS[span.format].framework for span in self._spans}
        return found.pop() if len(found) == 1 else ""

    @property
    def is_torch(self) -> bool:
        """The framework is PyTorch, or unknown."""
        return self.framework != "MindSpore"


def device_kind_of(span: SpanData) -> str:
    """ "NPU", "GPU" or "CPU", by the format of a span; "" for a data pipeline alone."""
    return FORMATS[span.format].device


def has_device_files(span: SpanData) -> bool:
    """Whether files of steps or kernels were recorded, usable or not."""
    if device_kind_of(span) not in ("NPU", "GPU"):
        return False
    files = (FORMATS[span.format].file(kind) for kind in span.kinds.values())
    return any(_OF_DEVICE.intersection(file.tables) for file in files if file is not None)


def lacks_times(span: SpanData) -> bool:
    """Whether steps are computed from kernels, and a good part of these has no times."""
    kernels = span.table("kernels")
    if kernels is None or not len(kernels) or not are_computed(span):
        return False
    timed = known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns"))
    lost = sum(
        one.count for one in span.problems if one.file.endswith(span.source("kernels")) and one.severity == "error"
    )
    return bool((~timed).sum() + lost > _MOST_UNTIMED * (len(kernels) + lost))
