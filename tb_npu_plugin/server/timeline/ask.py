"""What a question about timelines is: a class with its fields, and `answer`. registry.py lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Literal, Union

import msgspec

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.server.timeline.sources import SourceRef, Sources, Whole
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import DEFAULT_LIMIT, MAX_LIMIT, TableQuery
from tb_npu_plugin.views.tables_json import table_json, to_csv

#: Whether the client closed the connection.
IsGone = Callable[[], bool]


@dataclass(frozen=True)
class Download:
    """A file."""

    pieces: Iterator[bytes]
    kind: Literal["csv", "json"] = "csv"


#: Binary columns, a file, or an object to encode as JSON.
Answer = Union[bytes, Download, Mapping[str, Any]]


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question. sources: the rows that it is about. The name of its class, in lower case, is the end of its route."""

    sources: Annotated[tuple[SourceRef, ...], msgspec.Meta(min_length=1, max_length=256)]

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        """The answer. Raises ClientGone, and NpuPluginError."""
        raise NotImplementedError


class Window(Ask, frozen=True, kw_only=True):
    """A question about [t0, t1), ns after time 0."""

    t0: Whole
    t1: Whole

    def __post_init__(self) -> None:
        if self.t0 >= self.t1:
            raise BadRequest(Message("error.empty_range", t0=self.t0, t1=self.t1), Message("hint.range"))


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page of a list. sort: "" for the list's own order."""

    sort: str = ""
    desc: bool = False
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=MAX_LIMIT)] = DEFAULT_LIMIT


#: A table, or all its rows as a file.
Format = Literal["json", "csv"]


def csv_of(head: Table, tables: Iterable[Table]) -> Download:
    """Several tables with the columns of `head` as one CSV. Raises before the first piece."""
    parts = (to_csv(ViewTable(table), 0, TableQuery()) for table in tables)
    rows = (piece for part in parts for piece in islice(part, 1, None))  # without the header of each part
    return Download(chain([next(to_csv(ViewTable(head), 0, TableQuery()))], rows))


def page_of(table_id: str, table: Table, base_ns: int, **facts: Any) -> TableJson:
    """A table that is a page. facts: fields of TableJson that only the question knows."""
    page = table_json(table_id, ViewTable(table), base_ns, TableQuery(limit=len(table)))
    page.update(facts)  # type: ignore[typeddict-item]
    return page
