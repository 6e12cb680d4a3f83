"""Link usage of one rank over a capture, from the profiler's samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.schema import link_files as files
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.trace_events import HCCS, NIC, PCIE, ROCE
from tb_npu_plugin.tables import Table, from_lists
from tb_npu_plugin.units import BANDWIDTH_UNITS, unit_of

COLUMNS = columns_of("link_use")
#: Direction in names of columns and modes -> display name.
_WAYS = {"rx": "Rx", "tx": "Tx"}
_UNITS = {**BANDWIDTH_UNITS, "MB/s": files.LINK_MB / 1e9}


def link_use(tables: Mapping[str, Optional[Table]], rank: int | None) -> Table | None:
    """Link usage from the tables "hccs", "pcie", "roce" and "nic"; None if all are missing."""
    rows: list[dict[str, Any]] = []
    for link, name, kinds in ((HCCS, files.HCCS.id, files.HCCS_KINDS), (PCIE, files.PCIE.id, files.PCIE_KINDS)):
        rows += [{"link": link, **row} for row in _directions(tables.get(name), kinds)]
    for link, name in ((ROCE, files.ROCE.id), (NIC, files.NIC.id)):
        rows += [{"link": link, **row} for row in _ports(tables.get(name))]
    if not any(tables.get(name) is not None for name in files.LINK_TABLES):
        return None
    return from_lists(
        COLUMNS, {column.key: [{"rank": rank, **row}.get(column.key) for row in rows] for column in COLUMNS}
    )


def _directions(table: Table | None, kinds: Mapping[str, tuple[str, str]]) -> Iterable[dict[str, Any]]:
    """Rows of known modes, except latencies."""
    if table is None:
        return
    known = {_normalise_mode(mode): key for key, (_, mode) in kinds.items() if key != files.LATENCY}
    for number, mode in enumerate(table.text("mode").tolist()):
        key = known.get(_normalise_mode(mode or ""))
        factor = _UNITS.get(unit_of(mode or ""))
        if key is None or factor is None:
            continue
        way, _, packets = key.partition("_")
        figures = {name: _scale(_figure(table, column, number), factor) for name, column in _FIGURES.items()}
        yield {"way": _WAYS[way], "packets": packets or None, **figures}


_FIGURES = {"average": "avg", "peak": "max"}


def _ports(table: Table | None) -> Iterable[dict[str, Any]]:
    """Two rows per port. The average is the usage share times the port's speed."""
    for number in range(0 if table is None else len(table)):
        assert table is not None
        speed = _figure(table, "bandwidth", number)
        port = int(table.ints("port")[number])
        for key, way in _WAYS.items():
            use = _figure(table, f"{key}_use", number)
            average = None if use is None or speed is None else use * speed / 100
            yield {
                "way": way,
                "port": port,
                "average": average,
                "speed": speed,
                "use": use,
                "errors": _figure(table, f"{key}_errors", number),
                "dropped": _figure(table, f"{key}_dropped", number),
            }


def _normalise_mode(mode: str) -> str:
    """The mode without unit and spaces, which differ between releases."""
    return mode.partition("(")[0].strip().lower()


def _figure(table: Table, key: str, row: int) -> float | None:
    value = float(table.floats(key)[row])
    return None if np.isnan(value) else value


def _scale(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
