"""Convolutions, which CANN compiles as graphs: with tensors in blocked formats, and transfers to them and back."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.launch import Launch, launch
from tb_npu_plugin.capture.simulation.rules import Rule
from tb_npu_plugin.capture.simulation.work import TYPES, Shape, Tensor, Tensors

#: Formats of images and of filters in graphs: channels in blocks of 32 bytes, filters in blocks of 16 as well.
_IMAGE, _FILTER = "NC1HWC0", "FRACTAL_Z"
_BLOCK, _FILTERS = 32, 16
_API = "aclopCompileAndExecute"


def _stored(tensor: Tensor, format_: str) -> Tensor:
    """How a tensor (n, c, h, w) lies in memory in this format."""
    first, channels, height, width = tensor.shape
    block = _BLOCK // TYPES.get(tensor.type, ("", 2))[1]
    blocks = -(-channels // block)
    shape: Shape = tensor.shape
    if format_ == _IMAGE:
        shape = (first, blocks, height, width, block)
    elif format_ == _FILTER:
        shape = (blocks * height * width, -(-first // _FILTERS), _FILTERS, block)
    return Tensor(shape, tensor.type, format_)


class Graphs:
    """Compiled operators of one chip: each has a number in its name."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self._numbers: dict[tuple[str, Tensors], int] = {}
        self._transfers = 0

    def convolution(self, image: Tensor, weight: Tensor, result: Tensor) -> list[Launch]:
        """(n, c, h, w) by (o, c, kh, kw). Tensors outside graphs are NCHW."""
        inputs = (_stored(image, _IMAGE), _stored(weight, _FILTER))
        return [
            self._transfer(image, "NCHW", _IMAGE),
            self._transfer(weight, "NCHW", _FILTER),
            self._compiled("Conv2D", inputs, _stored(result, _IMAGE)),
            self._transfer(result, _IMAGE, "NCHW"),
        ]

    def gradients(self, image: Tensor, weight: Tensor, result: Tensor) -> list[Launch]:
        """Two graphs: the gradients of the input and of the weight."""
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
        number = self._numbers.setdefault((type_, (*inputs, output)), len(self._numbers) + 1)
        rule = Rule("", _API, "", type_, "AI_CORE")
        made = launch(self.chip, rule, inputs, (output,), self.chip.cube_cores, f"{type_}{number}")
        return replace(made, compiled=True)

    def _transfer(self, tensor: Tensor, source: str, target: str) -> Launch:
        """Another format of a tensor: _IMAGE and _FILTER pad it."""
        number, self._transfers = self._transfers, self._transfers + 1
        given, made = _stored(tensor, source), _stored(tensor, target)
        rule = Rule("", _API, "", "TransData")
        blocks = min(32, self.chip.vector_cores)
        return launch(self.chip, rule, (given,), (made,), blocks, f"trans_TransData_{number}")
