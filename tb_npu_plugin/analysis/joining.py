"""Concatenates tables, and joins rows of two tables by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.tables import Column, Data, IntArray, StringColumn, Table, empty


def concat(columns: Sequence[Column], tables: Sequence[Table]) -> Table:
    """Concatenate tables. Every table must have these columns; without tables the result has no rows."""
    if not tables:
        return empty(columns)
    return Table(
        tuple(columns), {column.key: _concat([table.data[column.key] for table in tables]) for column in columns}
    )


def outer_join(left: Sequence[StringColumn], right: Sequence[StringColumn]) -> tuple[IntArray, IntArray]:
    """Row numbers of the left and of the right side, -1 if one lacks the key; rows of the left side first, in order.

    Each side: columns of equal length with distinct combinations.
    """
    keys = list(zip(*(column.tolist() for column in right)))
    place = {key: row for row, key in enumerate(keys)}
    matches = [place.pop(key, -1) for key in zip(*(column.tolist() for column in left))]
    rest = list(place.values())
    lefts = [*range(len(matches)), *([-1] * len(rest))]
    return np.asarray(lefts, dtype=np.int64), np.asarray([*matches, *rest], dtype=np.int64)


def _concat(parts: Sequence[Data]) -> Data:
    if isinstance(parts[0], StringColumn):
        return _concat_texts([part for part in parts if isinstance(part, StringColumn)])
    return np.concatenate([part for part in parts if isinstance(part, np.ndarray)])


def _concat_texts(parts: Sequence[StringColumn]) -> StringColumn:
    """The texts of all parts, with the distinct texts that occur as values."""
    index: dict[str, int] = {}
    codes = []
    for part in parts:
        found, places = np.unique(part.codes, return_inverse=True)
        texts = StringColumn(found, part.values).tolist()
        new = [-1 if text is None else index.setdefault(text, len(index)) for text in texts]
        codes.append(np.asarray(new, dtype=np.int32)[places])
    return StringColumn(np.concatenate(codes), list(index))
