"""Reads communication of legacy results: hccl_raw. Source: docs/facts/mindinsight.md, Units and definitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.text_rows import CsvRows, is_number, open_rows, text
from tb_npu_plugin.schema import mindinsight as names
from tb_npu_plugin.schema import torch_npu_json as tables
from tb_npu_plugin.tables import Table, known
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS

_MS, _US, _KB = TIME_UNITS["ms"], TIME_UNITS["us"], DECIMAL_SIZE_UNITS["KB"]
_LINK_SHAPE = '{"from-to": {transport: [ms, KB, ...]}}'
_LINK = re.compile(r"\s*(\d{1,9})\s*-\s*(\d{1,9})\s*")
_OP = re.compile(r"(?:stream_\d+_(?:\d+_)?)?(?P<name>(?P<type>[A-Za-z_]+).*)")
#: Point-to-point types.
_P2P = ("send", "receive")
#: Costs above this many times the link times, which are always ms, are in us: the ratio is about 1 or 1,000.
_US_FROM = 30

Traffic = tuple[int, int, str]  # source, destination, transport


@dataclass
class _Step:
    """One row of the file: its operators, and the recorded sums of their costs, waits and links."""

    step: str
    cost: Any
    wait: Any
    ops: dict[str, Any]
    links: dict[str, Any]


@dataclass
class _Sums:
    """Sums of time and bytes over the links of one step and type."""

    times: dict[Traffic, int] = field(default_factory=lambda: defaultdict(int))
    sizes: dict[Traffic, int] = field(default_factory=lambda: defaultdict(int))


def read_hccl(reading: Reading) -> Tables:
    """Return `comm_ops`, `comm_bandwidth` and `comm_links` of hccl_raw. Bandwidths are recomputed, as the file sums
    them per step. The profiler's average is left out. The unit comes from the links, or from iterations that were read
    before."""
    report = reading.report
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        positions = rows.positions(names.HCCL_STEP, names.HCCL_COST, names.HCCL_WAIT, names.HCCL_LINKS, names.HCCL_OPS)
        if positions[0] is None or positions[4] is None:
            rows.report_missing(f"{names.HCCL_STEP}, {names.HCCL_OPS}")
            return {}
        rows.report_unknown_headers(names.HCCL_HEADERS)
        found = [_step(rows, cells, line, positions) for line, cells in rows.lines]
    report.count("rows", shown=len(found))
    real = [step for step in found if step.step != names.AVERAGE_STEP]
    figures = Figures(report)
    unit = _unit(real, figures, reading.before)
    out = _TablesBuilder(figures, report, unit)
    for step in real:
        out.add(step)
    if found and not real:
        report.add("no_rows")
    return out.tables()


def _step(rows: CsvRows, cells: list[str], line: int, positions: list[int | None]) -> _Step:
    """Decode the JSON cells of a row, figures as text."""
    place, cost, wait, links, ops = positions
    step = text(cells, place) or str(line - 1)
    if not is_number(step) and step != names.AVERAGE_STEP:
        rows.report.add("bad_cell", f"line {line}, {names.HCCL_STEP}", found=step)
        step = str(line - 1)
    return _Step(
        step,
        text(cells, cost),
        text(cells, wait),
        rows.object(cells, ops, line, exact=True),
        rows.object(cells, links, line, exact=True),
    )


def _unit(found: list[_Step], figures: Figures, before: Mapping[str, Table]) -> int:
    """Return the unit of costs in ns: ms up to 2.0, us since 2.3. It is detected from the link times, which add up to
    the cost, or from the longest step, which no cost exceeds by much."""
    cost = sum(figures.integer(step.cost, 1_000_000, names.HCCL_COST) or 0 for step in found)
    links = sum(
        figures.integer(values[0], 1_000_000, names.HCCL_LINKS) or 0
        for step in found
        for _, _, values in _traffic(step.links)
    )
    if links:
        return _US if cost > _US_FROM * links else _MS
    iterations = before.get("iterations")
    total = iterations.ints("total_ns") if iterations is not None else None
    longest = int(total[known(total)].max(initial=0)) if total is not None else 0
    waits = [figures.integer(step.wait, _MS, names.HCCL_WAIT) or 0 for step in found]
    return _US if longest and max(waits, default=0) > _US_FROM * longest else _MS


def _traffic(links: Any, refuse: Callable[[Any], None] = lambda found: None) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield (link, transport, [time ms, size KB, ...]) of {"src-dst": {transport: [...]}}. Parts of another shape are
    skipped and passed to `refuse`."""
    if not isinstance(links, dict):
        refuse(links)
        return
    for link, transports in links.items():
        if not isinstance(transports, dict):
            refuse({link: transports})
            continue
        for transport, values in transports.items():
            if isinstance(values, list) and len(values) > 1:
                yield link, transport, values
            else:
                refuse({link: transports})


class _TablesBuilder:
    """Builds the three tables."""

    def __init__(self, figures: Figures, report: FileReport, unit: int) -> None:
        self._figures = figures
        self._report = report
        self._unit = unit
        self._ops = RowBuilder(tables.COMM_OPS_COLUMNS)
        self._bandwidth = RowBuilder(tables.COMM_BANDWIDTH_COLUMNS)
        self._links = RowBuilder(tables.COMM_LINKS_COLUMNS)

    def tables(self) -> dict[str, Table]:
        """Return the tables, and count the operators."""
        return {
            "comm_ops": self._ops.counted(self._report, "entries"),
            "comm_bandwidth": self._bandwidth.table(),
            "comm_links": self._links.table(),
        }

    def add(self, step: _Step) -> None:
        """Add one step."""
        by_type: dict[str, _Sums] = defaultdict(_Sums)
        self._report.count("entries", seen=len(step.ops))
        for key, value in step.ops.items():
            matched = _OP.fullmatch(key)
            name, kind = (matched.group("name"), matched.group("type")) if matched else (key, key)
            where = f"step {step.step}, {key}"
            if not isinstance(value, list) or len(value) < 4:
                self._report.leave_out_entry(where, value, "[step, cost, wait, links]")
                continue
            self._add_op(step.step, name, kind, value, where, by_type[kind])
        for kind, sums in by_type.items():
            for (src, dst, transport), size in sums.sizes.items():
                time = sums.times[src, dst, transport]
                # A copy within the device is local, whatever its transport.
                link = (src, dst, tables.LOCAL if src == dst else transport)
                figures = (size, time, size / time if time else None)
                self._links.add(step.step, _kind_of(kind), kind, "total", None, *link, *figures, None)

    def _add_op(self, step: str, name: str, kind: str, value: list[Any], where: str, sums: _Sums) -> None:
        cost = self._figures.amount(value[1], self._unit, f"{where}, cost")
        wait = self._figures.amount(value[2], self._unit, f"{where}, wait")
        # The elapsed time is not recorded: it may include idle time besides cost and wait.
        self._ops.add(step, _kind_of(kind), name, None, None, None, cost, wait, None, None, None, None)
        moved: dict[str, list[int]] = defaultdict(lambda: [0, 0])

        def refuse(found: Any) -> None:
            self._report.add("unexpected_shape", where, expected=_LINK_SHAPE, found=str(found))

        for link, transport, values in _traffic(value[3], refuse):
            ends = _LINK.fullmatch(link)
            time = self._figures.amount(values[0], _MS, f"{where}, {link}")
            size = self._figures.amount(values[1], _KB, f"{where}, {link}")
            if ends is None or time is None or size is None:
                self._report.add("unexpected_shape", f"{where}, {link}", expected=_LINK_SHAPE, found=link)
                continue
            src, dst = int(ends.group(1)), int(ends.group(2))
            sums.times[src, dst, transport] += time
            sums.sizes[src, dst, transport] += size
            if src != dst:
                moved[transport][0] += size
                moved[transport][1] += time
        for transport, (size, time) in moved.items():
            self._bandwidth.add(
                step, _kind_of(kind), name, None, transport, 0, size, time, size / time if time else None, None
            )


def _kind_of(type: str) -> str:
    return "p2p" if type.lower() in _P2P else "collective"
