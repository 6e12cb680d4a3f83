"""Tables "nic", "roce", "pcie" and "hccs": statistics of samples, as text exports compute them.
Source: docs/facts/ascend_pt.md, Files copied from msprof; docs/facts/databases.md,
ascend_pytorch_profiler.db, and the public source of msprof for the formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.schema import link_files as files
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.torch_npu_db import Select
from tb_npu_plugin.tables import NULL_INT, FloatArray, IntArray, Table
from tb_npu_plugin.units import BANDWIDTH_UNITS

#: Decimals in text exports.
_DIGITS = 3


def read_network(context: Context, select: Select, file: ResultFile) -> dict[str, Table]:
    """Return the mean use of each port."""
    rows = context.source.read(select)
    out = RowBuilder(file.columns)
    for device, port, chosen in _groups(context, select, rows, rows.ints("port")):
        times = rows.ints("time_ns")[chosen]
        speed = _first_known(rows.floats("bandwidth")[chosen])
        cells: list[float | None] = []
        for way in ("rx", "tx"):
            rate, packets = (_mean_of_known(rows.floats(f"{way}_{key}")[chosen]) for key in ("rate", "packet_rate"))
            use = None if rate is None or not speed else round(rate * 100 / speed, _DIGITS)
            counted = _max_known(rows.ints(f"{way}_packets")[chosen])
            lost = (_percent_of_packets(rows.ints(f"{way}_{key}")[chosen], counted) for key in ("errors", "dropped"))
            cells += [use, packets if packets is None else round(packets, _DIGITS), *lost]
        known = None if speed is None else speed * BANDWIDTH_UNITS["B/s"]
        out.add(device, int(times.max()), known, *cells, port)
    return {file.id: out.table()} if len(rows) else {}


def read_hccs(context: Context) -> dict[str, Table]:
    """Return maximum, minimum and mean of each direction."""
    rows = context.source.read(schema.HCCS)
    out = RowBuilder(files.HCCS.columns)
    for device, _, chosen in _groups(context, schema.HCCS, rows):
        for key, (_, mode) in files.HCCS_KINDS.items():
            values = rows.floats(key)[chosen]
            values = values[~np.isnan(values)]
            if len(values):
                figures = (float(values.max()), float(values.min()), _mean_of_known(values))
                out.add(device, mode, *(_figure(figure, key) for figure in figures))
    return {files.HCCS.id: out.table()} if len(rows) else {}


def read_pcie(context: Context) -> dict[str, Table]:
    """Return, per kind of packets, the means of the samples' minimum, maximum and average."""
    rows = context.source.read(schema.PCIE)
    out = RowBuilder(files.PCIE.columns)
    for device, _, chosen in _groups(context, schema.PCIE, rows):
        for key, (_, mode) in files.PCIE_KINDS.items():
            figures = [_mean_of_known(rows.floats(f"{key}_{end}")[chosen]) for end in ("min", "max", "avg")]
            if any(figure is not None for figure in figures):
                out.add(device, mode, *(_figure(figure, key) for figure in figures))
    return {files.PCIE.id: out.table()} if len(rows) else {}


def _groups(
    context: Context, select: Select, rows: Rows, ports: IntArray | None = None
) -> Iterator[tuple[int | None, int | None, NDArray[np.bool_]]]:
    """Yield each device and port with a mask of its rows, and count these as shown."""
    devices = context.devices(rows)
    ports = np.full(len(rows), NULL_INT, dtype=np.int64) if ports is None else ports
    for device, port in sorted(set(zip(devices.tolist(), ports.tolist()))):
        chosen = (devices == device) & (ports == port)
        context.source.count(select, shown=int(np.count_nonzero(chosen)))
        yield None if device == NULL_INT else device, None if port == NULL_INT else port, chosen


def _figure(value: float | None, key: str) -> float | None:
    """Return the figure in the unit of its mode."""
    return None if value is None else round(value / (1000 if key == files.LATENCY else files.LINK_MB), _DIGITS)


def _mean_of_known(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) / len(known) if len(known) else None


def _first_known(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[0]) if len(known) else None


def _max_known(values: IntArray) -> int | None:
    known = values[values != NULL_INT]
    return int(known.max()) if len(known) else None


def _percent_of_packets(values: IntArray, packets: int | None) -> float | None:
    """Return the percentage of packets; 0 without packets, as in text exports."""
    found = _max_known(values)
    if found is None or packets is None:
        return None
    return round(found * 100 / packets, _DIGITS) if packets else 0.0
