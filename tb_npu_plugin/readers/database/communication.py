"""Communication tables from analysis.db.
Source: docs/facts/ascend_pt.md, communication.json, communication_matrix.json; docs/facts/databases.md, analysis.db."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.source import Rows, Source
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.schema.torch_npu_db import Select
from tb_npu_plugin.tables import NULL_INT, Table, nullable
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS, scale_decimal

_MS, _US, _MB = TIME_UNITS["ms"], TIME_UNITS["us"], DECIMAL_SIZE_UNITS["MB"]
_STEP = re.compile(r"step(\d*)")


def comm_ops(rows: Rows) -> Table:
    """Return the communication operators of COMM_TIME. Idle time is recomputed from its parts, ratios as in text
    exports."""
    out = RowBuilder(names.COMM_OPS_COLUMNS)
    figures = _columns(rows, "elapse_ms", "transit_ms", "wait_ms", "sync_ms", "idle_ms")
    for who, start, times in zip(_identities(rows), rows.floats("start_us").tolist(), figures):
        elapse, transit, wait, sync, idle = (_exact_figure(value, _MS) for value in times)
        if elapse is not None and transit is not None and wait is not None:
            idle = elapse - transit - wait
        ratios = _ratio(times[2], times[1]), _ratio(times[3], times[1])
        out.add(*who, _exact_figure(start, _US), elapse, transit, wait, sync, idle, *ratios)
    return out.table()


def comm_bandwidth(rows: Rows) -> Table:
    """Return one row per operator and transport of COMM_BANDWIDTH, which has one per packet size."""
    out = RowBuilder(names.COMM_BANDWIDTH_COLUMNS)
    rows = rows.take(np.flatnonzero(_begin_transport(rows)))
    figures = _columns(rows, "size_mb", "time_ms", "bandwidth", "large_packet_ratio")
    for who, transport, (size, time, speed, large) in zip(_identities(rows), rows.texts("transport"), figures):
        shown = _exact_figure(size, _MB), _exact_figure(time, _MS), _float_or_none(speed), _float_or_none(large)
        out.add(*who, transport, int(transport in names.ROLLUP_TRANSPORTS), *shown)
    return out.table()


def comm_packets(rows: Rows) -> Table:
    """Return the packets by size of COMM_BANDWIDTH."""
    out = RowBuilder(names.COMM_PACKETS_COLUMNS)
    rows = rows.take(np.flatnonzero(_have_packets(rows)))
    figures = _columns(rows, "packet_mb", "packets_ms")
    counts = rows.ints("count").tolist()
    for who, transport, (packet, time), count in zip(_identities(rows), rows.texts("transport"), figures, counts):
        out.add(*who, transport, _exact_figure(packet, _MB), count, _exact_figure(time, _MS))
    return out.table()


def count_bandwidth(source: Source, select: Select, rows: Rows) -> None:
    """Count the rows that comm_bandwidth or comm_packets shows; report the others."""
    shown = _begin_transport(rows) | _have_packets(rows)
    source.count(select, shown=int(np.count_nonzero(shown)))
    source.leave_out(select, "repeated_row", int(np.count_nonzero(~shown)))


def _begin_transport(rows: Rows) -> NDArray[np.bool_]:
    """Mask of the first row of each operator and transport."""
    keys = list(zip(rows.ints("rank").tolist(), _identities(rows), rows.texts("transport")))
    first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1)))
    out = np.zeros(len(keys), dtype=np.bool_)
    out[list(first.values())] = True
    return out


def _have_packets(rows: Rows) -> NDArray[np.bool_]:
    """Mask of the rows with packets; the others only name a transport."""
    counts = rows.ints("count")
    return np.asarray((counts != 0) & (counts != NULL_INT))


def comm_links(rows: Rows) -> Table:
    """Return the link matrix of COMM_MATRIX."""
    out = RowBuilder(names.COMM_LINKS_COLUMNS)
    figures = _columns(rows, "size_mb", "time_ms", "bandwidth")
    ends = zip(nullable(rows.ints("src")), nullable(rows.ints("dst")))
    texts = zip(rows.texts("transport"), rows.texts("op_name"))
    for (step, kind, name, group), (src, dst), (transport, op_name), values in zip(
        _identities(rows), ends, texts, figures
    ):
        op_type, dash, stat = name.rpartition("-")
        size, time, speed = _exact_figure(values[0], _MB), _exact_figure(values[1], _MS), _float_or_none(values[2])
        who = (step, kind, op_type if dash else name, stat if dash else None, group)
        out.add(*who, src, dst, _text(transport), size, time, speed, _text(op_name))
    return out.table()


def _identities(rows: Rows) -> Iterator[tuple[str | None, str | None, str, str | None]]:
    """Yield (step, kind, name, group) of each row."""
    for step, kind, name, group in zip(*(rows.texts(key) for key in ("step", "kind", "name", "group"))):
        yield step_of(step), _text(kind), name or "", _text(group)


def step_of(text: str | None) -> str | None:
    """Return the number of a step: "50" for "step50" and "50", None for "step" and ""."""
    found = _STEP.fullmatch(text or "")
    return (found.group(1) if found else text) or None


def _columns(rows: Rows, *keys: str) -> Iterator[tuple[float, ...]]:
    return zip(*(rows.floats(key).tolist() for key in keys))


def _exact_figure(value: float, factor: int) -> int | None:
    """Return a figure in ns or bytes, from its shortest digits, as if read from a text file."""
    return None if math.isnan(value) else scale_decimal(repr(value), factor)


def _float_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _ratio(part: float, transit: float) -> float | None:
    """Return part / (part + transit), 0 if both are 0; rounded as in text exports."""
    if math.isnan(part) or math.isnan(transit):
        return None
    return round(part / (part + transit), 4) if part + transit else 0.0


def _text(value: Any) -> str | None:
    return value if value and value != "N/A" else None
