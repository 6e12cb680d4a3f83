"""Types of the declarations of result files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import Column, Kind, column_texts
from tb_npu_plugin.units import BANDWIDTH_UNITS, SIZE_UNITS, TIME_UNITS, unit_of

_UNITS = frozenset((*TIME_UNITS, *SIZE_UNITS, *BANDWIDTH_UNITS, "%"))

#: Pattern group: number of a piece of a split file; each piece has the same header.
PIECE = "piece"
#: Suffix of SQLite databases.
DATABASE_SUFFIX = ".db"
#: Suffixes of SQLite's logs, which exist next to a database while it is written and after its writer was killed: they
#: hold the newest rows, or the pages overwritten by an unfinished transaction.
LOG_SUFFIXES = ("-wal", "-journal")
#: Reading stages of a span: the data of its tables, and its timeline.
Stage = Literal["tables", "trace"]

# Values of Column.written that code asks for; columns.py has all.
CANN_8, SCHEDULE, SELDOM = "CANN8.0", "schedule", "seldom"

#: First column of most tables since CANN 8.1.
DEVICE_ID = Column(
    "device_id", Kind.INT, *column_texts("core.device_id"), "identity", ("Device_id",), written="CANN8.1"
)


@dataclass(frozen=True)
class Condition:
    """When the producer writes a file: the settings that the user needs for it.

    option  the exact settings as they are typed, e.g. "profile_memory=True, activities=[ProfilerActivity.CPU, ...]"; a
            setting in words is a message, see `join_settings`
    text    one sentence
    always  with these settings it is always written, whatever the training does
    """

    option: str
    text: Message
    always: bool = True


_BETWEEN = re.compile(r", (?![^\[]*\])")


def join_settings(*settings: str) -> str:
    """All of the settings: a message if one of them is one."""
    if not any(isinstance(one, Message) for one in settings):
        return ", ".join(settings)
    return reduce(lambda one, other: Message("option.both", one=one, other=other), settings)


def split_settings(option: str) -> list[str]:
    """Inverse of `join_settings`."""
    if not isinstance(option, Message):
        return _BETWEEN.split(option)
    if option.code != "option.both":
        return [option]
    return [setting for one in option.params.values() if isinstance(one, str) for setting in split_settings(one)]


@dataclass(frozen=True)
class ResultFile:
    """One kind of result file.

    id        name of the logical table that the file fills ("kernels"), unless `fills` names several
    name      file name inside ASCEND_PROFILER_OUTPUT (or the result folder, see `in_root`)
    extra     handling of undeclared headers: "metric" keeps them (kind derived from the header)
    condition when it is written
    columns   the columns of the table, in the newest producer's order
    in_root   next to ASCEND_PROFILER_OUTPUT instead of in it
    pattern   pattern of file names, if there are several; that of a name with <rank> follows from it
    unit      unit of times without a unit in the header
    sizes     bytes of size units that differ in this file from other files, also for bandwidths
    fills     names of the logical tables, if there are several
    stages    reading stages that read it
    settings  it holds capture settings and fills no table
    fallback  it is read last, for tables that no other file filled
    line_feed its lines end without a carriage return
    in_trace  tables built from its events with the timeline, and when it contains them
    beside    ids of files that the profiler writes only together with this one
    """

    id: str
    name: str
    condition: Condition
    columns: tuple[Column, ...] = ()
    doc: str = ""
    extra: str = "ignore"
    in_root: bool = False
    pattern: re.Pattern[str] | None = None
    unit: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    fills: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ("tables",)
    settings: bool = False
    fallback: bool = False
    line_feed: bool = False
    in_trace: tuple[tuple[str, Condition], ...] = ()
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pattern is None and "<rank>" in self.name:
            pattern = re.escape(self.name).replace("<rank>", r"(?P<rank>\d+)")
            object.__setattr__(self, "pattern", re.compile(pattern))

    @property
    def title(self) -> Message:
        """What it holds, as a title."""
        return Message(f"file.{self.id}")

    def matches(self, file_name: str) -> bool:
        """Whether this declaration describes a file of that name (a trailing .gz is allowed)."""
        name = file_name[:-3] if file_name.endswith(".gz") else file_name
        return bool(self.pattern.fullmatch(name)) if self.pattern else name == self.name

    def piece(self, file_name: str) -> int | None:
        """Piece number in the name of a split file; None for an unsplit file."""
        found = (
            self.pattern.fullmatch(file_name[:-3] if file_name.endswith(".gz") else file_name) if self.pattern else None
        )
        number = found.groupdict().get(PIECE) if found else None
        return int(number) if number else None

    @property
    def is_database(self) -> bool:
        """Whether the file is a SQLite database."""
        return self.name.endswith(DATABASE_SUFFIX)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the logical tables that it fills, including "trace"."""
        return () if self.settings else self.fills or (self.id,)

    def column(self, key: str) -> Column:
        """Column by key."""
        return next(column for column in self.columns if column.key == key)


def normalise(header: str) -> str:
    """Header text for comparison: without outer white space and byte order mark."""
    return header.lstrip("\ufeff").strip()


def base_of(header: str) -> str:
    """Header text without the unit: "Duration(us)" -> "Duration"; "Communication(Not Overlapped)" is unchanged."""
    header = normalise(header)
    return header[: header.rindex("(")].strip() if unit_of(header) in _UNITS else header


def normalise_header(header: str) -> str:
    """Common form of the spellings of a header: no unit, lower case, "_" as space."""
    return " ".join(base_of(header).lower().replace("_", " ").split())
