"""Records as columns.

A step of a simulated run is worked out column by column, and databases are written column by column: the records in
between are only made where somebody asks for them. So are the columns: a result in one form does not need all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from operator import attrgetter
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Ints = NDArray[np.int64]


class Columns(MutableSequence[T]):
    """Records of one kind, made when they are first asked for.

    columns   gives columns of equal length, by the attributes' names ("before.size": of an attribute's attribute): lists or
              arrays. Other names may stand for what records do not tell
    make      the records
    """

    def __init__(self, make: Callable[[], list[T]], columns: Callable[[], Mapping[str, Any]]) -> None:
        self._make, self._give = make, columns
        self._given: Mapping[str, Any] | None = None
        self._records: list[T] | None = None

    @property
    def _columns(self) -> Mapping[str, Any]:
        if self._given is None:
            self._given = self._give()
        return self._given

    @property
    def records(self) -> list[T]:
        """The records themselves."""
        if self._records is None:
            self._records = self._make()
        return self._records

    def tells(self, name: str) -> bool:
        """There is a column of this name."""
        return name in self._columns

    def column(self, name: str) -> list[Any]:
        """Values of an attribute."""
        found = self._columns.get(name)
        if found is None:
            return list(map(attrgetter(name), self.records))
        values: list[Any] = found.tolist() if isinstance(found, np.ndarray) else found
        return values

    def array(self, name: str, none: int = 0) -> Ints:
        """Values of an attribute that is a whole number, `none` where it is None."""
        found = self._columns.get(name)
        return found if isinstance(found, np.ndarray) and found.dtype == np.int64 else _array(self.column(name), none)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), self._records or ()))

    def __iter__(self) -> Iterator[T]:
        return iter(self.records)

    def __repr__(self) -> str:
        return repr(self.records)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self.records[index]

    def _changeable(self) -> list[T]:
        """The records, which the columns do not tell any more."""
        records, self._given = self.records, {}
        return records

    def __setitem__(self, index: Any, value: Any) -> None:
        self._changeable()[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._changeable()[index]

    def insert(self, index: int, value: T) -> None:
        """Insert a record."""
        self._changeable().insert(index, value)


def columns(records: Sequence[Any], *names: str) -> list[list[Any]]:
    """Values of these attributes of all records."""
    if isinstance(records, Columns):
        return [records.column(name) for name in names]
    return [list(map(attrgetter(name), records)) for name in names]


def arrays(records: Sequence[Any], *names: str, none: int = 0) -> list[Ints]:
    """Values of these attributes of all records, which are whole numbers, or None: `none`."""
    if isinstance(records, Columns):
        return [records.array(name, none) for name in names]
    return [_array(values, none) for values in columns(records, *names)]


def _array(values: list[Any], none: int) -> Ints:
    if None in values:
        values = [none if value is None else value for value in values]
    return np.array(values, dtype=np.int64)
