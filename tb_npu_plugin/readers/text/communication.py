"""Flattens communication.json and communication_matrix.json into tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.json_file import complete_objects, load_object, read_text
from tb_npu_plugin.readers.shared.json_shapes import members, object_members
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.text.communication_totals import Totals
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS

_MS, _US, _MB = TIME_UNITS["ms"], TIME_UNITS["us"], DECIMAL_SIZE_UNITS["MB"]
#: By how much the file's idle time may differ from elapsed - transit - wait: its figures are rounded floats.
_IDLE_TOLERANCE_NS = 1_000
_STEP_KEY = re.compile(r"step(\d*)")
_LINK_KEY = re.compile(r"\s*(\d{1,18})\s*-\s*(\d{1,18})\s*")


@dataclass(frozen=True)
class Entry:
    """One operator (communication.json) or one type and statistic (communication_matrix.json) of a step."""

    step: str | None
    kind: str
    name: str
    group: str | None
    value: dict[str, Any]

    @cached_property
    def where(self) -> str:
        """Place for problems."""
        return f"step {self.step or '?'}, {self.name}"


@gc_paused()
def read_communication(reading: Reading) -> dict[str, Table]:
    """comm_ops, comm_bandwidth and comm_packets of a communication.json; {} when nothing could be read.

    Idle time is recomputed from the figures that it consists of. The rollup entry is left out, but checked against
    the sums. Of a broken file every complete operator is kept.
    """
    report = reading.report
    text = read_text(reading)
    if text is None:
        return {}
    totals = Totals(report)
    flat = _Flat(report, totals)
    entries, whole = _entries(text, report, lambda value: names.COMM_TIME_INFO in value)
    for entry in entries:
        if entry.name == names.COMM_TOTAL:
            totals.expect(entry.step, entry.kind, entry.value)
        else:
            flat.add(entry)
    if whole:
        totals.check()
    return _unless_empty(flat.tables(), "comm_ops", whole, report)


@gc_paused()
def read_communication_matrix(reading: Reading) -> dict[str, Table]:
    """comm_links of a communication_matrix.json; {} when nothing could be read. Of a broken file every complete
    entry is kept."""
    report = reading.report
    text = read_text(reading)
    if text is None:
        return {}
    entries, whole = _entries(text, report, lambda value: any(_LINK_KEY.fullmatch(key) for key in value))
    return _unless_empty({"comm_links": links_table(entries, report)}, "comm_links", whole, report)


def flat_tables(entries: Iterable[Entry], report: FileReport) -> dict[str, Table]:
    """comm_ops, comm_bandwidth and comm_packets of operators, without rollups."""
    flat = _Flat(report, Totals(report))
    for entry in entries:
        if entry.name != names.COMM_TOTAL:
            flat.add(entry)
    return flat.tables()


def links_table(entries: Iterable[Entry], report: FileReport) -> Table:
    """comm_links of types and statistics, without rollups."""
    figures, rows = Figures(report), RowBuilder(names.COMM_LINKS_COLUMNS)
    for entry in entries:
        if entry.name != names.COMM_TOTAL:
            _add_links(entry, rows, figures, report)
    return rows.table()


def _unless_empty(tables: dict[str, Table], main: str, whole: bool, report: FileReport) -> dict[str, Table]:
    if len(tables[main]):
        return tables
    if not whole:
        return {}
    report.add("no_rows", expected=Message("expected.communication_operators"))
    return tables


def _entries(text: str, report: FileReport, wanted: Callable[[dict[str, Any]], bool]) -> tuple[list[Entry], bool]:
    """The entries of a file, and whether all of the file could be read."""
    content = load_object(text, report, exact=True)
    if content is not None:
        return list(_walk(content, report)), True
    return list(_salvage(text, wanted)), False


def _walk(content: dict[str, Any], report: FileReport) -> Iterator[Entry]:
    """Entries of a sound file: step -> kind -> name@group."""
    for step, kinds in content.items():
        for kind, entries in members(report, kinds, step):
            for name, value in object_members(report, entries, f"{step}, {kind}"):
                yield entry_of(step, kind, name, value)


def _salvage(text: str, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[Entry]:
    """Complete entries of a broken file. Steps and kinds are known by their keys."""
    step, kind = "", ""
    for key, value in complete_objects(text, wanted):
        if value is not None:
            yield entry_of(step, kind, key, value)
        elif key in names.COMM_KINDS:
            kind = key
        elif _STEP_KEY.fullmatch(key):
            step = key


def entry_of(step: str, kind: str, key: str, value: dict[str, Any]) -> Entry:
    """An entry from the keys that lead to it: "step5", "collective", "name@group"."""
    number = _STEP_KEY.fullmatch(step)
    name, at, group = key.rpartition("@")
    return Entry(
        (number.group(1) if number else step) or None, kind, name if at else key, group if at and group else None, value
    )


def _has_moved(links: Any) -> bool:
    """Some link of an operator took time to move something."""
    found = [info for info in links.values() if isinstance(info, dict)] if isinstance(links, dict) else []
    return any(_is_positive(info.get(names.TRANSIT)) and _is_positive(info.get(names.SIZE)) for info in found)


def _is_positive(value: Any) -> bool:
    """A number above 0, or the digits of one."""
    try:
        return float(value) > 0
    except (TypeError, ValueError):
        return False


class _Flat:
    """The three tables of communication.json while they grow."""

    def __init__(self, report: FileReport, totals: Totals) -> None:
        self.ops = RowBuilder(names.COMM_OPS_COLUMNS)
        self.bandwidth = RowBuilder(names.COMM_BANDWIDTH_COLUMNS)
        self.packets = RowBuilder(names.COMM_PACKETS_COLUMNS)
        self._report = report
        self._totals = totals
        self._figures = Figures(report)

    def tables(self) -> dict[str, Table]:
        """What was taken."""
        return {
            "comm_ops": self.ops.table(),
            "comm_bandwidth": self.bandwidth.table(),
            "comm_packets": self.packets.table(),
        }

    def add(self, entry: Entry) -> None:
        """Take one operator."""
        times, links = (entry.value.get(key) for key in (names.COMM_TIME_INFO, names.COMM_BANDWIDTH_INFO))
        if isinstance(times, dict):
            self._add_op(entry, times, _has_moved(links))
        else:
            self._report_shape(f"{entry.where}, {names.COMM_TIME_INFO}", times)
        bandwidth = entry.value.get(names.COMM_BANDWIDTH_INFO, {})
        for transport, info in members(self._report, bandwidth, f"{entry.where}, {names.COMM_BANDWIDTH_INFO}"):
            if isinstance(info, dict):
                self._add_bandwidth(entry, transport, info)
            else:
                self._report_shape(f"{entry.where}, {transport}", info)

    def _report_shape(self, where: str, found: Any) -> None:
        self._report.add("unexpected_shape", where, expected=Message("expected.object"), found=str(found))

    def _add_op(self, entry: Entry, times: dict[str, Any], has_moved: bool) -> None:
        def duration(key: str) -> int | None:
            value = times.get(key)
            return None if value is None else self._figures.integer(value, _MS, f"{entry.where}, {key}")

        def ratio(key: str) -> float | None:
            return self._figures.real(times.get(key), f"{entry.where}, {key}")

        start = self._figures.integer(times.get(names.START), _US, f"{entry.where}, {names.START}")
        elapse, transit, wait = duration(names.ELAPSE), duration(names.TRANSIT), duration(names.WAIT)
        sync, idle = duration(names.SYNC), duration(names.IDLE)
        if elapse is not None and transit is not None and wait is not None:
            computed = elapse - transit - wait
            if idle is not None and abs(idle - computed) > _IDLE_TOLERANCE_NS:
                self._report.add(
                    "inconsistent",
                    f"{entry.where}, {names.IDLE}",
                    expected=Message("expected.idle_time", ns=computed),
                    found=Message("found.ns", ns=idle),
                    kind="idle",
                )
            idle = computed
        self._totals.add_times(entry.step, entry.kind, (elapse, transit, wait, sync, idle))
        if transit == 0 and has_moved:  # the links took time: the file does not know how much of the operator's
            transit = idle = None
        self.ops.add(
            entry.step,
            entry.kind,
            entry.name,
            entry.group,
            start,
            elapse,
            transit,
            wait,
            sync,
            idle,
            ratio(names.WAIT_RATIO),
            ratio(names.SYNC_RATIO),
        )

    def _add_bandwidth(self, entry: Entry, transport: str, info: dict[str, Any]) -> None:
        where = f"{entry.where}, {transport}"
        size = self._figures.integer(info.get(names.SIZE), _MB, f"{where}, {names.SIZE}")
        time = self._figures.integer(info.get(names.TRANSIT), _MS, f"{where}, {names.TRANSIT}")
        self._totals.add_transport(entry.step, entry.kind, transport, (size, time))
        self.bandwidth.add(
            entry.step,
            entry.kind,
            entry.name,
            entry.group,
            transport,
            int(transport in names.ROLLUP_TRANSPORTS),
            size,
            time,
            self._figures.real(info.get(names.BANDWIDTH_GBS), f"{where}, {names.BANDWIDTH_GBS}"),
            self._figures.real(info.get(names.LARGE_PACKETS), f"{where}, {names.LARGE_PACKETS}"),
        )
        for packet, pair in members(self._report, info.get(names.COMM_SIZE_DISTRIBUTION, {}), where):
            place = f"{where}, {names.COMM_SIZE_DISTRIBUTION}"
            if not isinstance(pair, list) or len(pair) != 2:
                self._report.add("unexpected_shape", place, expected="[count, time]", found=str(pair))
                continue
            self.packets.add(
                entry.step,
                entry.kind,
                entry.name,
                entry.group,
                transport,
                self._figures.integer(packet, _MB, place),
                self._figures.integer(pair[0], 1, place),
                self._figures.integer(pair[1], _MS, place),
            )


def _add_links(entry: Entry, rows: RowBuilder, figures: Figures, report: FileReport) -> None:
    op_type, dash, stat = entry.name.rpartition("-")
    for link, info in entry.value.items():
        where = f"{entry.where}, {link}"
        ends = _LINK_KEY.fullmatch(link)
        if ends is None or not isinstance(info, dict):
            report.add("unexpected_shape", where, expected='"from-to": {...}', found=f"{link}: {info}")
            continue
        rows.add(
            entry.step,
            entry.kind,
            op_type if dash else entry.name,
            stat if dash else None,
            entry.group,
            int(ends.group(1)),
            int(ends.group(2)),
            _text(info.get(names.TRANSPORT)),
            figures.integer(info.get(names.SIZE), _MB, f"{where}, {names.SIZE}"),
            figures.integer(info.get(names.TRANSIT), _MS, f"{where}, {names.TRANSIT}"),
            figures.real(info.get(names.BANDWIDTH_GBS), f"{where}, {names.BANDWIDTH_GBS}"),
            next((text for text in map(_text, map(info.get, names.OP_NAMES)) if text is not None), None),
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "N/A") else None
