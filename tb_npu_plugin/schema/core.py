"""What a declaration of a result file consists of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import Column, Kind
from tb_npu_plugin.units import BANDWIDTH_UNITS, SIZE_UNITS, TIME_UNITS, unit_of

_UNITS = frozenset((*TIME_UNITS, *SIZE_UNITS, *BANDWIDTH_UNITS, "%"))

#: Group of a pattern: which piece of a file that was cut into several, each with the same header.
PIECE = "piece"
#: Ends of the names of SQLite databases.
DATABASE_SUFFIX = ".db"
#: Ends of the names of SQLite's logs, which stand beside a database while it is written and after its writer was killed:
#: the newest rows, or what an unfinished change has overwritten.
LOG_SUFFIXES = ("-wal", "-journal")
#: A span is read in two stages: what its tables need, and its timeline.
Stage = Literal["tables", "trace"]

#: Leads most tables since CANN 8.1.
DEVICE_ID = Column("device_id", Kind.INT, "Device", "Physical device id; not the rank.", "identity", ("Device_id",))


@dataclass(frozen=True)
class Condition:
    """When the producer writes a file: what the user must switch on to get it.

    option  the exact settings as they are typed, e.g. "profile_memory=True, activities=[ProfilerActivity.CPU, ...]"
    text    one sentence
    always  with these settings it is written, whatever the training does
    """

    option: str
    text: Message
    always: bool = True


@dataclass(frozen=True)
class ResultFile:
    """One kind of result file.

    id        name of the logical table that the file fills ("kernels"), unless `fills` names several
    name      file name inside ASCEND_PROFILER_OUTPUT (or the result folder, see `in_root`)
    columns   the columns of the table, in the newest producer's order
    extra     what to do with headers that are not declared: "metric" keeps them (kind guessed from header)
    condition when it is written
    in_root   beside ASCEND_PROFILER_OUTPUT instead of inside it
    pattern   file names, where there is more than one
    unit      unit of the times whose headers name none
    sizes     bytes of units of size that mean something else in this file than elsewhere, in bandwidths too
    fills     names of the logical tables where they are several
    stages    which of the two stages of reading a span read it
    settings  it tells how the span was recorded and fills no table
    fallback  it is read after the others, for the tables that they did not fill
    in_trace  those of the tables that are made of its events while its timeline is built, and when it holds them
    """

    id: str
    name: str
    title: str
    columns: tuple[Column, ...]
    condition: Condition
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
    in_trace: tuple[tuple[str, Condition], ...] = ()

    def matches(self, file_name: str) -> bool:
        """This declaration describes a file of that name (a trailing .gz is allowed)."""
        name = file_name[:-3] if file_name.endswith(".gz") else file_name
        return bool(self.pattern.fullmatch(name)) if self.pattern else name == self.name

    def piece(self, file_name: str) -> int | None:
        """Which piece of a file that was cut a file of that name is; None for a whole one."""
        found = (
            self.pattern.fullmatch(file_name[:-3] if file_name.endswith(".gz") else file_name) if self.pattern else None
        )
        number = found.groupdict().get(PIECE) if found else None
        return int(number) if number else None

    @property
    def is_database(self) -> bool:
        """A SQLite database."""
        return self.name.endswith(DATABASE_SUFFIX)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the logical tables that it fills; the trace is one of them."""
        return () if self.settings else self.fills or (self.id,)

    def column(self, key: str) -> Column:
        """Column by key."""
        return next(column for column in self.columns if column.key == key)


def normalise(header: str) -> str:
    """Header text as it is compared: without outer white space and byte order mark."""
    return header.lstrip("\ufeff").strip()


def base_of(header: str) -> str:
    """Header text without the unit: "Duration(us)" -> "Duration", "Communication(Not Overlapped)" as it is."""
    header = normalise(header)
    return header[: header.rindex("(")].strip() if unit_of(header) in _UNITS else header


def folded(header: str) -> str:
    """What spellings of one header have in common: no unit, no case, "_" and spaces alike."""
    return " ".join(base_of(header).lower().replace("_", " ").split())
