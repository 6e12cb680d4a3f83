"""Counters of a trace: one series per process, counter name and value key."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import is_plausible
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile, read_object
from tb_npu_plugin.scan.events import Interner
from tb_npu_plugin.schema import trace
from tb_npu_plugin.schema.core import DATABASE_SUFFIX
from tb_npu_plugin.tables import IntArray
from tb_npu_plugin.units import float_or_none, unit_of

#: Size of the cache of decoded args: counters repeat their values.
_MAX_CACHED = 65_536
#: No counter exceeds this: 64 bits.
_MOST = 2.0**64
#: Share of a counter's events up to which those with other keys are damaged.
_FEW = 0.25


#: Process and name of a counter -> keys of its events -> their number, and the first.
_Kinds = dict[tuple[int, int], dict[tuple[str, ...], list[int]]]


@dataclass
class Counters:
    """Values of all series, sorted by series, then time.

    Attributes:
        series: (pid, counter name, value key); the first two are indices into the texts of the trace.
        ends: Index after the last value of each series.
        time: ns since the epoch.
        events: Rows of the events that hold the values, in file order.
    """

    series: list[tuple[int, int, str]]
    ends: NDArray[np.int64]
    time: IntArray
    value: NDArray[np.float64]
    events: NDArray[np.int64]


def read_counters(events: TraceEvents, args: ArgsFile | None, file: str, log: ProblemLog) -> Counters:
    """All counter events. Events without a name or time, and values that are not numbers, are reported as a Problem."""
    every = events.of_phase("C")
    rows = every[is_plausible(events.ts[every]) & (events.name[every] >= 0)]
    series = Interner()
    which, when, values, used = array("i"), array("q"), array("d"), array("q")
    bad = every[~np.isin(every, rows)].tolist()
    kinds: _Kinds = {}
    if args is not None:
        columns = (part.tolist() for part in (events.pid[rows], events.name[rows], events.ts[rows]))
        decoded: dict[bytes, _Values | None] = {}
        each = args.each(events.args_offset[rows], events.args_length[rows])
        for row, pid, name, ts, data in zip(rows.tolist(), *columns, each):
            if data not in decoded:
                if len(decoded) >= _MAX_CACHED:
                    decoded.clear()
                decoded[data] = _values(data)
            found = decoded[data]
            if found is None:
                bad.append(row)
                continue
            used.append(row)
            kinds.setdefault((pid, name), {}).setdefault(found.keys, [0, row])[0] += 1
            for key, value in found.pairs:
                which.append(series[(pid, name, key)])
                when.append(ts)
                values.append(value)
    else:  # the file cannot be opened again, which is reported
        log.seen.add(file, "events", told=len(rows))
    if bad:
        log.add(problem_of("bad_counter", events.file_of(min(bad), file), f"event {min(bad)}", times=len(bad)))
        log.seen.add(file, "events", told=len(bad))
    if not file.endswith(DATABASE_SUFFIX):  # NULL in a database is no key
        _report_lost_keys(events, kinds, file, log)
    code, time, figures = _as_column(which), _as_column(when), _as_column(values)
    order = np.lexsort((time, code))
    ends = np.searchsorted(code[order], np.arange(len(series)), side="right")
    return Counters(list(series), ends, time[order], figures[order], _as_column(used))


def _as_column(values: array[Any]) -> NDArray[Any]:
    return np.frombuffer(values, dtype=values.typecode) if values else np.zeros(0, dtype=values.typecode)


def _report_lost_keys(events: TraceEvents, kinds: _Kinds, file: str, log: ProblemLog) -> None:
    """Report events with other keys than almost all events of their counter, and the only counter of a process whose keys
    have no unit."""
    for pid in {pid for pid, _ in kinds}:
        own = [found for (process, _), found in kinds.items() if process == pid]
        without = [found for found in own if not any(counter_unit(key) for keys in found for key in keys)]
        if len(without) == 1 and len(own) > 2:
            keys, (count, row) = next(iter(without[0].items()))
            report = FileReport(log, events.file_of(row, file))
            report.add("lost_key", f"event {row}", found=", ".join(keys), count=count)
    for found in kinds.values():
        written = max(found, key=lambda keys: (found[keys][0], any(map(counter_unit, keys))))
        total = sum(count for count, _ in found.values())
        for keys, (count, row) in found.items():
            if keys != written and count <= max(1, total * _FEW):
                lost = ", ".join(key for key in written if key not in keys) or ", ".join(keys)
                FileReport(log, events.file_of(row, file)).add("lost_key", f"event {row}, {lost}", count=count)


@dataclass(frozen=True)
class _Values:
    """The keys of one event, and (series key, value) pairs."""

    keys: tuple[str, ...]
    pairs: list[tuple[str, float]]


def _values(data: bytes) -> _Values | None:
    """The values of one event; None where one is not a number that a counter can have."""
    found = read_object(data)
    if not found:
        return None
    marks = [f"{key} {found[key]}" for key in trace.COUNTER_DIMENSIONS if key in found]
    suffix = f" ({', '.join(marks)})" if marks else ""
    out = []
    for key, value in found.items():
        if key in trace.COUNTER_DIMENSIONS:
            continue
        figure = None if isinstance(value, bool) else float_or_none(str(value))
        if figure is None or abs(figure) > _MOST or (figure < 0 and counter_unit(key)):
            return None
        out.append((key + suffix, figure))
    return _Values(tuple(found), out) if out else None


def counter_unit(key: str) -> str:
    """Unit of a series from its key, as in "Read(MB/s)" or "MHz"; "" without one."""
    return unit_of(key) or (key if key in trace.COUNTER_UNITS else "")


def track_fields(keys: list[str], value: NDArray[np.float64]) -> dict[str, Any]:
    """Unit and maximum of a counter track."""
    units = {counter_unit(key) for key in keys}
    return {"unit": units.pop() if len(units) == 1 else "", "max_value": float(value.max()) if len(value) else None}
