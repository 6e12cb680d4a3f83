"""From an operator with its tensors to the kernels that the device runs for it: names, types, cores, blocks, formats.

The names follow real profiles: `aclnn<Api>_<L0 operator>_<Type>` for the operators of the aclnn library, `<Type><n>` and
`trans_TransData_<n>` for those that CANN compiles as graphs.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tb_npu_plugin.capture.simulation.launch import Launch, Rule, launch, rule_of, vector
from tb_npu_plugin.capture.simulation.work import TYPES, Shape, Shapes, Tensor, Tensors, Types
from tb_npu_plugin.schema.chips import Chip

#: Formats of images and of filters in graphs: channels in blocks of 32 bytes, filters in blocks of 16 as well.
_IMAGE, _FILTER = "NC1HWC0", "FRACTAL_Z"
_BLOCK, _FILTERS = 32, 16
_API = "aclopCompileAndExecute"


def _stored(tensor: Tensor, format_: str) -> Tensor:
    """How a tensor (n, c, h, w) lies in memory in this format."""
    first, channels, height, width = tensor.shape
    block = _BLOCK // TYPES.get(tensor.type, ("", 2))[1]
    blocks = -(-channels // block)
    shapes: dict[str, Shape] = {
        _IMAGE: (first, blocks, height, width, block),
        _FILTER: (blocks * height * width, -(-first // _FILTERS), _FILTERS, block),
    }
    return Tensor(shapes.get(format_, tensor.shape), tensor.type, format_)


class KernelFactory:
    """Kernels of one chip, each made once. stalls: factor of the time of matrix products, in which their units stall;
    blocks: most of a matrix product, 0: as many as it has tiles or the chip cores."""

    def __init__(self, chip: Chip, stalls: float = 1.0, blocks: int = 0) -> None:
        self.chip, self._stalls, self._blocks = chip, stalls, blocks
        self._known: dict[tuple[str, Tensors, Tensors], tuple[Launch, ...]] = {}
        self._graphs: dict[tuple[str, Tensors], int] = {}  # compiled operators: each has a number in its name
        self._transfers = 0
        own = self._matmul, self._conv, self._conv_grad, self._attention, self._gather, self._dropout
        walks = self._reduction, self._adam, self._elementwise
        self._makers = {method.__name__[1:]: method for method in (*own, *walks)}  # by Rule.kind

    def launches(self, op: str, shapes: Shapes, types: Types, outputs: Tensors = ()) -> tuple[Launch, ...]:
        """What an operator launches; nothing for a view. shapes, types: of its inputs, in order; outputs: where they are
        not known they follow from the inputs."""
        inputs = tuple(Tensor(shape, type_, plain_format(shape)) for shape, type_ in zip(shapes, types))
        key = (op, inputs, outputs)
        if key not in self._known:
            rule = rule_of(op) if shapes or outputs else None
            self._known[key] = tuple(self._makers[rule.kind](rule, inputs, outputs)) if rule else ()
        return self._known[key]

    def _matmul(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """(m, k) by (k, n), as the last two tensors; addmm has the bias in front."""
        left, right = inputs[-2:]
        out = outputs or (Tensor((*left.shape[:-1], right.shape[-1]), right.type),)
        *batch, rows, columns = (1, 1, *out[0].shape)
        blocks = min(self.chip.cube_cores, prod(batch) * -(-rows // 128) * -(-columns // 256))
        used = min(self._blocks or blocks, blocks)
        made = launch(self.chip, rule, (left, right, *inputs[:-2]), out, used)
        pipes = {unit: share / self._stalls for unit, share in made.kernel.pipes.items()}
        return [replace(made, kernel=replace(made.kernel, pipes=pipes), ns=int(made.ns * self._stalls * blocks / used))]

    def _conv(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """(n, c, h, w) by (o, c, kh, kw), with the bias behind; or image, weight and result. Tensors outside graphs are NCHW."""
        image, weight, result = map(_flat, (*inputs[:2], *outputs[:1]) if outputs else inputs[:3])
        operands = _stored(image, _IMAGE), _stored(weight, _FILTER)
        return [
            self._transfer(image, "NCHW", _IMAGE),
            self._transfer(weight, "NCHW", _FILTER),
            self._compiled("Conv2D", operands, _stored(result, _IMAGE)),
            self._transfer(result, _IMAGE, "NCHW"),
        ]

    def _conv_grad(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """Gradient of the result, image and weight; or image, weight and result. Two graphs: the gradients of the input and of
        the weight."""
        result, image, weight = map(_flat, inputs[:3] if outputs else (inputs[2], *inputs[:2]))
        sizes = Tensor((4,), "int", "NCHW")  # four sizes say what is asked for
        before, after, filters = _stored(result, _IMAGE), _stored(image, _IMAGE), _stored(weight, _FILTER)
        return [
            self._transfer(weight, "NCHW", _FILTER),
            self._transfer(result, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropInput", (sizes, filters, before), after),
            self._transfer(image, _IMAGE, "NCHW"),
            self._transfer(image, "NCHW", _IMAGE),
            self._transfer(result, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropFilter", (after, sizes, before), filters),
            self._transfer(weight, _FILTER, "NCHW"),
        ]

    def _compiled(self, type_: str, inputs: Tensors, output: Tensor) -> Launch:
        number = self._graphs.setdefault((type_, (*inputs, output)), len(self._graphs) + 1)
        rule, cores = Rule("", _API, "", type_, "AI_CORE"), self.chip.cube_cores
        return replace(launch(self.chip, rule, inputs, (output,), cores, f"{type_}{number}"), compiled=True)

    def _transfer(self, tensor: Tensor, source: str, target: str) -> Launch:
        """Another format of a tensor: _IMAGE and _FILTER pad it."""
        number, self._transfers = self._transfers, self._transfers + 1
        given, made, blocks = (_stored(tensor, source),), (_stored(tensor, target),), min(32, self.chip.vector_cores)
        return launch(self.chip, Rule("", _API, "", "TransData"), given, made, blocks, f"trans_TransData_{number}")

    def _attention(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """Query, key and value as (batch, heads, sequence, size of a head); causal: half of the products."""
        batch, heads, length, _ = (*inputs[0].shape, 1, 1, 1)[:4]
        passes = 3.0 * batch * heads * length * length / max(1, prod(inputs[0].shape))
        softmax = Rule(rule.kind, rule.api, rule.l0, rule.type, rule.core, passes)
        out = outputs or inputs[:1] * (1 if "Grad" not in rule.type else 3)
        return [replace(launch(self.chip, softmax, inputs, out, self.chip.cube_cores), workspace=32 << 20)]

    def _gather(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """Rows of a table, by index: as many bytes are read as written."""
        table, index = inputs[0], inputs[-1]
        out = outputs or (Tensor((*index.shape, table.shape[-1]), table.type),)
        return [launch(self.chip, rule, inputs, out, self.chip.vector_cores, read=out[:1])]

    def _dropout(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        bits = Tensor((-(-prod(inputs[0].shape) // 8),), "unsigned char")
        apply = vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore")
        return [launch(self.chip, rule, (), (bits,), 0), *self._elementwise(apply, (inputs[0], bits), outputs[:1])]

    def _reduction(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """To one element, where the output is not known."""
        return self._elementwise(rule, inputs, outputs or (Tensor((), inputs[0].type),))

    def _adam(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """Parameters, both moments and gradients: all but the last are written, too."""
        return self._elementwise(rule, inputs, inputs[:3])

    def _elementwise(self, rule: Rule, inputs: Tensors, outputs: Tensors) -> list[Launch]:
        """Anything that walks over its inputs; the output is as large as the first one, where it is not known."""
        out = outputs or inputs[:1]
        elements = max(prod(tensor.shape) for tensor in (*inputs, *out))
        blocks = min(self.chip.vector_cores, max(1, -(-elements // 1024)))  # one for so many elements
        blocks = 1 if rule.core == "AI_CPU" else blocks
        return [launch(self.chip, rule, inputs, out, blocks, read=inputs[1:] if rule.filled else inputs)]


def plain_format(shape: Shape) -> str:
    """Format of a tensor that no graph has changed."""
    return "NCHW" if len(shape) == 4 else "FORMAT_ND"


def _flat(image: Tensor) -> Tensor:
    """(n, c, ...) as (n, c, h, w)."""
    shape = image.shape
    if len(shape) == 3:
        shape = (shape[0], shape[1], 1, shape[2])
    return Tensor(shape if len(shape) <= 4 else (*shape[:3], prod(shape[3:])), image.type, "NCHW")
