"""Floating-point operations and least memory traffic of a kernel, from the shapes, types and formats of its tensors.

Sources of the formulas: docs/kernel.md, Bound and roofline. Shapes are those in memory: where a format pads channels
(NC1HWC0, FRACTAL_Z), the padding counts, since the matrix unit computes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.statistics import is_communication
from tb_npu_plugin.tables import NULL_INT, Column, Data, FloatArray, IntArray, Kind, Table

GFLOPS = Column(
    "gflops",
    Kind.FLOAT,
    "GFLOPs",
    "Work of matrix multiplications, convolutions and flash attention, 1e9 floating-point operations, from their shapes.",
    "metric",
)
LEAST_BYTES = Column(
    "least_bytes",
    Kind.BYTES,
    "Least traffic",
    "Sum of the sizes of inputs and outputs: the kernel moves at least as much.",
    "metric",
)
_KEYS = (
    "type",
    "input_shapes",
    "input_types",
    "input_formats",
    "output_shapes",
    "output_types",
    "output_formats",
)
#: Bytes of an element, by data type without the prefix "DT_".
SIZES = {
    **dict.fromkeys(("INT8", "UINT8", "BOOL", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"), 1),
    **dict.fromkeys(("FLOAT16", "BF16", "INT16", "UINT16"), 2),
    **dict.fromkeys(("FLOAT", "FLOAT32", "INT32", "UINT32"), 4),
    **dict.fromkeys(("DOUBLE", "INT64", "UINT64", "COMPLEX64"), 8),
    "COMPLEX128": 16,
}
#: Dimensions of a format that count output positions of a convolution: batch, depth, height, width.
_POSITIONS = {
    "NCHW": (0, 2, 3),
    "NHWC": (0, 1, 2),
    "NC1HWC0": (0, 2, 3),
    "NCDHW": (0, 2, 3, 4),
    "NDHWC": (0, 1, 2, 3),
    "NDC1HWC0": (0, 1, 3, 4),
}
#: Formats of tensors without one, by the number of dimensions.
_PLAIN = {4: "NCHW", 5: "NCDHW"}
#: Largest plausible size of a tensor, elements; larger products are damaged shapes.
_MOST_ELEMENTS = 1 << 48
#: Products of matrices in flash attention: Q x K and P x V; backward recomputes the first and adds four.
_FLASH_FORWARD, _FLASH_BACKWARD = 2, 5


@dataclass(frozen=True)
class Tensor:
    """A tensor of a kernel. dims: dimensions in memory, () for a scalar; type and format as written, without "DT_"."""

    dims: tuple[int, ...]
    type: str
    format: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.dims)


def tensors(shapes: Optional[str], types: Optional[str], formats: Optional[str]) -> Optional[list[Tensor]]:
    """The tensors of one side of a kernel: "2048,4096;4096" with types and formats separated likewise. None if unknown or
    damaged."""
    if shapes is None or types is None:
        return None
    all_dims, all_types = shapes.split(";"), types.split(";")
    all_formats = (formats or "").split(";")
    if len(all_dims) != len(all_types):
        return None
    if len(all_formats) != len(all_dims):
        all_formats = [""] * len(all_dims)
    out = []
    for text, type, format in zip(all_dims, all_types, all_formats):
        dims = text.split(",") if text else []
        if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in dims):
            return None
        tensor = Tensor(tuple(map(int, dims)), type.removeprefix("DT_"), format.partition(":")[0])
        if tensor.size > _MOST_ELEMENTS:
            return None
        out.append(tensor)
    return out


def least_bytes(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """Sum of the sizes of all tensors; None if the type of one is unknown."""
    sizes = [SIZES.get(tensor.type) for tensor in (*inputs, *outputs)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return sum(tensor.size * size for tensor, size in zip((*inputs, *outputs), known))


def operations(type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """Floating-point operations of a kernel by its type; None if unknown."""
    found = next((formula for pattern, formula in _FORMULAS if pattern.search(type)), None)
    return None if found is None else found(type, [one for one in inputs if one.size], outputs)


def _matmul(type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """2 m n k for each matrix of a batch. Grouped: every row of the input meets one of the weights."""
    if len(inputs) < 2 or len(outputs) != 1:
        return None
    left, right, out = (_logical(tensor) for tensor in (inputs[0], inputs[1], outputs[0]))
    if min(len(left), len(right), len(out)) < 2:
        return None
    rows, columns = out[-2:]
    for inner in {left[-1] if left[-2] == rows else None, left[-2] if left[-1] == rows else None} - {None}:
        assert inner is not None
        if sorted(right[-2:]) == sorted((inner, columns)):
            return 2 * prod(out) * inner
    return None


def _logical(tensor: Tensor) -> tuple[int, ...]:
    """Dimensions of a matrix; FRACTAL_NZ (..., n1, m1, m0, n0) is (..., m1 m0, n1 n0)."""
    if tensor.format == "FRACTAL_NZ" and len(tensor.dims) >= 4:
        *batch, n1, m1, m0, n0 = tensor.dims
        return (*batch, m1 * m0, n1 * n0)
    return tensor.dims


def _convolution(type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """2 x positions x elements of the filter: each position of the output meets each weight once. Backward, the positions
    are those of the gradient of the output; transposed, those of the input."""
    maps = [one for one in inputs if len(one.dims) >= 4]
    if not outputs or len(maps) < 2:
        return None
    if re.search("filter|weight", type, re.IGNORECASE):
        moving, weights = maps[-1], outputs[0]
    elif re.search("backprop|backward|grad", type, re.IGNORECASE):
        weights, moving = maps[0], maps[1]
    else:
        weights, moving = maps[1], maps[0] if re.search("transpose", type, re.IGNORECASE) else outputs[0]
    if re.search("depthwise", type, re.IGNORECASE) and weights.format.startswith("FRACTAL"):
        return None  # stored with zeros between the channels
    format = moving.format if moving.format in _POSITIONS else _PLAIN.get(len(moving.dims), "")
    places = _POSITIONS.get(format, ())
    if not places or places[-1] >= len(moving.dims):
        return None
    return 2 * prod(moving.dims[place] for place in places) * weights.size


def _flash_attention(type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """2 b n sq sk d for each product of matrices, of the whole square: with a causal mask the device computes about half.

    Queries and keys have four dimensions, the last is that of a head. Of the two in the middle, the longer is taken as the
    sequence: heads are at most some dozens. Other layouts cannot be told apart and are unknown.
    """
    if len(inputs) < 3 or len(inputs[0].dims) != 4 or len(inputs[1].dims) != 4:
        return None
    products = _FLASH_BACKWARD if "Grad" in type else _FLASH_FORWARD
    return 2 * products * inputs[0].size * max(inputs[1].dims[1:3])


_FORMULAS = (
    (re.compile(r"^FlashAttention(Score|UnpaddingScore)?(Grad)?(V\d)?$"), _flash_attention),
    (re.compile(r"mat_?mul|gemm|^bmm", re.IGNORECASE), _matmul),
    (re.compile(r"conv[23]d", re.IGNORECASE), _convolution),
)


def with_work(kernels: Table) -> Table:
    """The kernels with GFLOPS and LEAST_BYTES; a column without any known value is left out."""
    if not kernels.has("input_shapes") or not len(kernels):
        return kernels
    keys = [kernels.text(key) for key in _KEYS]
    groups = Groups(keys, len(kernels))
    texts = zip(*(key.take(groups.first).tolist() for key in keys))
    found = [_work(*one) for one in texts]
    flops: FloatArray = np.asarray([np.nan if one[0] is None else one[0] / 1e9 for one in found])[groups.of_row]
    moved: IntArray = np.asarray([NULL_INT if one[1] is None else one[1] for one in found], dtype=np.int64)[
        groups.of_row
    ]
    rows = is_communication(kernels)
    flops[rows], moved[rows] = np.nan, NULL_INT
    extra: list[tuple[Column, Data]] = []
    if not np.isnan(flops).all():
        extra.append((GFLOPS, flops))
    if (moved != NULL_INT).any():
        extra.append((LEAST_BYTES, moved))
    return kernels.with_columns(extra)


def _work(
    type: Optional[str],
    input_shapes: Optional[str],
    input_types: Optional[str],
    input_formats: Optional[str],
    output_shapes: Optional[str],
    output_types: Optional[str],
    output_formats: Optional[str],
) -> tuple[Optional[int], Optional[int]]:
    """(operations, least bytes) of one kind of kernel."""
    inputs = tensors(input_shapes, input_types, input_formats)
    outputs = tensors(output_shapes, output_types, output_formats)
    if inputs is None or outputs is None:
        return None, None
    return operations(type or "", inputs, outputs), least_bytes(inputs, outputs)
