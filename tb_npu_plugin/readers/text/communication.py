"""Reads communication.json and communication_matrix.json into tables."""

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
from tb_npu_plugin.readers.shared.json_shapes import members, object_members, report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.text.communication_totals import Totals, report_lost_steps
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS

_MS, _US, _MB = TIME_UNITS["ms"], TIME_UNITS["us"], DECIMAL_SIZE_UNITS["MB"]
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

    @property
    def identity(self) -> tuple[str | None, str, str, str | None]:
        """The first columns of the tables."""
        return self.step, self.kind, self.name, self.group

    @cached_property
    def where(self) -> str:
        """Place in the file, for problems."""
        return f"step {self.step or '?'}, {self.name}"


@gc_paused()
def read_communication(reading: Reading) -> dict[str, Table]:
    """Return comm_ops, comm_bandwidth and comm_packets of a communication.json; {} if it is unreadable. Idle time is
    recomputed from its parts. The rollup entry is only checked against the sums. From a broken file, every complete
    operator is read."""
    report = reading.report
    text = read_text(reading)
    if text is None:
        return {}
    totals = Totals(report)
    builder = _TablesBuilder(report, totals, is_summed=True)
    entries, is_whole = _entries(text, report, lambda value: names.COMM_TIME_INFO in value)
    for entry in entries:
        if entry.name == names.COMM_TOTAL:
            totals.expect(entry.step, entry.kind, entry.value)
            report.count("entries", shown=1)
        else:
            builder.add(entry)
    if is_whole:
        totals.check()
    return _unless_empty(builder.tables(), "comm_ops", is_whole, reading)


@gc_paused()
def read_communication_matrix(reading: Reading) -> dict[str, Table]:
    """Return comm_links of a communication_matrix.json; {} if it is unreadable. From a broken file, every complete entry
    is read."""
    report = reading.report
    text = read_text(reading)
    if text is None:
        return {}
    entries, is_whole = _entries(text, report, lambda value: any(_LINK_KEY.fullmatch(key) for key in value))
    return _unless_empty({"comm_links": links_table(entries, report)}, "comm_links", is_whole, reading)


def flat_tables(entries: Iterable[Entry], report: FileReport) -> dict[str, Table]:
    """Return comm_ops, comm_bandwidth and comm_packets of operators, without rollups."""
    builder = _TablesBuilder(report, Totals(report), part="ranks")
    for entry in entries:
        if entry.name == names.COMM_TOTAL:
            report.count("entries", "ranks", shown=1)
        else:
            builder.add(entry)
    return builder.tables()


def links_table(entries: Iterable[Entry], report: FileReport) -> Table:
    """Return comm_links of types and statistics, without rollups."""
    figures, rows = Figures(report), RowBuilder(names.COMM_LINKS_COLUMNS)
    for entry in entries:
        report.count("entries", shown=1)
        if entry.name != names.COMM_TOTAL:
            _add_links(entry, rows, figures, report)
    return rows.counted(report, "entries", "links")


def _unless_empty(tables: dict[str, Table], main: str, is_whole: bool, reading: Reading) -> dict[str, Table]:
    report_lost_steps(reading, main, tables[main])
    if len(tables[main]):
        return tables
    if not is_whole:
        return {}
    reading.report.add("no_rows", expected=Message("expected.communication_operators"))
    return tables


def _entries(text: str, report: FileReport, accepts: Callable[[dict[str, Any]], bool]) -> tuple[list[Entry], bool]:
    """Return the entries of a file, and whether it is undamaged."""
    content = load_object(text, report, exact=True)
    if content is not None:
        return list(_walk(content, report)), True
    found = list(_salvage(text, accepts))
    report.count("entries", seen=len(found))
    return found, False


def _walk(content: dict[str, Any], report: FileReport) -> Iterator[Entry]:
    """Yield the entries of an undamaged file: step -> kind -> name@group."""
    for step, kinds in content.items():
        if not _STEP_KEY.fullmatch(step):
            report.add("unexpected_shape", step, expected=names.STEP_KEY, found=step, kind="step")
        found = members(report, kinds, step)
        report_lost_keys(report, dict(found), names.COMM_KINDS, step)
        for kind, entries in found:
            for name, value in object_members(report, entries, f"{step}, {kind}"):
                if "@" not in name and name != names.COMM_TOTAL:
                    place = f"{step}, {kind}, {name}"
                    report.add("lost_key", place, expected=names.ENTRY_KEY, found=name, kind="group")
                yield entry_of(step, kind, name, value)


def _salvage(text: str, accepts: Callable[[dict[str, Any]], bool]) -> Iterator[Entry]:
    """Yield the complete entries of a broken file. Steps and kinds are recognised by their keys."""
    step, kind = "", ""
    for key, value in complete_objects(text, accepts):
        if value is not None:
            yield entry_of(step, kind, key, value)
        elif key in names.COMM_KINDS:
            kind = key
        elif _STEP_KEY.fullmatch(key):
            step = key


def entry_of(step: str, kind: str, key: str, value: dict[str, Any]) -> Entry:
    """Return an entry from its path of keys: "step5", "collective", "name@group"."""
    number = _STEP_KEY.fullmatch(step)
    name, at, group = key.rpartition("@")
    return Entry(
        (number.group(1) if number else step) or None, kind, name if at else key, group if at and group else None, value
    )


def _has_moved(links: Any) -> bool:
    """Whether a link of the operator has a transit time and a size above 0."""
    found = [info for info in links.values() if isinstance(info, dict)] if isinstance(links, dict) else []
    return any(_is_positive(info.get(names.TRANSIT)) and _is_positive(info.get(names.SIZE)) for info in found)


def _is_positive(value: Any) -> bool:
    """Whether the value is a number above 0, also as text."""
    try:
        return float(value) > 0
    except (TypeError, ValueError):
        return False


class _TablesBuilder:
    """Builds the three tables of communication.json. part: counts of the operators, see SeenFiles."""

    def __init__(self, report: FileReport, totals: Totals, is_summed: bool = False, part: str = "") -> None:
        self._part = part
        self._is_summed = is_summed  # the packets of a transport take its time; not in files summed over ranks
        self.ops = RowBuilder(names.COMM_OPS_COLUMNS)
        self.bandwidth = RowBuilder(names.COMM_BANDWIDTH_COLUMNS)
        self.packets = RowBuilder(names.COMM_PACKETS_COLUMNS)
        self._report = report
        self._totals = totals
        self._figures = Figures(report)

    def tables(self) -> dict[str, Table]:
        """Return the tables, and count their rows."""
        return {
            "comm_ops": self.ops.counted(self._report, "entries", self._part),
            "comm_bandwidth": self.bandwidth.counted(self._report, "entries", "transports"),
            "comm_packets": self.packets.counted(self._report, "entries", "packets"),
        }

    def add(self, entry: Entry) -> None:
        """Add one operator."""
        if names.COMM_TIME_INFO in entry.value and names.COMM_BANDWIDTH_INFO not in entry.value:
            self._report.add("lost_key", f"{entry.where}, {names.COMM_BANDWIDTH_INFO}", kind=names.COMM_BANDWIDTH_INFO)
        times, links = (entry.value.get(key) for key in (names.COMM_TIME_INFO, names.COMM_BANDWIDTH_INFO))
        if isinstance(times, dict):
            self._add_op(entry, times, _has_moved(links))
        else:
            self._report.leave_out_entry(f"{entry.where}, {names.COMM_TIME_INFO}", times, part=self._part)
        bandwidth = entry.value.get(names.COMM_BANDWIDTH_INFO, {})
        transports = members(self._report, bandwidth, f"{entry.where}, {names.COMM_BANDWIDTH_INFO}")
        self._report.count("entries", "transports", seen=len(transports))
        for transport, info in transports:
            if isinstance(info, dict):
                self._add_bandwidth(entry, transport, info)
            else:
                self._report.leave_out_entry(f"{entry.where}, {transport}", info, part="transports")

    def _add_op(self, entry: Entry, times: dict[str, Any], has_moved: bool) -> None:
        report_lost_keys(self._report, times, names.TIME_KEYS, entry.where)

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
            if idle is not None and abs(idle - computed) > names.IDLE_TOLERANCE_NS:
                expected, found = Message("expected.idle_time", ns=computed), Message("found.ns", ns=idle)
                where = f"{entry.where}, {names.IDLE}"
                self._report.add("inconsistent", where, expected=expected, found=found, kind="idle")
            idle = computed
        self._totals.add_times(entry.step, entry.kind, (elapse, transit, wait, sync, idle))
        if transit == 0 and has_moved:  # the links took time, so the operator's transit time is unknown, not 0
            transit = idle = None
        ratios = ratio(names.WAIT_RATIO), ratio(names.SYNC_RATIO)
        self.ops.add(*entry.identity, start, elapse, transit, wait, sync, idle, *ratios)

    def _add_bandwidth(self, entry: Entry, transport: str, info: dict[str, Any]) -> None:
        where = f"{entry.where}, {transport}"
        report_lost_keys(self._report, info, names.BANDWIDTH_KEYS, where)
        size = self._figures.integer(info.get(names.SIZE), _MB, f"{where}, {names.SIZE}")
        time = self._figures.integer(info.get(names.TRANSIT), _MS, f"{where}, {names.TRANSIT}")
        self._totals.add_transport(entry.step, entry.kind, transport, (size, time))
        is_rollup = transport in names.ROLLUP_TRANSPORTS
        rates = (
            self._figures.real(info.get(key), f"{where}, {key}") for key in (names.BANDWIDTH_GBS, names.LARGE_PACKETS)
        )
        self.bandwidth.add(*entry.identity, transport, int(is_rollup), size, time, *rates)
        self._add_packets(entry, transport, info, where, None if is_rollup else time)

    def _add_packets(
        self, entry: Entry, transport: str, info: dict[str, Any], where: str, total_ns: int | None
    ) -> None:
        """Add the packets of a transport. total_ns: time of all; reported if it is another, as packets are missing then."""
        times: list[int | None] = []
        place = f"{where}, {names.COMM_SIZE_DISTRIBUTION}"
        packets = members(self._report, info.get(names.COMM_SIZE_DISTRIBUTION, {}), where)
        self._report.count("entries", "packets", seen=len(packets))
        for packet, pair in packets:
            if not isinstance(pair, list) or len(pair) != 2:
                self._report.leave_out_entry(place, pair, "[count, time]", part="packets")
                continue
            times.append(self._figures.integer(pair[1], _MS, place))
            size, count = self._figures.integer(packet, _MB, place), self._figures.whole(pair[0], place)
            self.packets.add(*entry.identity, transport, size, count, times[-1])
        known = [time for time in times if time is not None]
        if not self._is_summed or total_ns is None or len(known) < len(times):
            return
        if abs(sum(known) - total_ns) > names.IDLE_TOLERANCE_NS:
            expected, found = Message("found.ns", ns=total_ns), Message("found.ns", ns=sum(known))
            self._report.add("inconsistent", place, expected=expected, found=found, kind=place)


def _add_links(entry: Entry, rows: RowBuilder, figures: Figures, report: FileReport) -> None:
    op_type, dash, stat = entry.name.rpartition("-")
    report.count("entries", "links", seen=len(entry.value))
    for link, info in entry.value.items():
        where = f"{entry.where}, {link}"
        ends = _LINK_KEY.fullmatch(link)
        if ends is None or not isinstance(info, dict):
            report.leave_out_entry(where, f"{link}: {info}", '"from-to": {...}', part="links")
            continue
        report_lost_keys(report, info, names.LINK_KEYS, where)
        size = figures.integer(info.get(names.SIZE), _MB, f"{where}, {names.SIZE}")
        time = figures.integer(info.get(names.TRANSIT), _MS, f"{where}, {names.TRANSIT}")
        speed = figures.real(info.get(names.BANDWIDTH_GBS), f"{where}, {names.BANDWIDTH_GBS}")
        operator = next((text for text in map(_text, map(info.get, names.OP_NAMES)) if text is not None), None)
        who = (entry.step, entry.kind, op_type if dash else entry.name, stat if dash else None, entry.group)
        ranks = map(int, ends.groups())
        rows.add(*who, *ranks, _text(info.get(names.TRANSPORT)), size, time, speed, operator)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "N/A") else None
