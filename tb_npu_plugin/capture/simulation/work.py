"""What a kernel has to do: operations and bytes, from its type and its tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import NamedTuple

from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.kernel_meaning import own_meaning_of

Shape = tuple[int, ...]
#: Of the tensors of an operator.
Shapes = Sequence[Shape]
Types = Sequence[str]
ELEMENT_TYPES = read_table(__file__, "element_types.csv", dict[str, str])
#: C++ names of element types as PyTorch records them -> (CANN name, bytes).
TYPES = {name: (row["cann"], int(row["bytes"])) for name, row in ELEMENT_TYPES.items()}


class Tensor(NamedTuple):
    """A tensor of a kernel. type: as in TYPES; format: as in kernel_details.csv."""

    shape: Shape
    type: str = "float"
    format: str = "FORMAT_ND"

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * TYPES.get(self.type, ("", 4))[1]


Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class Work:
    """What a kernel does: what its counters count. Bytes are those of global memory."""

    cube_flops: float = 0.0
    vector_flops: float = 0.0
    read: int = 0
    written: int = 0
    cached: int = 0  # of those that are read the ones that the L2 cache has
    kept: int = 0  # of those that are written the ones that stay there
    slower: float = 1.0  # time of the matrix units by that in FP16; vector units take up to twice as long

    @property
    def main_read(self) -> int:
        """Bytes from the main memory."""
        return self.read - self.cached

    @property
    def main_written(self) -> int:
        """Bytes that go to the main memory at once."""
        return self.written - self.kept


#: Time of the matrix units in FP32 by that in FP16: with HF32, which convolutions take by default, and without.
HF32, FP32 = 2.0, 4.0
#: Of what moves and computes nothing.
NO_WORK = Work()
#: Channels that the matrix units take at once.
_CHANNELS = 16
#: Matrix products of an attention, forward and backward.
_PRODUCTS, _PRODUCTS_BACKWARD = 2.0, 5.0


def _meaning(type_: str) -> str:
    """What kernels of this type do, by schema/kernel_meaning.csv; "" if it does not know them."""
    found = own_meaning_of(type_, "kernel_type")
    return found.meaning if found is not None else ""


def is_convolution(type_: str) -> bool:
    """Kernels of this type are convolutions or their gradients."""
    return _meaning(type_) in ("conv_forward", "conv_backward")


def cube_flops(type_: str, inputs: Tensors, outputs: Tensors) -> float:
    """Operations of the matrix units of a kernel; 0 if its type does not use them."""
    meaning = _meaning(type_)
    if meaning in ("matmul", "grouped_matmul") and len(inputs) >= 2:
        # (m, k) by (k, n), either turned or not, with or without a batch in front: k follows from the three sizes
        left, right, out = inputs[0].shape, inputs[1].shape, outputs[0].shape
        batch, both = prod(out[:-2]) if len(right) > 2 else 1, prod(left) * prod(right)
        return 2.0 * prod(out) * (isqrt(both // max(1, prod(out) * batch)) if both else 0)
    if is_convolution(type_) and len(inputs) >= 2:
        image = outputs[0] if type_.endswith("Input") else inputs[0]
        result = inputs[-1] if "Backprop" in type_ else outputs[0]
        weight = outputs[0] if type_.endswith("Filter") else inputs[1]
        places = result.shape[0] * prod(result.shape[2:4])  # (n, c, h, w) or (n, c1, h, w, c0), without channels
        channels = image.shape[1] * image.shape[4] if len(image.shape) == 5 else weight.shape[1]
        padding = -(-channels // _CHANNELS) * _CHANNELS / channels  # the matrix units take whole blocks of channels
        return 2.0 * places * prod(weight.shape) * padding
    if meaning == "attention":
        batch, heads, length, size = (*inputs[0].shape, 1, 1, 1, 1)[:4]
        keys = inputs[1].shape[-2] if len(inputs[1].shape) > 1 else length
        return 2.0 * (_PRODUCTS_BACKWARD if "Grad" in type_ else _PRODUCTS) * batch * heads * length * keys * size
    return 0.0


def work_of(chip: Chip, type_: str, inputs: Tensors, outputs: Tensors, fresh: bool = True, passes: float = 1.0) -> Work:
    """What a kernel does. fresh: its first input was just written (not tables and parameters); passes: operations of the
    vector units for each element of the largest tensor."""
    sizes = [tensor.size for tensor in inputs]
    cached = in_cache(chip, sizes[0]) if sizes and fresh else 0
    kept = sum(in_cache(chip, tensor.size) for tensor in outputs)
    elements = max([0, *(prod(tensor.shape) for tensor in (*inputs, *outputs))])
    single = bool(outputs) and outputs[0].type == "float"
    slower = (HF32 if is_convolution(type_) else FP32) if single else 1.0
    flops = cube_flops(type_, inputs, outputs)
    return Work(flops, elements * passes, sum(sizes), sum(tensor.size for tensor in outputs), cached, kept, slower)


def in_cache(chip: Chip, size: int) -> int:
    """Bytes of a tensor that was just written, or is now, that the L2 cache serves: it may take half of it."""
    return min(size, chip.cache // 2)
