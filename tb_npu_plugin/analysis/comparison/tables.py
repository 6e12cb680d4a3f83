"""More tables of compared captures: kernels by type and shape, calls of the host's API, memory. As those of comparison/diff.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.comparison.diff import (
    SUMMED,
    TWO,
    Compared,
    Divisors,
    add_times,
    compared_columns,
    joined,
    texts_of,
)
from tb_npu_plugin.analysis.grouping import Groups, outer_join
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.memory import peaks
from tb_npu_plugin.tables import (
    NULL_INT,
    Column,
    Data,
    IntArray,
    Kind,
    StringColumn,
    Table,
    column_texts,
)

TYPE = Column("type", Kind.TEXT, *column_texts("operator_type"), "identity")
SHAPES = Column("input_shapes", Kind.TEXT, *column_texts("input_shapes"), "identity")
LEVEL = Column("level", Kind.TEXT, *column_texts("api_statistic.level"), "identity")
API = Column("name", Kind.TEXT, *column_texts("api_statistic.name"), "identity")
COMPONENT = Column("component", Kind.TEXT, *column_texts("memory_record.component"), "identity")
FIGURE = Column("figure", Kind.TEXT, *column_texts("diff.figure"), "identity")


def by_type(kernels: Sequence[Optional[Table]], of: Compared = TWO, by: Divisors = (1, 1)) -> Optional[Table]:
    """Computing kernels, one row per type. None unless all captures have types."""
    return _of_kernels(kernels, (TYPE,), of, by)


def by_shape(kernels: Sequence[Optional[Table]], of: Compared = TWO, by: Divisors = (1, 1)) -> Optional[Table]:
    """Computing kernels, one row per type and input shapes. None unless all captures have shapes."""
    return _of_kernels(kernels, (TYPE, SHAPES), of, by)


def api_calls(statistics: Sequence[Table], of: Compared = TWO, by: Divisors = (1, 1)) -> Table:
    """Calls of the host's API, one row per level and name."""
    return _compared([_sums(one, (LEVEL, API), one.ints("calls"), one.ints("total_ns")) for one in statistics], of, by)


def memory_peaks(records: Sequence[Table], of: Compared = TWO) -> Table:
    """Peaks of allocated and reserved memory, one row per component: the largest of its devices."""
    found = [_peaks(one) for one in records]
    names = [[StringColumn.of(key[at] for key in one) for at in range(2)] for one in found]
    rows = outer_join(*names)
    keys = list(dict.fromkeys(key for one in found for key in one))
    values = [np.append(np.array([*one.values()], dtype=np.int64), NULL_INT)[own] for one, own in zip(found, rows)]
    columns: list[Column] = [COMPONENT, FIGURE]
    data: dict[str, Data] = {
        "component": StringColumn.of(name for name, _ in keys),
        "figure": StringColumn.of(figure for _, figure in keys),
    }
    add_times(columns, data, of, values, "", "", "bytes")
    return Table(tuple(columns), data)


def _peaks(records: Table) -> dict[tuple[str, str], int]:
    out: dict[tuple[str, str], int] = {}
    for one in peaks(records):
        for figure, value in (("allocated", one.allocated.value), ("reserved", one.reserved.value)):
            if value is not None:
                out[one.component, figure] = max(out.get((one.component, figure), 0), value)
    return out


def _of_kernels(
    kernels: Sequence[Optional[Table]], keys: Sequence[Column], of: Compared, by: Divisors
) -> Optional[Table]:
    if any(one is not None and not _has(one, keys) for one in kernels) or not any(one is not None for one in kernels):
        return None
    sides = [None if one is None else one.take(is_computing(one)) for one in kernels]
    return _compared(
        [
            None if one is None else _sums(one, keys, np.ones(len(one), dtype=np.int64), one.ints("dur_ns"))
            for one in sides
        ],
        of,
        by,
    )


def _has(kernels: Table, keys: Sequence[Column]) -> bool:
    return all(kernels.has(key.key) and bool((kernels.text(key.key).codes >= 0).any()) for key in keys)


def _sums(table: Table, keys: Sequence[Column], calls: IntArray, times: IntArray) -> Table:
    texts = [table.text(key.key) for key in keys]
    groups = Groups(texts, len(table))
    data: dict[str, Data] = {key.key: text.take(groups.first) for key, text in zip(keys, texts)}
    return Table((*keys, *SUMMED), {**data, "calls": groups.sum(calls), "dur_ns": groups.sum(times)})


def _compared(sides: Sequence[Optional[Table]], of: Compared, by: Divisors) -> Table:
    keys = next(side.columns for side in sides if side is not None)[: -len(SUMMED)]
    rows = joined(sides, [key.key for key in keys])
    columns, data = compared_columns(sides, rows, of, by)
    return Table((*keys, *columns), {**{key.key: texts_of(sides, rows, key.key) for key in keys}, **data})
