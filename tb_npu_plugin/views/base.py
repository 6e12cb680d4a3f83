"""Types of views: contracts, input, result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, TypedDict, TypeVar, cast

from tb_npu_plugin.json_encoding import to_plain
from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS, KINETO
from tb_npu_plugin.store.stages import JobState
from tb_npu_plugin.tables import Table

T = TypeVar("T")
#: Of what an answer shows.
ReadState = Literal["ready", "reading", "missing", "failed"]
#: Maximum rows of a table sent complete with its view; larger ones are paged by /api/table.
INLINE_ROWS = 10_000


class ColumnJson(TypedDict):
    """One column of a table."""

    key: str
    """Key of the column in `TableJson.data`."""
    kind: Literal["text", "int", "float", "time", "duration", "bytes", "traffic", "ratio", "percent", "bandwidth"]
    """See tables.Kind. A "time" is ns after the view's `base_ns`, a "duration" ns."""
    title: str
    """English title."""
    doc: str
    """English description."""
    group: str
    """Columns with the same group are shown and hidden together."""
    texts: dict[str, MessageJson]
    """Messages of `title` and `doc`; a title that is a header of the file has none."""


class TableJson(TypedDict):
    """A table, or a page of one, by columns."""

    id: str
    """`view.table`, as in /api/table."""
    columns: list[ColumnJson]
    """In display order."""
    data: dict[str, list[Any]]
    """Values of each column by its key; null is unknown."""
    offset: int
    """Number of the first row in `data`."""
    rows: int
    """Rows in `data`."""
    total: int
    """Rows that match the filters."""
    sort: str
    """Key of the sort column; "" for none."""
    desc: bool
    """Whether the order is descending."""


class ProblemJson(TypedDict):
    """A defect of the data, or of the reader; see problems.Problem."""

    code: str
    """Kind of problem; docs/problems.md lists them."""
    file: str
    """Path below the result folder; "" for no single file."""
    where: str
    """First occurrences in the file."""
    expected: str
    """Expected content."""
    found: str
    """Actual content."""
    lost: str
    """Data not shown because of it."""
    action: str
    """What the user can do."""
    count: int
    """Number of occurrences in the file."""
    severity: str
    """ "error", "warning" or "info"."""
    texts: dict[str, MessageJson]
    """Code and parameters of the fields that are messages, not data."""


class MissingJson(TypedDict):
    """Data that the capture does not have."""

    table: str
    """Logical table."""
    file: str
    """File that would hold it."""
    title: str
    """Title of the file."""
    views: list[str]
    """Ids of the views that lack it."""
    option: str
    """Profiler option that records it; "" if it is always recorded."""
    text: str
    """What is missing, and why."""
    texts: dict[str, MessageJson]
    """Code and parameters of the fields that are messages."""


class ProgressJson(TypedDict):
    """Reading of one stage of one span."""

    span: str
    """Token of the span."""
    stage: Stage
    """The trace, or all other files."""
    state: JobState
    """ "cancelled" lasts until the user resumes it (/api/reading)."""
    file: str
    """File that is being read."""
    bytes_done: int
    """Bytes read of all files of the stage."""
    bytes_total: int
    """Bytes of all files of the stage."""
    rate: Optional[float]
    """Bytes per second; null until measured."""
    eta_s: Optional[float]
    """Seconds left; null until estimated."""
    message: str
    """Why it failed or was cancelled."""
    texts: dict[str, MessageJson]
    """Code and parameters of `message`."""


class ViewJson(TypedDict):
    """Answer of /api/view/<id>."""

    view: str
    """Id of the view."""
    state: ReadState
    """ "missing": the capture lacks the data, see `missing`. "failed": see `problems`."""
    preliminary: bool
    """Whether figures may still change: files that the view shows are being read, or are left unread (`tb-npu --no-trace`, large
    traces, cancelled reading). Final figures are the same for page, commands and Python."""
    fingerprint: str
    """Changes with the data of the view."""
    base_ns: str
    """Origin of all times of the answer, ns since the epoch."""
    data: Optional[dict[str, Any]]
    """The view's own contract. Null until it is "ready"; preliminary data may come while it is "reading"."""
    tables: dict[str, TableJson]
    """First pages of the view's tables, by name."""
    problems: list[ProblemJson]
    """Problems of the files that the view shows."""
    missing: list[MissingJson]
    """Data that the view could show and the capture does not have."""
    progress: list[ProgressJson]
    """Reading of the view's spans."""


class ErrorJson(TypedDict):
    """Body of every answer with a status of 400 or more."""

    code: str
    """Kind of error, for programs."""
    message: str
    """What happened."""
    hint: str
    """What to do."""
    texts: dict[str, MessageJson]
    """Code and parameters of `message` and `hint`."""


@dataclass(frozen=True)
class Param:
    """A request parameter of a view, as text. Empty `choices`: any value."""

    name: str
    default: str = ""
    choices: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True)
class ViewInput:
    """Input of a view. `spans`: one for scope "span"; all ready ranks of the run for "run"; baseline and experimental
    for "diff". `ranks`: for each span all ready ranks of its run, itself included, if the view is `with_ranks`."""

    spans: Sequence[SpanData]
    params: Mapping[str, str]
    ranks: Sequence[Sequence[SpanData]] = ()

    def ranks_of(self, at: int) -> Sequence[SpanData]:
        """The ready ranks of the run of a span; the span alone where they are unknown."""
        return self.ranks[at] if self.ranks else self.spans[at : at + 1]


@dataclass(frozen=True)
class ViewTable:
    """A table of a view with its default order."""

    table: Table
    sort: str = ""
    desc: bool = True


@dataclass(frozen=True)
class ViewResult:
    """Result of `build`.

    Attributes:
        data: The view's contract. Dataclasses in it become dicts.
        tables: By name.
        base_ns: Origin of the times in `data` and in the answers, ns since the epoch.
    """

    data: Mapping[str, Any]
    tables: Mapping[str, ViewTable] = field(default_factory=dict)
    base_ns: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", to_plain(self.data))


@dataclass(frozen=True)
class View:
    """One view. Its title: the message `view.ID`.

    needs         groups of logical tables (or "trace"); of each group the span needs one
    contract      TypedDict of the data that `build` returns; source of the TypeScript type
    extra_tables  tables that only /api/table serves, built on demand from the same input
    examines      reads everything, and is built even if reading fails
    from_trace    groups of tables of which one is taken from the trace if none has a file, even if others meet the needs
    early         also built from a preview (store/first_look.py) while the tables are read
    with_ranks    shows more of spans whose run has other ranks that are read. A page does not wait for them, commands do
    with_trace    shows more of spans whose trace is read. A page does not wait for it, commands do
    trace_params  parameters that need the trace where they are given
    is_listed     has a page in the sidebar
    """

    id: str
    scope: Literal["span", "run", "diff"]
    needs: tuple[tuple[str, ...], ...]
    build: Callable[[ViewInput], ViewResult]
    contract: type
    params: tuple[Param, ...] = ()
    extra_tables: Mapping[str, Callable[[ViewInput], ViewTable]] = field(default_factory=dict)
    count: str = ""  # logical table whose row count the sidebar shows
    examines: bool = False
    early: bool = False
    from_trace: tuple[tuple[str, ...], ...] = ()
    with_trace: bool = False
    with_ranks: bool = False
    trace_params: tuple[str, ...] = ()
    is_listed: bool = True


def fields_of(contract: type[T], source: object, /, **others: Any) -> T:
    """An object as a contract, a TypedDict: its attributes of the same names, and the fields that it has otherwise."""
    return cast("T", {key: others[key] if key in others else getattr(source, key) for key in contract.__annotations__})


def device_kind(span: SpanData) -> str:
    """ "NPU", "GPU" or "CPU"; "" for a data pipeline alone and for a torch.profiler trace without GPU work."""
    return "" if span.format == KINETO.id and span.table("kernels") is None else FORMATS[span.format].device
