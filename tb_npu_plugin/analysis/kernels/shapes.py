"""Parses the shapes of many kernels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import FloatArray, IntArray, StringColumn
from tb_npu_plugin.texts import TextList

#: Largest plausible size of a tensor, elements; larger products are damaged shapes.
MOST_ELEMENTS = 1 << 48
#: Most digits of a dimension.
MOST_DIGITS = 15


@dataclass(frozen=True)
class Shapes:
    """The tensors of texts such as "2048,4096;4096". Text n has the tensors text_ends[n] to text_ends[n + 1], tensor n the
    dimensions dim_ends[n] to dim_ends[n + 1].

    dims    dimensions
    sizes   elements of each tensor; -1 if it is damaged or they are too many
    """

    text_ends: IntArray
    dim_ends: IntArray
    dims: IntArray
    sizes: IntArray


def parse_shapes(texts: TextList) -> Shapes:
    """The shapes of texts."""
    first, last = int(texts.ends[0]), int(texts.ends[-1])
    data = np.frombuffer(texts.blob[first:last], dtype=np.uint8)
    data = np.insert(data, texts.ends[1:] - first, ord(";"))  # each tensor ends with ";"
    tensor_ends = np.flatnonzero(data == ord(";"))
    last_bytes = texts.ends[1:] - first + np.arange(len(texts))
    text_ends = np.append(0, np.searchsorted(tensor_ends, last_bytes, side="right"))
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    follows_digit, precedes_digit = np.append(False, is_digit[:-1]), np.append(is_digit[1:], False)
    heads = np.flatnonzero(is_digit & ~follows_digit)
    digits = np.flatnonzero(is_digit & ~precedes_digit) + 1 - heads
    dims = _numbers(data, heads, digits)
    dim_ends = np.append(0, np.searchsorted(heads, tensor_ends))
    is_sound = is_digit | (data == ord(";")) | ((data == ord(",")) & follows_digit & precedes_digit)
    damaged = np.append(np.flatnonzero(~is_sound), heads[digits > MOST_DIGITS])
    sizes = _products(dims, dim_ends)
    sizes[np.searchsorted(tensor_ends, damaged)] = -1
    return Shapes(text_ends, dim_ends, dims, sizes)


def pack_texts(values: Sequence[str], codes: NDArray[np.int32]) -> TextList:
    """The values with these codes."""
    return values.take(codes) if isinstance(values, TextList) else TextList.of(values[code] for code in codes.tolist())


def _numbers(data: NDArray[np.uint8], heads: IntArray, digits: IntArray) -> IntArray:
    """The numbers of so many digits that begin at these places; of longer ones, the first MOST_DIGITS."""
    out = np.zeros(len(heads), dtype=np.int64)
    rows = np.arange(len(heads))
    for place in range(min(int(digits.max(initial=0)), MOST_DIGITS)):
        rows = rows[digits[rows] > place]
        out[rows] = 10 * out[rows] + data[heads[rows] + place] - ord("0")
    return out


def _products(dims: IntArray, ends: IntArray) -> IntArray:
    """Products of the dimensions of each tensor; -1 if too large."""
    out = np.ones(len(ends) - 1)
    rows = np.flatnonzero(ends[1:] > ends[:-1])
    if len(rows):
        out[rows] = np.multiply.reduceat(dims.astype(np.float64), ends[rows])
    return np.where(out <= MOST_ELEMENTS, out, -1).astype(np.int64)  # exact up to there


# Operations of many matrix multiplications at once: where sequences differ in length, so do most of their shapes.


@dataclass(frozen=True)
class Side:
    """Inputs or outputs of kernels, as their files name them."""

    shapes: StringColumn
    types: StringColumn
    formats: StringColumn

    def take(self, rows: IntArray) -> Side:
        """The same of some kernels."""
        return Side(self.shapes.take(rows), self.types.take(rows), self.formats.take(rows))


def matmul_operations(inputs: Side, outputs: Side) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Floating-point operations of matrix multiplications, NaN where the shapes do not fit; and in which rows all tensors
    are plain. The operations of other rows (FRACTAL_NZ, tensors without elements, damaged shapes) are NaN."""
    (left, right), is_plain = _matrices(inputs, 2)
    (made,), is_output = _matrices(outputs, 1)
    is_plain &= is_output & (_tensors(outputs.types) == 1)
    inner = np.where(left.rows == made.rows, left.columns, np.where(left.columns == made.rows, left.rows, -1))
    fits = (right.rows == inner) & (right.columns == made.columns)
    fits |= (right.rows == made.columns) & (right.columns == inner)
    return np.where(is_plain & fits, 2.0 * made.size * inner, np.nan), is_plain


@dataclass(frozen=True)
class _Matrices:
    """One tensor of each kernel: its last two dimensions, and its elements."""

    rows: IntArray
    columns: IntArray
    size: IntArray


def _matrices(side: Side, count: int) -> tuple[list[_Matrices], NDArray[np.bool_]]:
    """The first `count` tensors of each kernel, and the mask of the kernels where they are plain matrices with elements."""
    codes, places = np.unique(side.shapes.codes, return_inverse=True)
    shapes = parse_shapes(pack_texts(side.shapes.values, codes))
    first, many = shapes.text_ends[:-1][places], np.diff(shapes.text_ends)[places]
    is_plain = (np.minimum.reduceat(shapes.sizes, shapes.text_ends[:-1]) >= 0)[places]
    is_plain &= (many >= count) & (many == _tensors(side.types))
    is_plain &= ~side.formats.matching(lambda text: "FRACTAL_NZ" in text)
    dims = np.append(shapes.dims, [0, 0])  # for tensors with fewer than two
    found = []
    for number in range(count):
        tensor = np.minimum(first + number, len(shapes.sizes) - 1)
        end, size = shapes.dim_ends[tensor + 1], shapes.sizes[tensor]
        is_plain &= (end - shapes.dim_ends[tensor] >= 2) & (size > 0)
        found.append(_Matrices(dims[end - 2], dims[end - 1], size))
    return found, is_plain


def _tensors(types: StringColumn) -> IntArray:
    """Number of data types of each kernel."""
    codes, places = np.unique(types.codes, return_inverse=True)
    return np.asarray([types.values[code].count(";") + 1 for code in codes.tolist()])[places]
