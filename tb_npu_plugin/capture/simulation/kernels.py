"""From an operator with its shapes to the kernels that the device runs for it: names, types, cores, blocks, formats.

The names follow real profiles: `aclnn<Api>_<L0 operator>_<Type>` for the operators of the aclnn library, `<Type><n>` and
`trans_TransData_<n>` for those that CANN compiles as graphs. The rules say what each ATen operator becomes; what has
none and is no view becomes one element-wise kernel of its own name.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.graphs import Graphs
from tb_npu_plugin.capture.simulation.launch import TYPES, Launch, Shape, launch, size_of, work_of
from tb_npu_plugin.capture.simulation.rules import RULES, VIEWS, Rule, vector


class KernelFactory:
    """Kernels of one chip, each made once. stalls: factor of the time of matrix products, in which their units stall;
    blocks: most of a matrix product, 0: as many as it has tiles or the chip cores."""

    def __init__(self, chip: Chip, stalls: float = 1.0, blocks: int = 0) -> None:
        self.chip, self._stalls, self._blocks = chip, stalls, blocks
        self._known: dict[tuple[str, tuple[Shape, ...], tuple[str, ...]], tuple[Launch, ...]] = {}
        self._graphs = Graphs(chip)

    def launches(self, op: str, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> tuple[Launch, ...]:
        """What an operator launches; nothing for a view. shapes, types: of its tensors, in order."""
        key = (op, shapes, types)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._make(op, shapes, types))
        return found

    def _make(self, op: str, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        if op in VIEWS or not shapes:
            return []
        rule = RULES.get(op)
        if rule is None:
            title = "".join(part.capitalize() for part in op.partition("::")[2].split("_"))
            rule = vector(f"aclnn{title}", title)
        made = getattr(self, f"_{rule.kind}")(rule, shapes, types)
        return list(made)

    # -- kinds of operators ------------------------------------------------------------------------
    def _matmul(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """(m, k) by (k, n), as the last two tensors; addmm has the bias in front."""
        left, right = shapes[-2], shapes[-1]
        m, k, n = prod(left[:-1]), left[-1], right[-1]
        batch = prod(right[:-2]) if len(right) > 2 else 1
        m //= batch
        item = TYPES.get(types[-1], ("", 2))[1]
        out = (*left[:-1], n)
        flops = 2.0 * batch * m * k * n
        work = work_of(self.chip, prod(out) * item, prod(left) * item, prod(right) * item, flops)
        tiles = batch * -(-m // 128) * -(-n // 256)
        blocks = min(self.chip.cube_cores, tiles)
        used = min(self._blocks or blocks, blocks)
        made = launch(self.chip, rule, shapes, types, out, work, used)
        pipes = {unit: share / self._stalls for unit, share in made.kernel.pipes.items()}
        return [replace(made, kernel=replace(made.kernel, pipes=pipes), ns=int(made.ns * self._stalls * blocks / used))]

    def _conv(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        return self._graphs.convolution(shapes, types)

    def _conv_grad(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        return self._graphs.gradients(shapes, types)

    def _attention(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Query, key and value as (batch, heads, sequence, size of a head); causal: half of the products."""
        batch, heads, length, size = shapes[0]
        factor = rule.passes / 2
        flops = factor * 2.0 * batch * heads * length * length * size
        item = TYPES.get(types[0], ("", 2))[1]
        query = prod(shapes[0]) * item
        moved = int(sum(prod(shape) for shape in shapes) * item * (1 if rule.passes < 5 else 2))
        work = work_of(self.chip, query, query, moved - query, flops, 6.0 * batch * heads * length * length / 2)
        made = launch(self.chip, rule, shapes, types, shapes[0], work, self.chip.cube_cores)
        return [Launch(made.kernel, int(made.ns * 1.25), made.api, workspace=32 << 20)]

    def _gather(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Rows of a table, by index."""
        out = (*shapes[1], shapes[0][-1])
        size = size_of(out, types[0])
        work = work_of(self.chip, size, 0, size, vector_flops=prod(out) * rule.passes)
        return [launch(self.chip, rule, shapes, types, out, work, self.chip.vector_cores)]

    def _dropout(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        bits = (-(-prod(shapes[0]) // 8),)
        mask = launch(self.chip, rule, (), ("unsigned char",), bits, work_of(self.chip, bits[0], 0), 0)
        apply = vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore")
        return [mask, *self._elementwise(apply, (shapes[0], bits), (types[0], "unsigned char"))]

    def _elementwise(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Anything that walks over its inputs; the output is as large as the first one."""
        out = () if rule.type in ("ReduceSum", "ReduceMean", "NLLLoss") else shapes[0]
        read = [size_of(shape, type_) for shape, type_ in zip(shapes, types)][1 if rule.filled else 0 :] or [0]
        first = read[0] if rule.fresh else 0
        flops = prod(shapes[0]) * rule.passes
        work = work_of(self.chip, size_of(out, types[0]), first, sum(read) - first, vector_flops=flops)
        blocks = min(self.chip.vector_cores, max(1, prod(shapes[0]) // 2048))
        return [launch(self.chip, rule, shapes, types, out, work, 1 if rule.core == "AI_CPU" else blocks)]
