"""Operations of many matrix multiplications at once: where sequences differ in length, so do most of their shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels.shapes import pack_texts, parse_shapes
from tb_npu_plugin.tables import FloatArray, IntArray, StringColumn


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
