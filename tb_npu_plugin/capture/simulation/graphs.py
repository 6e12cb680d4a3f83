"""Convolutions, which CANN compiles as graphs: with tensors in blocked formats, and transfers to them and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.launch import TYPES, Launch, Shape, launch, work_of
from tb_npu_plugin.capture.simulation.rules import Rule

#: Formats of images and of filters in graphs: channels in blocks of 32 bytes, filters in blocks of 16 as well.
_IMAGE, _FILTER = "NC1HWC0", "FRACTAL_Z"
_BLOCK, _FILTERS = 32, 16


def _stored(shape: Shape, format_: str, item: int) -> Shape:
    """How a tensor of four dimensions lies in memory; item: bytes of an element."""
    if format_ not in (_IMAGE, _FILTER):
        return shape
    first, channels, height, width = shape
    block = _BLOCK // item
    blocks = -(-channels // block)
    if format_ == _IMAGE:
        return first, blocks, height, width, block
    return blocks * height * width, -(-first // _FILTERS), _FILTERS, block


class Graphs:
    """Compiled operators of one chip: each has a number in its name."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self._numbers: dict[tuple[str, tuple[Shape, ...]], int] = {}
        self._transfers = 0

    def convolution(self, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """(n, c, h, w) by (o, c, kh, kw); the third shape is that of the output. What is no graph comes as NCHW."""
        image, weight, result = shapes[:3]
        type_ = types[0]
        return [
            self._transfer(image, type_, "NCHW", _IMAGE),
            self._transfer(weight, type_, "NCHW", _FILTER),
            self._compiled("Conv2D", shapes, type_, ((image, _IMAGE), (weight, _FILTER)), (result, _IMAGE)),
            self._transfer(result, type_, _IMAGE, "NCHW"),
        ]

    def gradients(self, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Two graphs: the gradients of the input and of the weight."""
        image, weight, result = shapes[:3]
        type_, size = types[0], ((4,), "NCHW")  # what is asked for is told by its four sizes
        before, after = (result, _IMAGE), (image, _IMAGE)
        return [
            self._transfer(weight, type_, "NCHW", _FILTER),
            self._transfer(result, type_, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropInput", shapes, type_, (size, (weight, _FILTER), before), after),
            self._transfer(image, type_, _IMAGE, "NCHW"),
            self._transfer(image, type_, "NCHW", _IMAGE),
            self._transfer(result, type_, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropFilter", shapes, type_, (after, size, before), (weight, _FILTER)),
            self._transfer(weight, type_, _FILTER, "NCHW"),
        ]

    def _compiled(
        self,
        type_: str,
        shapes: tuple[Shape, ...],
        element: str,
        inputs: Sequence[tuple[Shape, str]],
        output: tuple[Shape, str],
    ) -> Launch:
        """An operator of a graph. shapes: of the image, the weight and the result; inputs, output: with their formats."""
        number = self._numbers.setdefault((type_, shapes), len(self._numbers) + 1)
        image, weight, result = shapes[:3]
        flops = 2.0 * prod(result) * weight[1] * weight[2] * weight[3]
        item = TYPES.get(element, ("", 2))[1]
        first, others = (image, (weight, result)) if type_ == "Conv2D" else (result, (weight, image))
        read = sum(map(prod, others)) * item
        work = work_of(self.chip, prod(output[0]) * item, prod(first) * item, read, flops * 1.3)
        rule = Rule("", "aclopCompileAndExecute", "", type_, "AI_CORE")
        stored = tuple(_stored(shape, format_, item) for shape, format_ in inputs)
        types = tuple("int" if format_ == "NCHW" else element for _, format_ in inputs)
        made = launch(
            self.chip,
            rule,
            stored,
            types,
            _stored(*output, item),
            work,
            self.chip.cube_cores,
            f"{type_}{number}",
            ";".join(format_ for _, format_ in inputs),
            output[1],
            element,
        )
        return Launch(made.kernel, made.ns, made.api, compiled=True)

    def _transfer(self, shape: Shape, type_: str, source: str, target: str) -> Launch:
        """Another format of a tensor: _IMAGE and _FILTER pad it."""
        number, self._transfers = self._transfers, self._transfers + 1
        item = TYPES.get(type_, ("", 2))[1]
        given, made = _stored(shape, source, item), _stored(shape, target, item)
        rule = Rule("", "aclopCompileAndExecute", "", "TransData")
        name = f"trans_TransData_{number}"
        work = work_of(self.chip, prod(made) * item, prod(given) * item, vector_flops=prod(shape))
        blocks = min(32, self.chip.vector_cores)
        return launch(self.chip, rule, (given,), (type_,), made, work, blocks, name, source, target)
