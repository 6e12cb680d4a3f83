"""The binary container of docs/http_api.md: magic, JSON header, columns aligned to 8 bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.json_encoding import encode_json

MAGIC = 0x5542504E
U32_MAX = 2**32 - 1
_ALIGN = 8
_TYPES: dict[str, np.dtype[Any]] = {"u32": np.dtype("<u4"), "f64": np.dtype("<f8")}


def encode(
    header: Mapping[str, Any],
    columns: Mapping[str, tuple[str, NDArray[Any]]],
    less: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> bytes:
    """Header and columns (type "u32" or "f64", values) as bytes. u32 values must be in range.

    less: u32 columns to pack, and the columns that each is sent less of; its own name stands for its previous value.
    """
    placed: dict[str, list[Any]] = {}
    body: list[bytes] = []
    offset = 0
    for name, (kind, values) in columns.items():
        if name in less:
            data = _packed(name, columns, less[name])
            placed[name] = ["packed", offset, len(values), less[name]]
        else:
            data = values.astype(_TYPES[kind], copy=False).tobytes()
            placed[name] = [kind, offset, len(values)]
        padding = -len(data) % _ALIGN
        body += [data, b"\0" * padding]
        offset += len(data) + padding
    text = encode_json({**header, "columns": placed})
    text += b" " * (-(len(text)) % _ALIGN)  # the two u32 before it are 8 bytes
    return b"".join([struct.pack("<II", MAGIC, len(text)), text, *body])


def _packed(name: str, columns: Mapping[str, tuple[str, NDArray[Any]]], less: Sequence[str]) -> bytes:
    """Remainders modulo 2^32, all lowest bytes first: most bytes are 0, and compress well."""
    values = columns[name][1].astype("<u4")
    rest = values.copy()
    for other in less:
        if other == name:
            rest[1:] -= values[:-1]
        else:
            rest -= columns[other][1].astype("<u4")
    return rest.view(np.uint8).reshape(-1, 4).T.tobytes()


class Scale:
    """Encodes the times of one response as u32: multiples of `unit` ns after `base`.

    `unit` is the smallest power of two with which u32 spans the window. `base` is at most one window before t0. Times
    out of range become 0 or U32_MAX.
    """

    def __init__(self, t0: int, t1: int, earliest: int) -> None:
        window = max(t1 - t0, 1)
        self.unit = 1
        while window > U32_MAX * self.unit:
            self.unit *= 2
        if self.unit > 1:  # double the range, for a margin as wide as the window
            self.unit *= 2
        margin = min(window, U32_MAX * self.unit - window)
        self.base = max(t0 - margin, min(earliest, t0))

    @staticmethod
    def around(t0: int, t1: int) -> Scale:
        """A scale whose range extends equally far before and after the window."""
        scale = Scale(t0, t1, t0)
        scale.base = t0 - (U32_MAX * scale.unit - (t1 - t0)) // 2
        return scale

    def times(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times as multiples of `unit` after `base`."""
        return self.lengths(values - self.base)

    def lengths(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Durations as multiples of `unit`."""
        scaled = values if self.unit == 1 else values // self.unit
        return np.minimum(np.maximum(scaled, 0), U32_MAX)  # np.clip takes longer for few values

    def far(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> list[list[int]]:
        """[index, start, end] in ns of bars that exceed the range of `times`: at most one on each side of each row."""
        beyond = np.flatnonzero((start < self.base) | (end - self.base >= U32_MAX * self.unit))
        return [list(bar) for bar in zip(beyond.tolist(), start[beyond].tolist(), end[beyond].tolist())]
