"""Floating-point operations and least memory traffic of a kernel, from the shapes, types and formats of its tensors.

Sources of the formulas: docs/kernel.md, Bound and roofline. Shapes are those in memory: where a format pads channels
(NC1HWC0, FRACTAL_Z), the padding counts, since the matrix unit computes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.kernels.shapes import (
    MOST_DIGITS,
    MOST_ELEMENTS,
    Side,
    matmul_operations,
    pack_texts,
    parse_shapes,
)
from tb_npu_plugin.schema.torch_npu_csv import TENSORS
from tb_npu_plugin.tables import (
    NULL_INT,
    Column,
    Data,
    FloatArray,
    IntArray,
    Kind,
    StringColumn,
    Table,
    column_texts,
    known,
)

GFLOPS = Column("gflops", Kind.FLOAT, *column_texts("gflops"), "metric")
LEAST_BYTES = Column("least_bytes", Kind.BYTES, *column_texts("least_bytes"), "metric")
#: Rows, and distinct texts, that are worked on at once.
_AT_ONCE = 1 << 17
_KEYS = ("type", *TENSORS)
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
_DIM = f"[0-9]{{1,{MOST_DIGITS}}}"
_DIMS = f"(?:{_DIM}(?:,{_DIM})*)?"
_SHAPES = re.compile(f"{_DIMS}(?:;{_DIMS})*")
#: Products of matrices in flash attention: Q x K and P x V; backward recomputes the first and adds four.
_FLASH_FORWARD, _FLASH_BACKWARD = 2, 5


class Tensor(NamedTuple):
    """A tensor of a kernel. dims: dimensions in memory, () for a scalar; type and format as written, without "DT_"."""

    dims: tuple[int, ...]
    type: str
    format: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.dims)


#: Type of a kernel, inputs that are not empty, outputs -> operations; None if they do not fit the formula.
Formula = Callable[[str, Sequence[Tensor], Sequence[Tensor]], Optional[int]]


def tensors(shapes: Optional[str], types: Optional[str], formats: Optional[str]) -> Optional[list[Tensor]]:
    """The tensors of one side of a kernel: "2048,4096;4096" with types and formats separated likewise. None if unknown or
    damaged."""
    if shapes is None or types is None or not _SHAPES.fullmatch(shapes):
        return None
    all_dims, all_types = shapes.split(";"), types.split(";")
    all_formats = (formats or "").split(";")
    if len(all_dims) != len(all_types):
        return None
    if len(all_formats) != len(all_dims):
        all_formats = [""] * len(all_dims)
    out = [
        Tensor(tuple(map(int, dims.split(","))) if dims else (), type.removeprefix("DT_"), format.partition(":")[0])
        for dims, type, format in zip(all_dims, all_types, all_formats)
    ]
    return None if any(one.size > MOST_ELEMENTS for one in out) else out


def least_bytes(shapes: StringColumn, types: StringColumn) -> IntArray:
    """Bytes of all tensors of one side of each kernel; unknown where `tensors` or the size of a type is."""
    parts = [_sizes(shapes.values, codes) for codes in _pieces(np.arange(len(shapes.values), dtype=np.int32))]
    sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(part for part, _ in parts)])
    size_ends = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *(counts for _, counts in parts)]))
    widths, width_ends = _widths(types.values)
    codes = zip(_pieces(shapes.codes), _pieces(types.codes))
    return np.concatenate(
        [np.zeros(0, dtype=np.int64), *(_bytes_of(*pair, sizes, size_ends, widths, width_ends) for pair in codes)]
    )


def _pieces(values: Any) -> list[Any]:
    """The values in slices of at most _AT_ONCE."""
    return [values[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE)]


def _bytes_of(
    shape: NDArray[np.int32],
    type: NDArray[np.int32],
    sizes: IntArray,
    size_ends: IntArray,
    widths: IntArray,
    width_ends: IntArray,
) -> IntArray:
    """Bytes of all tensors of each row. shape, type: codes of the row; sizes, widths: of all tensors; the tensors of code n are
    those from size_ends[n] (width_ends[n]) to the next."""
    count = np.append(np.diff(size_ends), -1)[shape]  # code -1 is the last entry
    rows = np.flatnonzero((count > 0) & (count == np.append(np.diff(width_ends), -1)[type]))
    out = np.full(len(shape), NULL_INT)
    if not len(rows):
        return out
    count = count[rows]
    first = np.cumsum(count) - count  # of each row, in the tensors of these rows
    within = np.arange(count.sum()) - np.repeat(first, count)
    size = sizes[np.repeat(size_ends[shape[rows]], count) + within]
    width = widths[np.repeat(width_ends[type[rows]], count) + within]
    total = np.add.reduceat(size * width, first)
    is_known = np.logical_and.reduceat((size >= 0) & (width > 0), first)
    out[rows[is_known]] = total[is_known]
    return out


def _sizes(texts: Sequence[str], codes: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Elements of all tensors of some shapes, and the number of tensors of each shape."""
    shapes = parse_shapes(pack_texts(texts, codes))
    return shapes.sizes, np.diff(shapes.text_ends)


def _widths(texts: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Bytes of an element by tensor, 0 if unknown, and where each text of types begins among them."""
    types = [text.split(";") for text in texts]
    widths = [SIZES.get(type.removeprefix("DT_"), 0) for one in types for type in one]
    return np.array(widths, dtype=np.int64), np.append(0, np.cumsum([len(one) for one in types], dtype=np.int64))


def operations(type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Optional[int]:
    """Floating-point operations of a kernel by its type; None if unknown."""
    found = _formula(type)
    return None if found is None else found(type, [one for one in inputs if one.size], outputs)


@lru_cache(maxsize=1024)
def _formula(type: str) -> Optional[Formula]:
    return next((formula for pattern, formula in _FORMULAS if pattern.search(type)), None)


def multiplies(type: str) -> bool:
    """Whether kernels of a type are matrix products or convolutions."""
    return _formula(type) in (_matmul, _convolution)


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


_FORMULAS: tuple[tuple[re.Pattern[str], Formula], ...] = (
    (re.compile(r"^FlashAttention(Score|UnpaddingScore)?(Grad)?(V\d)?$"), _flash_attention),
    (re.compile(r"mat_?mul|gemm|^bmm", re.IGNORECASE), _matmul),
    (re.compile(r"conv[23]d", re.IGNORECASE), _convolution),
)


def with_work(kernels: Table) -> Table:
    """The kernels with GFLOPS and LEAST_BYTES; a column without any known value is left out."""
    if not kernels.has("input_shapes") or not len(kernels):
        return kernels
    extra: list[tuple[Column, Data]] = []
    is_other = is_communication(kernels)
    flops, moved = _gflops(kernels), _traffic(kernels)
    flops[is_other], moved[is_other] = np.nan, NULL_INT
    if not np.isnan(flops).all():
        extra.append((GFLOPS, flops))
    if known(moved).any():
        extra.append((LEAST_BYTES, moved))
    return kernels.with_columns(extra)


def _traffic(kernels: Table) -> IntArray:
    """Least traffic of each kernel."""
    sides = [least_bytes(kernels.text(f"{side}_shapes"), kernels.text(f"{side}_types")) for side in ("input", "output")]
    return np.where(known(sides[0]) & known(sides[1]), sides[0] + sides[1], NULL_INT)


def _gflops(kernels: Table) -> FloatArray:
    """GFLOPs of each kernel; unknown for types without a formula."""
    out = np.full(len(kernels), np.nan)
    texts = [kernels.text(key) for key in _KEYS]
    rows = np.flatnonzero(texts[0].matching(_formula))
    for piece in _pieces(rows):
        out[piece] = _gflops_of([text.take(piece) for text in texts])
    return out


def _gflops_of(keys: Sequence[StringColumn]) -> FloatArray:
    """GFLOPs of kernels whose type has a formula; keys: those of _KEYS."""
    out = np.full(len(keys[0]), np.nan)
    is_open = np.ones(len(out), dtype=np.bool_)
    inputs, outputs = Side(*keys[1:4]), Side(*keys[4:])
    is_known = np.logical_and.reduce(
        [side.codes >= 0 for side in (inputs.shapes, inputs.types, outputs.shapes, outputs.types)]
    )
    rows = np.flatnonzero(keys[0].matching(lambda type: _formula(type) is _matmul) & is_known)
    if len(rows):
        found, is_plain = matmul_operations(inputs.take(rows), outputs.take(rows))
        out[rows], is_open[rows] = found / 1e9, ~is_plain
    rows = np.flatnonzero(is_open)
    groups = Groups([key.take(rows) for key in keys], len(rows))
    each = [_operations(*one) for one in zip(*(key.take(rows[groups.first]).tolist() for key in keys))]
    out[rows] = np.array([np.nan if one is None else one / 1e9 for one in each])[groups.of_row]
    return out


def _operations(type: Optional[str], *texts: Optional[str]) -> Optional[int]:
    """Operations of one kind of kernel; texts: those of _KEYS after the type."""
    inputs, outputs = tensors(*texts[:3]), tensors(*texts[3:])
    return None if inputs is None or outputs is None else operations(type or "", inputs, outputs)
