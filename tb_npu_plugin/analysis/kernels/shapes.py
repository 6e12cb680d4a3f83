"""Parses the shapes of many kernels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray
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
