from __future__ import annotations

import pytest

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.tables import Column, Kind, from_lists
from tb_npu_plugin.views.base import INLINE_ROWS, ViewResult, ViewTable
from tb_npu_plugin.views.table_query import TableQuery, Where, parse_query
from tb_npu_plugin.views.tables_json import inline_tables, table_json, to_csv

BASE = 1_700_000_000_000_000_000
TABLE = from_lists(
    (
        Column("step", Kind.TEXT, "Step", "A step.", "identity"),
        Column("start_ns", Kind.TIME),
        Column("calls", Kind.INT),
        Column("share", Kind.RATIO),
    ),
    {
        "step": ["10", "9", None, "9"],
        "start_ns": [BASE + 5, BASE + 1, None, BASE + 7],
        "calls": [1, None, 3, 2],
        "share": [0.5, float("inf"), float("nan"), 0.0],
    },
)
SOURCE = ViewTable(TABLE, sort="calls", desc=True)


def test_words_and_conditions_have_limits() -> None:
    parse_query({"filter": ["a " * 32], "where": ["x:eq:1"] * 32})
    for params in ({"filter": ["a " * 33]}, {"where": ["x:eq:1"] * 33}):
        with pytest.raises(BadRequest, match="more than 32") as raised:
            parse_query(params)
        assert raised.value.hint and raised.value.status == 400


def page(query: TableQuery) -> dict[str, list[object]]:
    return table_json("kernel.all", SOURCE, BASE, query)["data"]


def test_a_default_order_by_a_column_that_the_file_lacks_is_none() -> None:
    """The view answered 400: dataset.csv may lack its mean times."""
    lacking = ViewTable(TABLE, sort="avg_ns", desc=True)
    answer = inline_tables("data_pipeline", ViewResult({}, {"dataset": lacking}, BASE))["dataset"]
    assert (answer["sort"], answer["data"]["calls"]) == ("", [1, None, 3, 2])
    with pytest.raises(BadRequest):
        table_json("data_pipeline.dataset", lacking, BASE, TableQuery(sort="avg_ns"))


def test_the_tables_own_order_is_used_when_none_is_asked_for() -> None:
    answer = table_json("kernel.all", SOURCE, BASE, TableQuery())
    assert answer["data"]["calls"] == [3, 2, 1, None]
    assert (answer["id"], answer["sort"], answer["desc"], answer["total"]) == ("kernel.all", "calls", True, 4)
    assert answer["columns"][0] == {
        "key": "step",
        "kind": "text",
        "title": "Step",
        "doc": "A step.",
        "group": "identity",
        "texts": {},
    }


def test_numbers_inside_text_sort_as_numbers() -> None:
    assert page(TableQuery(sort="step"))["step"] == ["9", "9", "10", None]
    assert page(TableQuery(sort="step", desc=True))["step"] == ["10", "9", "9", None]


@pytest.mark.parametrize(
    ("where", "starts"),
    [
        (Where("start_ns", "ge", "5"), [7, 5]),  # times in conditions are offsets too
        (Where("start_ns", "eq", ""), [None]),
        (Where("start_ns", "ne", ""), [7, 5, 1]),
        (Where("step", "eq", "9"), [7, 1]),
        (Where("step", "ne", "9"), [5]),
        (Where("step", "eq", ""), [None]),
        (Where("step", "has", "0"), [5]),
        (Where("share", "gt", "0.25"), [5, 1]),
    ],
)
def test_conditions(where: Where, starts: list[int | None]) -> None:
    assert page(TableQuery(sort="start_ns", desc=True, where=(where,)))["start_ns"] == starts


@pytest.mark.parametrize(("op", "starts"), [("lt", [1]), ("ge", [5, 7])])
def test_a_time_is_compared_to_the_nanosecond_whatever_the_value_is(op: str, starts: list[int]) -> None:
    query = TableQuery(sort="start_ns", where=(Where("start_ns", op, "4.5"),))
    assert page(query)["start_ns"] == starts, "as a float, an epoch time is wrong by some 100 ns"


def test_csv_holds_no_formulas() -> None:
    """As frontend/tests/base/csv.test.ts."""
    cells = ["=1+1", "+cmd", "-x", "@SUM(A1)", "＝1+1", "－x", "\tx", "-1.5", "a=b"]
    table = from_lists((Column("name", Kind.TEXT), Column("n", Kind.INT)), {"name": cells, "n": [-3] * len(cells)})
    lines = b"".join(to_csv(ViewTable(table), 0, TableQuery())).decode().split("\r\n")
    assert lines[1:-1] == [
        f"{cell},-3" for cell in ("'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "'＝1+1", "'－x", "'\tx", "-1.5", "a=b")
    ]


def test_every_word_of_a_filter_stands_in_some_column() -> None:
    columns = (Column("name", Kind.TEXT), Column("core", Kind.TEXT))
    table = from_lists(columns, {"name": ["MatMulV3", "matmul_add", "Add"], "core": ["AI_CORE", "MIX", None]})

    def names(words: str) -> list[object]:
        return list(table_json("kernel.all", ViewTable(table), 0, TableQuery(filter=words))["data"]["name"])

    assert names("core MAT") == ["MatMulV3"]
    assert names("  add  mat ") == ["matmul_add"]
    assert names("add ai_core") == []
    assert names(" ") == ["MatMulV3", "matmul_add", "Add"]


def test_a_long_csv_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # All rows of a long table at once, as Python objects, took gigabytes.
    monkeypatch.setattr("tb_npu_plugin.views.tables_json.CSV_ROWS", 2)
    source = ViewTable(
        from_lists((Column("start_ns", Kind.TIME), Column("x", Kind.INT)), dict.fromkeys(("start_ns", "x"), range(5)))
    )
    pieces = list(to_csv(source, BASE, TableQuery(columns=("start_ns",))))
    assert pieces == [b"start_ns\r\n", b"0\r\n1\r\n", b"2\r\n3\r\n", b"4\r\n"], "whole times, no offsets"


def test_a_large_table_travels_as_its_first_page() -> None:
    column = Column("calls", Kind.INT)
    sizes = {"small": INLINE_ROWS, "large": INLINE_ROWS + 1}
    found = {name: ViewTable(from_lists((column,), {"calls": range(size)}), "calls") for name, size in sizes.items()}
    tables = inline_tables("v", ViewResult({}, found))
    assert (tables["small"]["rows"], tables["small"]["id"]) == (INLINE_ROWS, "v.small")
    assert (tables["large"]["rows"], tables["large"]["total"]) == (200, INLINE_ROWS + 1)


def test_parse_query() -> None:
    given = {"sort": "calls", "desc": "1", "filter": "mat", "offset": "5", "limit": "7", "columns": "name,calls"}
    query = parse_query({**{key: [value] for key, value in given.items()}, "where": ["calls:ge:2", "name:has:a:b"]})
    where = (Where("calls", "ge", "2"), Where("name", "has", "a:b"))
    assert query == TableQuery("calls", True, "mat", where, offset=5, limit=7, columns=("name", "calls"))
    assert parse_query({}) == TableQuery()


@pytest.mark.parametrize(
    ("name", "value"),
    [("where", "calls>2"), ("where", "calls:like:2"), ("offset", "-1"), ("limit", "ten"), ("limit", "9" * 20)],
)
def test_bad_parameters_are_refused(name: str, value: str) -> None:
    with pytest.raises(BadRequest):
        parse_query({name: [value]})


@pytest.mark.parametrize(
    "query",
    [
        TableQuery(sort="nothing"),
        TableQuery(columns=("nothing",)),
        TableQuery(where=(Where("nothing", "eq", "1"),)),
        TableQuery(where=(Where("calls", "has", "1"),)),
        TableQuery(where=(Where("calls", "lt", ""),)),
        TableQuery(where=(Where("calls", "lt", "nan"),)),
        TableQuery(where=(Where("calls", "lt", "9" * 30),)),
        TableQuery(where=(Where("step", "lt", "1"),)),
    ],
)
def test_queries_that_make_no_sense_are_refused(query: TableQuery) -> None:
    with pytest.raises(BadRequest) as caught:
        page(query)
    assert caught.value.hint
