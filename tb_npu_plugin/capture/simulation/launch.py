"""One launch of a kernel: its tensors and blocks, what it does, and what it costs: how long its blocks take to begin and end, and the
busiest of matrix unit, vector unit and memory.

The L2 cache: a kernel finds its first input there, which the kernel in front of it has just written, and leaves its output
there, up to half of the cache each. Such bytes move at the rate of the cache and are no traffic of
the main memory; all others come from there and go there. What is left in the cache is written back when it has to go:
see Meters (device.py).

The table speeds.csv says how close to the peak of the chip kernels of a type come, and where the figures are from:

    fitted      on the kernels of AlexNet in FP32 on a 910B2 (4 ranks, 748 kernels, public sample)
    corrected   by the factor that this kernel was too quick on one real profile, which is not public
    between     estimated: the geometric mean of the factors of RmsNormGrad and ApplyAdamWV2, which were measured
    assumed     estimated: large products of half precision reach 0.72, 0.9 of the time on one real profile; attention takes
                a quarter more for the softmax between the products

What each ATen or npu operator becomes on the device, and which operators run nothing there, is the table operators.csv. A row of kind
"same" names the operator with the same kernels as its API. An operator that is not in the table becomes one vector kernel with the
operator's name.

TransDataFilter is TransData to and from FRACTAL_Z. tests/oracle/test_kernel_costs.py compares the model with the kernels of a
real 910B where those are at hand; docs/capture.md has the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from tb_npu_plugin.capture.simulation.records import Kernel
from tb_npu_plugin.capture.simulation.work import TYPES, Tensor, Tensors, Work, is_convolution, work_of
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema.chips import Chip


@dataclass(frozen=True)
class Rule:
    """How an operator runs: a row of the table. api, l0, type: as in kernel names."""

    kind: str  # method of KernelFactory, "view": only another view of the input
    api: str = ""
    l0: str = ""
    type: str = ""
    core: str = "AI_VECTOR_CORE"
    passes: float = 1.0  # vector operations per element
    fresh: bool = True  # its first input has just been written (not tables and parameters)
    filled: bool = False  # its first tensor is only written


def vector(api: str, type_: str, passes: float = 1.0, l0: str = "") -> Rule:
    """Of the vector units: walks over its inputs."""
    return Rule("elementwise", api, l0 or f"{type_}AiCore", type_, passes=passes)


_OPERATORS = read_table(__file__, "operators.csv", Rule)
#: Operators of PyTorch -> those with the same kernels.
SAME = {op: rule.api for op, rule in _OPERATORS.items() if rule.kind == "same"}
RULES = {op: rule for op, rule in _OPERATORS.items() if rule.kind != "same"}
#: Begin of the names of operators of lists of tensors.
EACH = "aten::_foreach_"


def has_rule(op: str) -> bool:
    """The operator, or its form that is not in place, is listed, or it is one of lists of tensors."""
    return op in RULES or op.startswith(EACH) or _out_of_place(op) is not None


def _out_of_place(op: str) -> Rule | None:
    """The rule of the operator that is not in place."""
    found = RULES.get(op[:-1]) if op.endswith("_") else None
    return found if found is not None and found.kind != "view" else None


@cache
def rule_of(op: str) -> Rule | None:
    """The rule of an operator, without its overload; None: it only makes a view. An operator in place has the rule of the
    other one, and its own API."""
    if op in RULES:
        return RULES[op] if RULES[op].kind != "view" else None
    other = _out_of_place(op)
    if other is not None:
        return replace(other, api=other.api.replace("aclnn", "aclnnInplace", 1))
    name = op.partition("::")[2]
    title = "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
    if op.startswith(EACH):
        passes = {"mul": 1, "addcmul": 3, "addcdiv": 3}.get(name.split("_")[2], 2)
        return Rule("elementwise", f"aclnn{title}", title, title, passes=passes, fresh=False)
    return vector(f"aclnn{title}", title)


@dataclass(frozen=True)
class Speed:
    """How fast kernels are."""

    start: int  # ns of a kernel of many blocks that moves and computes nothing
    one: int  # ns of a kernel of one block
    read: float  # share of the peak of memory and cache
    write: float  # the same
    cube: float  # share of the peak of the matrix units


#: By type of kernel; "*": kernels of the vector units that the table does not name.
SPEEDS = {type_: speed for types, speed in read_table(__file__, "speeds.csv", Speed).items() for type_ in types.split()}
#: Share of the peak that vector units reach.
VECTOR_SHARE = 0.5
#: ns of an AI CPU kernel, and what each byte adds: scalar code on a few small cores.
AI_CPU_START, AI_CPU_PER_BYTE = 45_000, 0.35
#: ns that CANN takes to compile an operator on first sight (aclop), and to look it up later.
COMPILE, COMPILED = 180_000_000, 260_000
#: A memory copy between host and device: start, and share of the PCIe peak.
COPY_START, COPY_SHARE = 1_900, 0.6


def unit_times(chip: Chip, speed: Speed, work: Work) -> tuple[float, float, float, float]:
    """ns that the matrix units and the vector units are busy, and those of reading and writing, which share the memory."""
    cube = work.cube_flops * work.slower / (chip.cube_flops * speed.cube)
    vector = work.vector_flops * min(2.0, work.slower) / (chip.vector_flops * VECTOR_SHARE)
    from_cache, to_cache = chip.cache_rates
    read = work.main_read / chip.bandwidth + work.cached / from_cache
    written = work.main_written / chip.bandwidth + work.kept / to_cache
    return cube * 1e9, vector * 1e9, read / speed.read * 1e9, written / speed.write * 1e9


def kernel_ns(chip: Chip, speed: Speed, core: str, blocks: int, work: Work) -> int:
    """Duration of a kernel on this many blocks."""
    if core == "AI_CPU":
        return AI_CPU_START + int((work.read + work.written) * AI_CPU_PER_BYTE)
    cube, vector, read, written = unit_times(chip, speed, work)
    one = min(speed.start, speed.one)
    start = one + (speed.start - one) * min(1.0, 2 * max(0, blocks - 1) / chip.cube_cores)
    return int(start + max(cube, vector, read + written))


def copy_ns(chip: Chip, size: int) -> int:
    """Duration of a copy between host and device."""
    return COPY_START + int(size / (chip.pcie * COPY_SHARE) * 1e9)


#: Cores of kernels: task type of the trace, core on chips whose cube and vector units are one, and task type of the host side.
CORES = read_table(__file__, "cores.csv", dict[str, str])


@dataclass(frozen=True)
class Launch:
    """One launch of an operator."""

    kernel: Kernel
    ns: int  # its mean duration
    api: str  # that launches it
    compiled: bool = False  # CANN compiles it on first sight (aclop), which takes long
    workspace: int = 0  # bytes that it needs

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
    core = rule.core if chip.split else CORES[rule.core]["without_split"]
    work = work_of(chip, rule.type, inputs if read is None else read, outputs, rule.fresh, rule.passes)
    is_filter = rule.type == "TransData" and any(t.format == "FRACTAL_Z" for t in (*inputs, *outputs))
    speed = SPEEDS.get("TransDataFilter" if is_filter else rule.type, SPEEDS["*"])
    ns = kernel_ns(chip, speed, core, blocks, work)
    given, made = _texts(inputs), _texts(outputs)
    formats = given[2], made[2] or "FORMAT_ND"
    kernel = Kernel(
        name or f"{rule.api}_{rule.l0}_{rule.type}",
        *(rule.type, core, CORES[core]["hardware"], given[0], made[0], given[1], made[1], *formats),
        block=blocks,
        mix=2 * blocks if core == "MIX_AIC" else 0,
        hf32=is_convolution(rule.type) and bool(outputs) and outputs[0].type == "float",
        work=work,
        pipes={} if core in ("AI_CPU", "DSA_SQE") else _pipes(unit_times(chip, speed, work), ns),
    )
    return Launch(kernel, ns, rule.api)


def _texts(tensors: Sequence[Tensor]) -> tuple[str, str, str]:
    """Shapes, types and formats of tensors as a kernel has them."""
    shapes = ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)
    types = ";".join(TYPES.get(tensor.type, ("FLOAT", 4))[0] for tensor in tensors)
    return shapes, types, ";".join(tensor.format for tensor in tensors)


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
