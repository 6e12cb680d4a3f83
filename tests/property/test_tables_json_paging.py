"""Sorting, filtering and paging of a table against plain Python on its rows."""

from __future__ import annotations

import csv
import io
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.tables import Column, Kind, from_lists
from tb_npu_plugin.views.base import ViewTable
from tb_npu_plugin.views.table_query import TableQuery, Where
from tb_npu_plugin.views.tables_json import table_json, to_csv

COLUMNS = (Column("name", Kind.TEXT), Column("dur_ns", Kind.DURATION), Column("share", Kind.RATIO))
Row = tuple[Any, Any, Any]

rows_of = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from(["Add", "add", "MatMul", 'x,"y"\n'])),
        st.one_of(st.none(), st.integers(-3, 3)),
        st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])),
    ),
    max_size=12,
)


def view_table(rows: list[Row]) -> ViewTable:
    lists = {column.key: [row[place] for row in rows] for place, column in enumerate(COLUMNS)}
    return ViewTable(from_lists(COLUMNS, lists), sort="", desc=False)


def as_rows(data: dict[str, list[Any]]) -> list[Row]:
    return list(zip(*(data[column.key] for column in COLUMNS)))


@given(rows_of, st.sampled_from(["dur_ns", "share"]), st.booleans(), st.integers(0, 5), st.integers(0, 5))
def test_a_page_of_the_sorted_rows(rows: list[Row], key: str, desc: bool, offset: int, limit: int) -> None:
    place = [column.key for column in COLUMNS].index(key)
    known = [row for row in rows if row[place] is not None]
    known.sort(key=lambda row: -row[place] if desc else row[place])  # Python's sort is stable
    expected = known + [row for row in rows if row[place] is None]
    answer = table_json("t", view_table(rows), 0, TableQuery(sort=key, desc=desc, offset=offset, limit=limit))
    assert as_rows(answer["data"]) == expected[offset : offset + limit]
    assert answer["total"] == len(rows)
    assert answer["rows"] == len(expected[offset : offset + limit])


@given(
    rows_of,
    st.sampled_from(["ad", "MATMUL", "mul  MAT", "ad y", " \n", ""]),
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
)
def test_filter_and_condition(rows: list[Row], needle: str, op: str) -> None:
    compare = {
        "lt": int.__lt__,
        "le": int.__le__,
        "gt": int.__gt__,
        "ge": int.__ge__,
        "eq": int.__eq__,
        "ne": int.__ne__,
    }
    expected = [
        row
        for row in rows
        if all(word.casefold() in (row[0] or "").casefold() for word in needle.split())
        and row[1] is not None
        and compare[op](row[1], 1)
    ]
    answer = table_json("t", view_table(rows), 0, TableQuery(filter=needle, where=(Where("dur_ns", op, "1"),)))
    assert as_rows(answer["data"]) == expected


@given(rows_of)
def test_csv_has_all_rows_whatever_the_page(rows: list[Row]) -> None:
    text = b"".join(to_csv(view_table(rows), 0, TableQuery(offset=3, limit=1))).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == ["name", "dur_ns", "share"]
    assert read[1:] == [["" if cell is None else str(cell) for cell in row] for row in rows]
