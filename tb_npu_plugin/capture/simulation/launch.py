"""One launch of a kernel: its types, formats and blocks, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.cost import in_cache, kernel_ns, unit_times
from tb_npu_plugin.capture.simulation.records import Kernel
from tb_npu_plugin.capture.simulation.rules import Rule
from tb_npu_plugin.capture.simulation.work import Work

Shape = tuple[int, ...]
#: C++ names of element types as PyTorch records them -> (CANN name, bytes).
TYPES = {
    "c10::Half": ("FLOAT16", 2),
    "c10::BFloat16": ("DT_BF16", 2),
    "float": ("FLOAT", 4),
    "double": ("DOUBLE", 8),
    "long int": ("INT64", 8),
    "long": ("INT64", 8),
    "int": ("INT32", 4),
    "short int": ("INT16", 2),
    "signed char": ("INT8", 1),
    "unsigned char": ("UINT8", 1),
    "bool": ("BOOL", 1),
}
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

    @property
    def is_graph(self) -> bool:
        """CANN runs it as a graph of its own (aclop), not as an operator of the aclnn library."""
        return self.api.startswith("aclop")

    @property
    def queued(self) -> str:
        """Name of its element of the task queue."""
        return self.kernel.type if self.is_graph else self.api

    @property
    def prepared(self) -> tuple[str, str]:
        """The API that prepares it, and its mode."""
        return ("aclCreateTensorDesc", "ACL_OP") if self.is_graph else (f"{self.api}GetWorkspaceSize", "ACL_NN")


def size_of(shape: Shape, type_: str) -> int:
    """Bytes of a tensor."""
    return prod(shape) * TYPES.get(type_, ("", 4))[1]


def work_of(
    chip: Chip, written: int, first: int, others: int = 0, cube_flops: float = 0.0, vector_flops: float = 0.0
) -> Work:
    """Bytes that are written, those of the input that was just written, those of the others."""
    cached, kept = in_cache(chip, first), in_cache(chip, written)
    return Work(cube_flops, vector_flops, first + others, written, cached, kept)


def launch(
    chip: Chip,
    rule: Rule,
    shapes: tuple[Shape, ...],
    types: tuple[str, ...],
    out: Shape,
    work: Work,
    block: int,
    name: str = "",
    formats: str = "",
    out_format: str = "",
    element: str = "",
) -> Launch:
    """element: type of the output, that of the first input without."""
    element = element or (types[0] if types else "")
    fp32 = element == "float"
    core = rule.core if chip.split else _ONE_CORE.get(rule.core, rule.core)
    names = [TYPES.get(type_, ("FLOAT", 4))[0] for type_ in types[: len(shapes)]]
    plain = "NCHW" if shapes and len(shapes[0]) == 4 and rule.kind == "elementwise" else "FORMAT_ND"
    kernel = Kernel(
        name or f"{rule.api}_{rule.l0}_{rule.type}",
        rule.type,
        core,
        _HARDWARE.get(core, core),
        inputs=";".join(",".join(map(str, shape)) for shape in shapes),
        outputs=",".join(map(str, out)),
        input_types=";".join(names),
        output_types=TYPES.get(element, ("FLOAT", 4))[0] if element else "",
        input_formats=formats or ";".join([plain] * len(shapes)),
        output_formats=out_format or plain,
        block=block,
        mix=2 * block if core == "MIX_AIC" else 0,
        hf32=fp32 and rule.type.startswith("Conv"),
        work=work,
        pipes=_pipes(chip, core, work, fp32),
    )
    return Launch(kernel, kernel_ns(chip, core, work, fp32), rule.api)


def _pipes(chip: Chip, core: str, work: Work, fp32: bool) -> dict[str, float]:
    """Shares of the core time that each unit is busy: what the counters of the kernel show."""
    if core in ("AI_CPU", "DSA_SQE"):
        return {}
    whole = float(kernel_ns(chip, core, work, fp32))
    cube, vector, read, written = (ns / whole for ns in unit_times(chip, work, fp32))
    return {
        "mac": 0.85 * cube,
        "vec": 0.6 * vector,
        "scalar": min(0.85, 0.12 + 0.12 * max(cube, vector) + 500.0 / whole),
        "mte1": min(0.95, cube * 0.95),
        "mte2": min(0.97, read * 1.2 + 0.05),
        "mte3": min(0.97, written * 1.3 + 0.02),
        "fixpipe": min(0.9, written + 0.01),
        "icache": 0.01 + 300.0 / whole,
    }
