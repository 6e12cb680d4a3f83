"""Groups rows of a table and reduces integer columns exactly, without floats. Unknown values are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import (
    NULL_INT,
    Column,
    Data,
    FloatArray,
    GroupByQuery,
    GroupByResult,
    IntArray,
    StoredColumns,
    StringColumn,
    Table,
    empty,
    known,
)

Key = Union[IntArray, StringColumn]


#: Up to this many combinations, all combinations of keys have an array entry, used or not.
_DENSE = 1 << 16


class Groups:
    """Rows that share the values of some columns; groups in the order of their first row.

    `first`: row number of the first row of each group; `of_row`: group number of each row.
    """

    def __init__(self, keys: Sequence[Key], rows: int) -> None:
        numbers, width = np.zeros(rows, dtype=np.int64), 1
        for key in keys:
            codes, size = _dense_codes(key)
            numbers, width = numbers * size + codes, width * size
            if width > max(_DENSE, rows):
                numbers, width = _unique(numbers)
        # No sorting: a table may have millions of rows, but few groups.
        first = np.full(width, rows, dtype=np.int64)
        first[numbers[::-1]] = np.arange(rows - 1, -1, -1)  # duplicates: the last write wins, which is the first row
        found = np.flatnonzero(first < rows)
        found = found[np.argsort(first[found])]
        rank = np.zeros(width, dtype=np.int64)
        rank[found] = np.arange(len(found))
        self.first: IntArray = first[found]
        self.of_row: IntArray = rank[numbers]

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def _order(self) -> IntArray:
        """All row numbers, sorted by group."""
        is_small = len(self) < 1 << 16
        numbers = self.of_row.astype(np.uint16) if is_small else self.of_row  # uint16 are sorted in linear time
        return np.argsort(numbers, kind="stable")

    @cached_property
    def _bounds(self) -> IntArray:
        """Place of the first row of each group in `_order`, then the number of rows."""
        return np.append(0, np.cumsum(self.count()))

    def rows(self) -> list[IntArray]:
        """Row numbers of each group, ascending."""
        bounds = self._bounds.tolist()
        return [self._order[start:end] for start, end in zip(bounds, bounds[1:])]

    def rows_of(self, group: int) -> IntArray:
        """Row numbers of one group, ascending."""
        return self._order[self._bounds[group] : self._bounds[group + 1]]

    def count(self) -> IntArray:
        """Number of rows in each group."""
        return np.bincount(self.of_row, minlength=len(self)).astype(np.int64)

    def count_known(self, values: IntArray) -> IntArray:
        """Number of rows with a known value in each group."""
        return self.count_of(known(values))

    def count_of(self, rows: NDArray[np.bool_]) -> IntArray:
        """Number of selected rows in each group."""
        return np.bincount(self.of_row[rows], minlength=len(self)).astype(np.int64)

    def sum(self, values: IntArray) -> IntArray:
        """Sum of the known values of each group; unknown where none is known."""
        return self._reduce(np.add, values, 0)

    def min(self, values: IntArray) -> IntArray:
        """Smallest known value of each group; unknown where none is known."""
        return self._reduce(np.minimum, values, np.iinfo(np.int64).max)

    def max(self, values: IntArray) -> IntArray:
        """Largest known value of each group; unknown where none is known."""
        return self._reduce(np.maximum, values, NULL_INT)

    def mean(self, values: IntArray) -> IntArray:
        """Mean of the known values of each group, rounded half to even; unknown where none is known."""
        return divide_half_even(self.sum(values), self.count_known(values))

    def distinct(self, key: Key) -> IntArray:
        """Number of distinct known values in each group."""
        values = key.codes if isinstance(key, StringColumn) else key
        is_known = values >= 0 if isinstance(key, StringColumn) else known(key)
        _, codes = np.unique(values, return_inverse=True)
        pairs = np.unique(self.of_row[is_known] * (len(values) + 1) + codes.reshape(-1)[is_known])
        return np.bincount(pairs // (len(values) + 1), minlength=len(self)).astype(np.int64)

    def _reduce(self, how: np.ufunc, values: IntArray, neutral: int) -> IntArray:
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        filled = np.where(known(values), values, neutral)[self._order]
        reduced = np.asarray(how.reduceat(filled, self._bounds[:-1]), dtype=np.int64)
        return np.where(self.count_known(values) > 0, reduced, NULL_INT)


def group_rows(table: Table, query: GroupByQuery) -> GroupByResult:
    """Group a table's rows and reduce them; stored columns do it without being loaded."""
    found = table.data.sums(query) if isinstance(table.data, StoredColumns) else None
    return _group_loaded_rows(table, query) if found is None else found


def text_key(found: GroupByResult, key: str) -> StringColumn:
    """A key of text type."""
    texts = found.keys[key]
    assert isinstance(texts, StringColumn)
    return texts


def _group_loaded_rows(table: Table, query: GroupByQuery) -> GroupByResult:
    keys = {key: _key(table, key) for key in query.keys}
    groups = Groups(list(keys.values()), len(table))
    totals, ranges = ({key: table.ints(key) for key in some} for some in (query.totals, query.ranges))
    incomplete = np.zeros(len(table), dtype=np.int64)
    for key in query.complete:
        incomplete |= ~known(table.ints(key))
    return GroupByResult(
        first=groups.first,
        keys={
            key: data.take(groups.first) if isinstance(data, StringColumn) else data[groups.first]
            for key, data in keys.items()
        },
        count=groups.count(),
        known={key: groups.count_known(values) for key, values in ranges.items()},
        total={key: groups.sum(values) for key, values in {**totals, **ranges}.items()},
        least={key: groups.min(values) for key, values in ranges.items()},
        most={key: groups.max(values) for key, values in ranges.items()},
        distinct={key: groups.distinct(_key(table, key)) for key in query.distinct},
        incomplete=groups.count_of(incomplete > 0),
    )


def _key(table: Table, key: str) -> Key:
    """The column to group by; an unknown text column if the table lacks it."""
    if table.has(key) and not isinstance(table.data[key], StringColumn):
        return table.ints(key)
    return table.text(key)


def _dense_codes(key: Key) -> tuple[IntArray, int]:
    """Codes from 0 that are equal for equal keys, and the upper bound of the codes."""
    if isinstance(key, StringColumn):
        return key.codes.astype(np.int64) + 1, len(key.values) + 1
    least, most = (int(key.min()), int(key.max())) if len(key) else (0, 0)
    return (key - least, most - least + 1) if most - least < len(key) else _unique(key)


def _unique(values: IntArray) -> tuple[IntArray, int]:
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), max(len(distinct), 1)


def divide_half_even(total: IntArray, count: IntArray) -> IntArray:
    """total / count rounded half to even; unknown where the total is unknown or the count is 0."""
    certain = known(total) & (count > 0)
    divisor = np.where(certain, count, 1)
    quotient, rest = np.divmod(np.where(certain, total, 0), divisor)
    up = (2 * rest > divisor) | ((2 * rest == divisor) & (quotient % 2 == 1))
    return np.where(certain, quotient + up, NULL_INT)


def ratio(part: IntArray, whole: IntArray) -> FloatArray:
    """part / whole; unknown if either is unknown or the whole is not positive."""
    certain = known(part) & known(whole) & (whole > 0)
    out = np.full(len(part), np.nan)
    np.divide(part, whole, out=out, where=certain)
    return out


def largest_first(values: IntArray) -> IntArray:
    """Row numbers by descending value; a stable sort, unknown values last."""
    return np.argsort(~values, kind="stable")  # ~ orders like -values, which overflows for the smallest integer


def known_sum(values: IntArray) -> int | None:
    """Sum of the known values as a Python int; None when none is known."""
    certain = values[known(values)]
    return int(certain.sum()) if len(certain) else None


# Concatenates tables, and joins rows of two tables by key.


def concat(columns: Sequence[Column], tables: Sequence[Table]) -> Table:
    """Concatenate tables. Every table must have these columns; without tables the result has no rows."""
    if not tables:
        return empty(columns)
    return Table(
        tuple(columns), {column.key: _concat([table.data[column.key] for table in tables]) for column in columns}
    )


def outer_join(*sides: Sequence[StringColumn]) -> list[IntArray]:
    """Row numbers of each side for each key, -1 where a side lacks it; the rows of the first side first, in order.

    Each side: columns of equal length with distinct combinations.
    """
    places = [{key: row for row, key in enumerate(zip(*(column.tolist() for column in side)))} for side in sides]
    keys = dict.fromkeys(key for place in places for key in place)
    return [np.asarray([place.get(key, -1) for key in keys], dtype=np.int64) for place in places]


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
