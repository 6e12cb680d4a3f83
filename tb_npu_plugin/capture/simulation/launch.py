"""One launch of a kernel: its tensors and blocks, what it does, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.cost import kernel_ns, speed_of, unit_times
from tb_npu_plugin.capture.simulation.records import Kernel
from tb_npu_plugin.capture.simulation.rules import Rule
from tb_npu_plugin.capture.simulation.work import TYPES, Tensor, Tensors, is_convolution, work_of

_HARDWARE = {"AI_VECTOR_CORE": "AI_CORE"}
#: Cores of chips whose cube and vector units are one core.
_ONE_CORE = {"AI_VECTOR_CORE": "AI_CORE", "MIX_AIC": "AI_CORE", "MIX_AIV": "AI_CORE"}


@dataclass(frozen=True)
class Launch:
    """One launch of an operator: the kernel, its mean duration in ns, the API that launches it.

    compiled    CANN compiles it on first sight (aclop), which takes long
    workspace   bytes of workspace that it needs
    """

    kernel: Kernel
    ns: int
    api: str
    compiled: bool = False
    workspace: int = 0

    @cached_property
    def is_graph(self) -> bool:
        """CANN runs it as a graph (aclop), not as an operator of the aclnn library."""
        return self.api.startswith("aclop")

    @cached_property
    def queued(self) -> str:
        """Name of its element of the task queue."""
        return self.kernel.type if self.is_graph else self.api

    @cached_property
    def prepared(self) -> tuple[str, str]:
        """The API that prepares it, and its mode."""
        return ("aclCreateTensorDesc", "ACL_OP") if self.is_graph else (f"{self.api}GetWorkspaceSize", "ACL_NN")


def launch(
    chip: Chip, rule: Rule, inputs: Tensors, outputs: Tensors, blocks: int, name: str = "", read: Tensors | None = None
) -> Launch:
    """A kernel on this many blocks. name: that of the kernel, where it does not follow from the rule; read: what it reads,
    where that is not all of its inputs."""
    core = rule.core if chip.split else _ONE_CORE.get(rule.core, rule.core)
    work = work_of(chip, rule.type, inputs if read is None else read, outputs, rule.fresh, rule.passes)
    is_filter = rule.type == "TransData" and any(t.format == "FRACTAL_Z" for t in (*inputs, *outputs))
    speed = speed_of("TransDataFilter" if is_filter else rule.type)
    ns = kernel_ns(chip, speed, core, blocks, work)
    kernel = Kernel(
        name or f"{rule.api}_{rule.l0}_{rule.type}",
        rule.type,
        core,
        _HARDWARE.get(core, core),
        inputs=_shapes(inputs),
        outputs=_shapes(outputs),
        input_types=_types(inputs),
        output_types=_types(outputs),
        input_formats=_formats(inputs),
        output_formats=_formats(outputs) or "FORMAT_ND",
        block=blocks,
        mix=2 * blocks if core == "MIX_AIC" else 0,
        hf32=is_convolution(rule.type) and bool(outputs) and outputs[0].type == "float",
        work=work,
        pipes={} if core in ("AI_CPU", "DSA_SQE") else _pipes(unit_times(chip, speed, work), ns),
    )
    return Launch(kernel, ns, rule.api)


def _shapes(tensors: Sequence[Tensor]) -> str:
    return ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)


def _types(tensors: Sequence[Tensor]) -> str:
    return ";".join(TYPES.get(tensor.type, ("FLOAT", 4))[0] for tensor in tensors)


def _formats(tensors: Sequence[Tensor]) -> str:
    return ";".join(tensor.format for tensor in tensors)


def _pipes(times: tuple[float, float, float, float], ns: int) -> dict[str, float]:
    """Shares of the core time that each unit is busy: what the counters of the kernel show. times: of unit_times."""
    cube, vector, read, written = (time / ns for time in times)
    return {
        "mac": 0.85 * cube,
        "vec": 0.6 * vector,
        "scalar": min(0.85, 0.12 + 0.12 * max(cube, vector) + 500.0 / ns),
        "mte1": min(0.95, cube * 0.95),
        "mte2": min(0.97, read * 1.2 + 0.05),
        "mte3": min(0.97, written * 1.3 + 0.02),
        "fixpipe": min(0.9, written + 0.01),
        "icache": 0.01 + 300.0 / ns,
    }
