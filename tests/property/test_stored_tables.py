"""Pages of a table against plain Python on its rows; a table in its file answers as the same table in memory does."""

from __future__ import annotations

import csv
import io
import operator
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.grouping import group_rows
from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.tables.database import read_table, write_tables
from tb_npu_plugin.tables import Column, GroupByQuery, GroupByResult, Kind, StringColumn, Table, from_lists
from tb_npu_plugin.texts import natural_key
from tb_npu_plugin.views.base import ViewTable
from tb_npu_plugin.views.table_query import OPERATORS, TableQuery, Where
from tb_npu_plugin.views.tables_json import table_json, to_csv

FEW = (Column("name", Kind.TEXT), Column("dur_ns", Kind.DURATION), Column("share", Kind.RATIO))
Row = tuple[Any, Any, Any]

few_rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from(["Add", "add", "MatMul", 'x,"y"\n'])),
        st.one_of(st.none(), st.integers(-3, 3)),
        st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])),
    ),
    max_size=12,
)


def view_table(rows: list[Row]) -> ViewTable:
    lists = {column.key: [row[place] for row in rows] for place, column in enumerate(FEW)}
    return ViewTable(from_lists(FEW, lists), sort="", desc=False)


def as_rows(data: dict[str, list[Any]]) -> list[Row]:
    return list(zip(*(data[column.key] for column in FEW)))


@given(few_rows, st.sampled_from(["dur_ns", "share"]), st.booleans(), st.integers(0, 5), st.integers(0, 5))
def test_a_page_of_the_sorted_rows(rows: list[Row], key: str, desc: bool, offset: int, limit: int) -> None:
    place = [column.key for column in FEW].index(key)
    known = [row for row in rows if row[place] is not None]
    known.sort(key=lambda row: -row[place] if desc else row[place])  # Python's sort is stable
    expected = known + [row for row in rows if row[place] is None]
    answer = table_json("t", view_table(rows), 0, TableQuery(sort=key, desc=desc, offset=offset, limit=limit))
    assert as_rows(answer["data"]) == expected[offset : offset + limit]
    assert answer["total"] == len(rows)
    assert answer["rows"] == len(expected[offset : offset + limit])


@given(
    few_rows,
    st.sampled_from(["ad", "MATMUL", "mul  MAT", "ad y", " \n", ""]),
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
)
def test_filter_and_condition(rows: list[Row], needle: str, op: str) -> None:
    expected = [
        row
        for row in rows
        if all(word.casefold() in (row[0] or "").casefold() for word in needle.split())
        and row[1] is not None
        and getattr(operator, op)(row[1], 1)
    ]
    answer = table_json("t", view_table(rows), 0, TableQuery(filter=needle, where=(Where("dur_ns", op, "1"),)))
    assert as_rows(answer["data"]) == expected


@given(few_rows)
def test_csv_has_all_rows_whatever_the_page(rows: list[Row]) -> None:
    text = b"".join(to_csv(view_table(rows), 0, TableQuery(offset=3, limit=1))).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == ["name", "dur_ns", "share"]
    assert read[1:] == [["" if cell is None else str(cell) for cell in row] for row in rows]


COLUMNS = (
    Column("name", Kind.TEXT),
    Column("core", Kind.TEXT),
    Column("start_ns", Kind.TIME),
    Column("dur_ns", Kind.DURATION),
    Column("share", Kind.RATIO),
)
KEYS = [column.key for column in COLUMNS]
WORDS = ["Add", "add", "MatMul 9", "MatMul 10", "a", "a1", 'x,"y"\n', "", "ſtep", "STEP", "名", "\u212a"]
NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**40), 2**40))
row = st.tuples(
    st.one_of(st.none(), st.sampled_from(WORDS)),
    st.sampled_from([None, "HCCL", "AI_CORE"]),
    NUMBERS,
    NUMBERS,
    st.one_of(st.none(), st.sampled_from([-0.0, 0.0, 0.5, 1e300, 5e-324])),
)
wheres = st.one_of(
    st.tuples(st.sampled_from(KEYS[:2]), st.sampled_from(["eq", "ne"]), st.sampled_from([*WORDS, "absent"])),
    st.tuples(st.sampled_from(KEYS[:2]), st.just("has"), st.sampled_from(["M", "s", "", "K"])),
    st.tuples(st.sampled_from(KEYS[2:]), st.sampled_from(OPERATORS[:6]), st.sampled_from(["0", "1", "-2.5", "1e9"])),
    st.tuples(st.sampled_from(KEYS[2:]), st.sampled_from(["eq", "ne"]), st.just("")),
)
query = st.builds(
    TableQuery,
    sort=st.sampled_from([None, *KEYS]),
    desc=st.booleans(),
    filter=st.sampled_from(["", "", "add", "S", "名", "k", "1", "absent"]),
    where=st.lists(wheres.map(lambda parts: Where(*parts)), max_size=2).map(tuple),
    offset=st.integers(0, 12),
    limit=st.integers(0, 12),
    columns=st.sampled_from([(), ("dur_ns", "name")]),
)
questions = st.builds(
    GroupByQuery,
    keys=st.lists(st.sampled_from(["name", "core", "dur_ns", "absent"]), unique=True, max_size=3).map(tuple),
    totals=st.sampled_from([(), ("dur_ns",), ("absent_ns", "start_ns")]),
    ranges=st.sampled_from([(), ("dur_ns",), ("start_ns", "absent_ns")]),
    distinct=st.sampled_from([(), ("name",), ("core", "absent")]),
    complete=st.sampled_from([(), ("dur_ns",), ("start_ns", "dur_ns")]),
)
rows_of = st.lists(row, min_size=1, max_size=40)


@pytest.fixture(autouse=True, scope="module")
def _every_way() -> Iterator[None]:
    """Limits so low that short tables take the ways of long ones."""
    with (
        mock.patch("tb_npu_plugin.store.tables.stored.SMALL_DICTIONARY", 3),
        mock.patch("tb_npu_plugin.views.table_query.FIRST_ROWS", 6),
        mock.patch("tb_npu_plugin.views.tables_json.CSV_LOADED", 7),
    ):
        yield


def both(rows: list[Any], folder: Path) -> tuple[Table, Table]:
    """The same table in memory and in a file."""
    table = from_lists(COLUMNS, {key: [row[place] for row in rows] for place, key in enumerate(KEYS)})
    write_tables(folder / "t.duckdb", {"t": table})
    stored = read_table(folder / "t.duckdb", "t", MemoryCache())
    assert stored is not None
    return table, stored


@given(
    rows_of,
    st.lists(query, min_size=1, max_size=12),
    st.lists(questions, min_size=1, max_size=8),
    st.data(),
)
def test_pages_and_sums(
    rows: list[Any], queries: list[TableQuery], asked: list[GroupByQuery], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        pair = both(rows, Path(folder))
        for question in asked:
            expected_sums, sums = (plain(group_rows(table, question)) for table in pair)
            assert sums == expected_sums
        if data.draw(st.booleans()):  # some of the rows only, as of one step
            mask = np.asarray(
                data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=np.bool_
            )
            pair = pair[0].take(mask), pair[1].take(mask)
        for one in queries:
            expected, answer = (table_json("t", ViewTable(table, "dur_ns"), 7, one) for table in pair)
            assert answer == expected
            expected_csv, csv = (b"".join(to_csv(ViewTable(table, ""), 7, one)) for table in pair)
            assert csv == expected_csv


def plain(sums: GroupByResult) -> dict[str, Any]:
    """As lists; texts as such, as the codes of both differ."""
    out: dict[str, Any] = {}
    for name, value in vars(sums).items():
        parts = value if isinstance(value, dict) else {"": value}
        out[name] = {
            key: part.tolist() if isinstance(part, (StringColumn, np.ndarray)) else part for key, part in parts.items()
        }
    return out


@given(
    st.lists(st.one_of(st.text(max_size=5), st.text("019aB\0\1\2\n", max_size=9), st.just(200 * "1")), max_size=40),
    st.integers(0, 999),
    st.integers(0, 999),
)
def test_natural_key(texts: list[str], one: int, other: int) -> None:
    assert len({natural_key(text) for text in texts}) == len(set(texts))
    assert (natural_key(f"Step{one}") < natural_key(f"step{other}")) == (one < other or (one == other))
    assert natural_key("step") < natural_key(f"step{one}") < natural_key("stepa") < natural_key("stepab")
