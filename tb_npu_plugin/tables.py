"""The data model of readers, store, analysis and views: tables whose columns are numpy arrays.

int-like columns   int64, NULL_INT where unknown (times in ns, durations in ns, sizes in bytes, plain integers)
float columns      float64, NaN where unknown
text columns       `StringColumn`: int32 codes into a list of distinct values, -1 where unknown
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import CATALOGUE, Message

#: "Unknown" in every integer column. Never a valid value: readers report a Problem for it.
NULL_INT = int(np.iinfo(np.int64).min)

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Kind(str, enum.Enum):
    """Kind of the values of a column; sets storage, unit and how the frontend formats it."""

    TEXT = "text"
    INT = "int"  # a plain integer, no unit
    FLOAT = "float"  # a plain figure, no unit
    TIME = "time"  # int64 ns since the Unix epoch
    DURATION = "duration"  # int64 ns
    BYTES = "bytes"  # int64 bytes, binary units in files (KB = 1024): shown in KiB, MiB
    TRAFFIC = "traffic"  # int64 bytes, decimal units in files (MB = 1e6): shown in kB, MB
    RATIO = "ratio"  # float 0..1
    PERCENT = "percent"  # float 0..100
    BANDWIDTH = "bandwidth"  # float, 1e9 bytes per second

    @property
    def is_int(self) -> bool:
        """Stored as int64."""
        return self in (Kind.INT, Kind.TIME, Kind.DURATION, Kind.BYTES, Kind.TRAFFIC)


#: Whole figures are below this: JavaScript rounds larger ones, and as ns it is more than a hundred days.
MAX_WHOLE = 2**53
#: Least and largest possible figure of each kind. Ratios of some counters exceed 1 a little, percents 100. Times are
#: compared with the recording instead.
_BOUNDS: dict[Kind, tuple[float, float]] = {
    **dict.fromkeys((Kind.INT, Kind.DURATION, Kind.BYTES, Kind.TRAFFIC), (0.0, float(MAX_WHOLE))),
    Kind.FLOAT: (0.0, 1e18),
    Kind.RATIO: (0.0, 2.0),
    Kind.PERCENT: (0.0, 200.0),
    Kind.BANDWIDTH: (0.0, 1e6),
}


@dataclass(frozen=True)
class Column:
    """Declares one column.

    key       name in tables and JSON
    kind      see Kind
    title     column title as the vendor writes it, without the unit
    doc       one sentence for the tooltip: meaning, scope and unit of the value; title and doc: see `column_texts`
    group     "identity", "time", "shape", "metric" or "": for column choosers
    headers   spellings in result files, newest first; a unit in brackets is read from the header itself
    required  a row without a valid value is skipped; a file without the column cannot be read
    least     least possible figure, where it is not that of the kind
    most      largest possible figure, where it is not that of the kind
    written   which files have it: "" all; otherwise words, such as a release: files that have other columns of each word
    """

    key: str
    kind: Kind
    title: str = ""
    doc: str = ""
    group: str = ""
    headers: tuple[str, ...] = ()
    required: bool = False
    least: Optional[float] = None
    most: Optional[float] = None
    written: str = ""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Least and largest possible figure; None for texts and times."""
        if self.kind not in _BOUNDS:
            return None
        least, most = _BOUNDS[self.kind]
        return least if self.least is None else self.least, most if self.most is None else self.most


def column_texts(name: str, /, **params: str) -> tuple[Message, str]:
    """Title and doc of a column: the messages `column.NAME` and `column.NAME.doc`; "" without the latter. Raises KeyError
    for an unknown name."""
    code = f"column.{name}"
    doc = f"{code}.doc"
    return Message(code, **params), Message(doc, **params) if doc in CATALOGUE else ""


class StringDictionary(Sequence[str], ABC):
    """Distinct strings stored in a file, in natural order (see `natural_key`)."""

    @abstractmethod
    def pick(self, codes: NDArray[np.int32]) -> list[str]:
        """The strings at these positions."""

    @abstractmethod
    def codes_of(self, strings: Iterable[str]) -> list[int]:
        """Positions of these strings; unknown strings are skipped."""

    @abstractmethod
    def containing(self, part: str) -> NDArray[np.bool_]:
        """Mask of the strings that contain `part`, ignoring case. The last entry stands for unknown and is False."""


class StringColumn:
    """A dictionary-encoded column of strings: int32 `codes` into the distinct `values`, -1 where unknown."""

    __slots__ = ("codes", "values")

    def __init__(self, codes: NDArray[np.int32], values: Sequence[str]) -> None:
        self.codes = codes
        self.values = values

    @staticmethod
    def of(items: Iterable[str | None]) -> StringColumn:
        """Encode a sequence of strings; None becomes unknown."""
        index: dict[str, int] = {}
        codes = [-1 if item is None else index.setdefault(item, len(index)) for item in items]
        return StringColumn(np.asarray(codes, dtype=np.int32), list(index))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def take(self, rows: NDArray[Any]) -> StringColumn:
        """Select rows by index or mask; the dictionary is shared."""
        return StringColumn(self.codes[rows], self.values)

    def or_else(self, other: StringColumn) -> StringColumn:
        """Its texts, and those of another column where it has none."""
        others = np.where(other.codes >= 0, other.codes + len(self.values), -1)
        codes = np.where(self.codes >= 0, self.codes, others)
        return StringColumn(codes.astype(np.int32), [*self.values, *other.values])

    def tolist(self) -> list[str | None]:
        """As a plain list, None where unknown."""
        if isinstance(self.values, StringDictionary):
            found, places = np.unique(self.codes, return_inverse=True)
            there = found[found >= 0]
            picked = [*([None] * (len(found) - len(there))), *self.values.pick(there)]
            return [picked[place] for place in places.tolist()]
        if len(self.values) > len(self.codes):
            return [None if code < 0 else self.values[code] for code in self.codes.tolist()]
        lookup: list[str | None] = [*self.values, None]  # code -1 is the last
        return [lookup[code] for code in self.codes.tolist()]

    def equals(self, value: str) -> NDArray[np.bool_]:
        """Mask of the rows that hold exactly this value."""
        return self.isin([value])

    def isin(self, items: Iterable[str]) -> NDArray[np.bool_]:
        """Mask of the rows that hold one of these values."""
        chosen = set(items)
        if isinstance(self.values, StringDictionary):
            hits = self.values.codes_of(chosen)
        else:
            hits = [code for code, item in enumerate(self.values) if item in chosen]
        if len(hits) == 1:
            return np.asarray(self.codes == hits[0], dtype=np.bool_)
        return np.asarray(np.isin(self.codes, hits), dtype=np.bool_)

    def matching(self, test: Callable[[str], object]) -> NDArray[np.bool_]:
        """Mask of the rows whose value passes a test, which is called once for each distinct value."""
        occurs = np.zeros(len(self.values) + 1, dtype=np.bool_)  # the last entry is that of code -1
        occurs[self.codes] = True
        found = np.flatnonzero(occurs[:-1]).astype(np.int32)
        is_match = np.zeros(len(occurs), dtype=np.bool_)
        is_match[found] = [bool(test(value or "")) for value in StringColumn(found, self.values).tolist()]
        return is_match[self.codes]


Data = Union[IntArray, FloatArray, StringColumn]


class StoredColumns(Mapping[str, Data], ABC):
    """Columns stored in a file and loaded on first access.

    rows   rows of each column
    """

    rows: int

    @abstractmethod
    def pick(self, keys: Sequence[str], rows: IntArray) -> dict[str, Data]:
        """Values of these rows, in the given order. Need not load the columns."""

    def first(self, key: str, desc: bool, count: int) -> IntArray | None:
        """The first `count` rows sorted by a column: a stable sort, unknown values last. None: the caller must sort."""
        return None

    def sums(self, query: GroupByQuery) -> GroupByResult | None:
        """See analysis.grouping.group_rows. None: the caller must compute it."""
        return None


@dataclass(frozen=True)
class GroupByQuery:
    """A grouping of rows: the keys to group by, and the integer columns to reduce. See `GroupByResult`."""

    keys: tuple[str, ...]
    totals: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    complete: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupByResult:
    """One entry for each combination of keys, in the order of their first rows.

    first       number of the first row
    keys        values of each key
    count       rows
    known       rows with a known value, for each column of `ranges`
    total       sum of the known values, for each column of `totals` and `ranges`; unknown where none is known
    least, most smallest and largest known value, for each column of `ranges`; unknown where none is known
    distinct    number of distinct known values, for each column of `distinct`
    incomplete  rows that lack a value in any column of `complete`
    """

    first: IntArray
    keys: dict[str, Data]
    count: IntArray
    known: dict[str, IntArray]
    total: dict[str, IntArray]
    least: dict[str, IntArray]
    most: dict[str, IntArray]
    distinct: dict[str, IntArray]
    incomplete: IntArray

    def __len__(self) -> int:
        return len(self.first)


class PickedColumns(StoredColumns):
    """A selection of rows of stored columns."""

    row_numbers: IntArray
    _base: StoredColumns

    def __init__(self, base: StoredColumns, rows: NDArray[Any]) -> None:
        self.row_numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        if isinstance(base, PickedColumns):
            self.row_numbers = base.row_numbers[self.row_numbers]
            base = base._base
        if base.rows <= np.iinfo(np.int32).max:
            self.row_numbers = self.row_numbers.astype(np.int32)
        self.rows = len(self.row_numbers)
        self._base = base

    def __getitem__(self, key: str) -> Data:
        return _take_rows(self._base[key], self.row_numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)

    def pick(self, keys: Sequence[str], rows: IntArray) -> dict[str, Data]:
        """See StoredColumns."""
        return self._base.pick(keys, self.row_numbers[rows].astype(np.int64))


class ExtendedColumns(StoredColumns):
    """Stored columns with computed ones in memory; the stored ones are still loaded on first access."""

    def __init__(self, base: StoredColumns, extra: Mapping[str, Data]) -> None:
        self.rows = base.rows
        self._base, self._extra = base, extra

    def __getitem__(self, key: str) -> Data:
        return self._extra[key] if key in self._extra else self._base[key]

    def __contains__(self, key: object) -> bool:
        return key in self._extra or key in self._base

    def __iter__(self) -> Iterator[str]:
        return iter((*self._base, *self._extra))

    def __len__(self) -> int:
        return len(self._base) + len(self._extra)

    def pick(self, keys: Sequence[str], rows: IntArray) -> dict[str, Data]:
        """See StoredColumns."""
        stored = self._base.pick([key for key in keys if key not in self._extra], rows)
        return {key: _take_rows(self._extra[key], rows) if key in self._extra else stored[key] for key in keys}

    def first(self, key: str, desc: bool, count: int) -> IntArray | None:
        """See StoredColumns."""
        return None if key in self._extra else self._base.first(key, desc, count)

    def sums(self, query: GroupByQuery) -> GroupByResult | None:
        """See StoredColumns."""
        used = (*query.keys, *query.totals, *query.ranges, *query.distinct, *query.complete)
        return None if any(key in self._extra for key in used) else self._base.sums(query)


def _take_rows(data: Data, rows: NDArray[Any]) -> Data:
    return data.take(rows) if isinstance(data, StringColumn) else data[rows]


@dataclass(frozen=True)
class Table:
    """Columns of equal length. `has` reports whether a column exists."""

    columns: tuple[Column, ...]
    data: Mapping[str, Data] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.data, StoredColumns):
            return
        lengths = {len(self.data[column.key]) for column in self.columns}
        if len(lengths) > 1:
            raise ValueError(f"columns of different length: {lengths}")

    @staticmethod
    def of(declared: Iterable[Column], data: Mapping[str, Data]) -> Table:
        """A table of the declared columns that `data` has."""
        columns = tuple(column for column in declared if column.key in data)
        return Table(columns, {column.key: data[column.key] for column in columns})

    def __len__(self) -> int:
        if isinstance(self.data, StoredColumns):
            return self.data.rows
        return len(self.data[self.columns[0].key]) if self.columns else 0

    def has(self, key: str) -> bool:
        """The table has this column."""
        return key in self.data

    def column(self, key: str) -> Column:
        """Declaration of an existing column."""
        return next(column for column in self.columns if column.key == key)

    def ints(self, key: str) -> IntArray:
        """An int64 column; all unknown where the source lacks it."""
        found = self.data.get(key)
        if found is None:
            return np.full(len(self), NULL_INT, dtype=np.int64)
        assert isinstance(found, np.ndarray)
        return found.astype(np.int64, copy=False)

    def floats(self, key: str) -> FloatArray:
        """A float64 column; all NaN where the source lacks it."""
        found = self.data.get(key)
        if found is None:
            return np.full(len(self), np.nan)
        assert isinstance(found, np.ndarray)
        return found.astype(np.float64, copy=False)

    def text(self, key: str) -> StringColumn:
        """A text column; all unknown where the source lacks it."""
        found = self.data.get(key)
        if found is None:
            return StringColumn(np.full(len(self), -1, dtype=np.int32), [])
        assert isinstance(found, StringColumn)
        return found

    def take(self, rows: NDArray[Any]) -> Table:
        """Select rows by index or mask; stored columns are not loaded."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        if isinstance(self.data, StoredColumns):
            return Table(self.columns, PickedColumns(self.data, rows))
        return Table(self.columns, {key: _take_rows(value, rows) for key, value in self.data.items()})

    def loaded(self, rows: IntArray) -> Table:
        """Load rows by number into memory."""
        if not isinstance(self.data, StoredColumns):
            return self.take(rows)
        return Table(self.columns, self.data.pick([column.key for column in self.columns], rows))

    def with_columns(self, extra: Sequence[tuple[Column, Data]]) -> Table:
        """The same rows with columns added at the end."""
        columns = (*self.columns, *(column for column, _ in extra))
        data = {column.key: data for column, data in extra}
        if isinstance(self.data, StoredColumns):
            return Table(columns, ExtendedColumns(self.data, data))
        return Table(columns, {**self.data, **data})


def known(values: IntArray) -> NDArray[np.bool_]:
    """Mask of the known values of an integer column."""
    return np.asarray(values != NULL_INT, dtype=np.bool_)


def nullable(values: IntArray) -> list[int | None]:
    """The values of an integer column; None for unknown ones."""
    return [None if value == NULL_INT else value for value in values.tolist()]


def known_cells(table: Table) -> int:
    """Number of known values in the columns that files have."""
    columns = (table.data[column.key] for column in table.columns if column.headers)
    return sum(int(np.count_nonzero(are_known(values))) for values in columns)


def are_known(values: Data) -> NDArray[np.bool_]:
    """Mask of the known values of a column."""
    if isinstance(values, StringColumn):
        return np.asarray(values.codes >= 0)
    return np.asarray(~np.isnan(values) if values.dtype.kind == "f" else values != NULL_INT)


def find_rows(keys: IntArray, values: IntArray) -> IntArray:
    """Row of the first key that equals each value; -1 if there is none, and for unknown values."""
    if not len(keys):
        return np.full(len(values), -1, dtype=np.int64)
    order = None if (keys[1:] > keys[:-1]).all() else np.argsort(keys, kind="stable")
    ordered = keys if order is None else keys[order]
    at = np.minimum(np.searchsorted(ordered, values), len(keys) - 1)
    found = (ordered[at] == values) & (values != NULL_INT)
    return np.where(found, at if order is None else order[at], -1)


def empty(columns: Sequence[Column]) -> Table:
    """A table with these columns and no rows."""
    data: dict[str, Data] = {}
    for column in columns:
        if column.kind is Kind.TEXT:
            data[column.key] = StringColumn.of(())
        else:
            data[column.key] = np.zeros(0, dtype=np.int64) if column.kind.is_int else np.zeros(0)
    return Table(tuple(columns), data)


def from_lists(columns: Sequence[Column], lists: Mapping[str, Sequence[Any]]) -> Table:
    """Build a table from plain lists; None and integers beyond int64 become unknown. For small tables, not for
    files."""
    data: dict[str, Data] = {}
    for column in columns:
        values = lists[column.key]
        if column.kind is Kind.TEXT:
            data[column.key] = StringColumn.of(values)
        elif column.kind.is_int:
            data[column.key] = np.asarray([_int64(v) for v in values], dtype=np.int64)
        else:
            data[column.key] = np.asarray([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    return Table(tuple(columns), data)


def _int64(value: Any) -> int:
    """The integer; NULL_INT for None and beyond int64."""
    whole = NULL_INT if value is None else int(value)
    return whole if -(2**63) <= whole < 2**63 else NULL_INT
