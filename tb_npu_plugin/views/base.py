"""What a view is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS, KINETO
from tb_npu_plugin.tables import Table

#: Rows up to which a table travels whole inside its view; above, pages come from /api/table.
INLINE_ROWS = 20_000


class ColumnJson(TypedDict):
    """One column of a table. `kind` is tables.Kind; a "time" is ns after the view's `base_ns`."""

    key: str
    kind: Literal["text", "int", "float", "time", "duration", "bytes", "traffic", "ratio", "percent", "bandwidth"]
    title: str
    doc: str
    group: str


class TableJson(TypedDict):
    """A table or a page of one, as columns. `total` counts all rows that match, `rows` those in `data`."""

    id: str
    columns: list[ColumnJson]
    data: dict[str, list[Any]]
    offset: int
    rows: int
    total: int
    sort: str
    desc: bool


class ProblemJson(TypedDict):
    """See problems.Problem. `texts`: code and parameters of the fields that are messages, not data."""

    code: str
    file: str
    where: str
    expected: str
    found: str
    lost: str
    action: str
    count: int
    severity: str
    texts: dict[str, MessageJson]


class MissingJson(TypedDict):
    """Something this capture does not have: which table, which file, what that costs, which option records it."""

    table: str
    file: str
    title: str
    views: list[str]
    option: str
    text: str
    texts: dict[str, MessageJson]


class ProgressJson(TypedDict):
    """One piece of reading work, of one rank. `eta_s` and `rate` (bytes per second) are null until they can be told.
    "cancelled": it stays so until it is resumed (/api/reading)."""

    span: str
    stage: Literal["tables", "trace"]
    state: Literal["waiting", "reading", "ready", "failed", "cancelled"]
    file: str
    bytes_done: int
    bytes_total: int
    rate: Optional[float]
    eta_s: Optional[float]
    message: str
    texts: dict[str, MessageJson]


@dataclass(frozen=True)
class Param:
    """A request parameter of a view, as text. `choices` empty: anything."""

    name: str
    default: str = ""
    choices: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True)
class ViewInput:
    """What a view is built from. `spans`: one for scope "span"; all ready ranks of the run for "run";
    baseline and experimental for "diff"."""

    spans: Sequence[SpanData]
    params: Mapping[str, str]


@dataclass(frozen=True)
class ViewTable:
    """A table of a view with its default order."""

    table: Table
    sort: str = ""
    desc: bool = True


@dataclass(frozen=True)
class ViewResult:
    """What `build` returns: JSON data (TypedDict of the module) and tables by name."""

    data: Mapping[str, Any]
    tables: Mapping[str, ViewTable] = field(default_factory=dict)
    base_ns: int = 0


@dataclass(frozen=True)
class View:
    """One view. `needs`: logical tables (or "trace"), each group satisfied by any one of its members. `contract`: the
    TypedDict of what `build` gives as data; its TypeScript type is made of it. `extra_tables`: tables that only /api/table
    serves, built from the same input on demand. `examines`: everything is read for it, and it is built whatever came of
    that. `from_trace`: tables that are taken from the trace where they have no file, although others may meet the needs.
    `early`: it is built of a first look (store/first_look.py), too, while the tables are read. `with_trace`: it shows more
    of spans whose trace happens to be read, and waits for none."""

    id: str
    title: str
    scope: Literal["span", "run", "diff"]
    needs: tuple[tuple[str, ...], ...]
    build: Callable[[ViewInput], ViewResult]
    contract: type
    params: tuple[Param, ...] = ()
    extra_tables: Mapping[str, Callable[[ViewInput], ViewTable]] = field(default_factory=dict)
    count: str = ""  # logical table whose row count stands beside the view in the sidebar
    examines: bool = False
    early: bool = False
    from_trace: tuple[str, ...] = ()
    with_trace: bool = False


def device_kind(span: SpanData) -> str:
    """What people call the device of a span; "" for a trace of torch.profiler in which no GPU ran."""
    return "" if span.format == KINETO.id and span.table("kernels") is None else FORMATS[span.format].device
