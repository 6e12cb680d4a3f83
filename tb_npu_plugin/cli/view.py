"""Prints a view on the terminal: each figure with its unit, names before ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Kind

#: Printed rows of a table; --json prints all.
SHOWN_ROWS = 20
UNKNOWN = "–"
_TIME_UNITS = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
#: Units of each kind of figure, each with its size in ns or bytes.
_UNITS: Mapping[Kind, Sequence[tuple[str, int]]] = {
    Kind.TIME: _TIME_UNITS,
    Kind.DURATION: _TIME_UNITS,
    Kind.BYTES: (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)),
    Kind.TRAFFIC: (("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9)),
}
#: Fields of a step in the JSON of views, named as the columns of step_trace_time.csv.
_STEP_COLUMNS = {column.key: column for column in TABLES["step_trace"]}
#: Other times of RankBudget, in ns.
_COMMUNICATION_TIMES = ("elapse", "transit", "wait", "synchronization", "idle")
#: Kind of other figures by the suffix of their key.
_ENDS = {"_ns": Kind.DURATION, "_at": Kind.TIME, "_bytes": Kind.BYTES, "share": Kind.RATIO, "ratio": Kind.RATIO}
_LINE_BREAK = re.compile(r"\s*[\r\n]\s*")
_ID = re.compile(r"[rws][0-9a-f]{18}")


@dataclass(frozen=True)
class PrintedColumn:
    """A column: its title without a unit, its kind (None: derived from the values), and all values."""

    title: str
    kind: Kind | None
    values: Sequence[Any]

    @property
    def is_id(self) -> bool:
        """The column holds ids of the catalog."""
        return any(isinstance(value, str) and _ID.fullmatch(value) for value in self.values)

    def cells(self) -> tuple[str, list[str]]:
        """The header with its unit, and the cells as text."""
        unit, scale = self._unit()
        heading = f"{self.title} ({unit})" if unit else self.title
        return heading, [_cell(value, scale, self.kind) for value in self.values]

    def _unit(self) -> tuple[str, float]:
        if self.kind in (Kind.RATIO, Kind.PERCENT):
            return "%", 0.01 if self.kind is Kind.RATIO else 1
        if self.kind is Kind.BANDWIDTH:
            return "GB/s", 1
        units = _UNITS.get(self.kind) if self.kind else None
        if units is None:
            return "", 1
        largest = max((abs(value) for value in self.values if isinstance(value, (int, float))), default=0)
        return next(unit for unit in reversed(units) if largest >= unit[1] or unit[1] == 1)


def print_view(console: Console, found: Mapping[str, Any]) -> None:
    """Print the answer of a view's route: its scalars, its lists, the first rows of its tables."""
    note = ", from tables alone" if found["preliminary"] else ""
    console.print(f"[bold]{found['view']}[/bold]: {found['state']}{note}")
    for key, value in (found["data"] or {}).items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            _print_table(console, _title(key), len(value), _columns_of(value[:SHOWN_ROWS]))
        elif isinstance(value, dict):
            figures = [
                f"{_title(name)} {_scalar_text(name, item, value)}" for name, item in value.items() if _is_plain(item)
            ]
            console.print(f"{_title(key)}: {escape(', '.join(figures))}")
        elif not isinstance(value, list):
            console.print(f"{_title(key)}: {escape(_scalar_text(key, value, {}))}")
    for name, table in found["tables"].items():
        columns = [
            PrintedColumn(column["title"], Kind(column["kind"]), table["data"][column["key"]][:SHOWN_ROWS])
            for column in table["columns"]
        ]
        _print_table(console, _title(name), table["total"], columns)


def _columns_of(records: Sequence[Mapping[str, Any]]) -> list[PrintedColumn]:
    keys = [key for key, value in records[0].items() if not isinstance(value, (dict, list, tuple))]
    return [PrintedColumn(_title(key), _kind_of(key), [item[key] for item in records]) for key in keys]


def _print_table(console: Console, title: str, rows: int, columns: Iterable[PrintedColumn]) -> None:
    known = [column for column in columns if any(value is not None for value in column.values)]
    count = f"{rows} rows" if rows <= SHOWN_ROWS else f"{SHOWN_ROWS} of {rows} rows; --json prints all"
    table = Table(title=escape(f"{title} ({count})"), title_justify="left", show_edge=False)
    bodies = []
    for column in sorted(known, key=lambda column: column.is_id):
        heading, cells = column.cells()
        is_text = any(isinstance(value, str) for value in column.values)
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold")
        bodies.append(cells)
    for row in zip(*bodies):
        table.add_row(*map(escape, row))
    console.print(table)


def _scalar_text(key: str, value: Any, beside: Mapping[str, Any]) -> str:
    """A scalar with its unit; beside: the values next to it."""
    if key == "start_ns":
        zone = timezone(timedelta(minutes=beside.get("utc_offset_minutes", 0)))
        return f"{datetime.fromtimestamp(int(value) / 1e9, zone):%Y-%m-%d %H:%M:%S %Z}"
    if key == "pid":
        return str(value)
    column = PrintedColumn("", _kind_of(key), [value])
    unit = column._unit()[0] if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    return f"{column.cells()[1][0]} {unit}".rstrip()


def _cell(value: Any, scale: float, kind: Kind | None) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _LINE_BREAK.sub(" ", value)  # of call stacks
    if kind in (None, Kind.INT) or (scale == 1 and isinstance(value, int)):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{value / scale:,.2f}" if kind in (Kind.RATIO, Kind.PERCENT, Kind.BANDWIDTH) else f"{value / scale:,.3f}"


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def _title(key: str) -> str:
    """Title of a field: that of the step column with this key, else the words of the key."""
    if key in _STEP_COLUMNS:
        return _STEP_COLUMNS[key].title
    words = re.sub(r"_(ns|bytes)$", "", key).replace("_", " ")
    return words[:1].upper() + words[1:]


def _kind_of(key: str) -> Kind | None:
    if key in _STEP_COLUMNS:
        return _STEP_COLUMNS[key].kind
    if key in _COMMUNICATION_TIMES:
        return Kind.DURATION
    return next((kind for end, kind in _ENDS.items() if key.endswith(end)), None)
