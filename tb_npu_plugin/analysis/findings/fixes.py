"""What to do about a finding, in the words of the run's framework."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.settings import DISTRIBUTED_KEYS


@dataclass(frozen=True)
class Fix:
    """Codes of one piece of advice; "": none.

    common: For a framework that is not listed, and for captures whose framework is unknown.
    torch: PyTorch.
    megatron: PyTorch, if the job's arguments are those of Megatron.
    gpu: PyTorch on a GPU, where the advice for an NPU does not hold.
    mindspore: MindSpore, and MindFormers.
    """

    common: str = ""
    torch: str = ""
    megatron: str = ""
    gpu: str = ""
    mindspore: str = ""

    def of(self, run: RunData, **params: str | int) -> tuple[Message, ...]:
        """The advice for a run; empty if there is none for its framework. params: of all the messages."""
        code = self.common
        if run.recorded.framework == "MindSpore":
            code = self.mindspore or self.common
        elif run.recorded.framework == "PyTorch":
            of_device = (self.gpu or self.torch) if run.recorded.is_of_gpu else self.torch
            code = (self.megatron if is_megatron(run) else "") or of_device or self.common
        return (Message(code, **params),) if code else ()


def is_megatron(run: RunData) -> bool:
    """Whether Megatron's arguments were recorded."""
    return any(DISTRIBUTED_KEYS[0] in span.capture.distributed_args for span in run.spans)


def is_set(run: RunData, variable: str, value: str = "") -> bool:
    """Whether an environment variable was recorded with this text in its value on each rank; any text for ""."""
    values = [span.capture.environment.get(variable, "") for span in run.spans]
    return bool(values) and all(one and value.lower() in one.lower() for one in values)
