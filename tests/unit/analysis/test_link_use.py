"""Use of the links of a rank: figures of the files in one unit, unknown where nothing tells."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tb_npu_plugin.analysis.communication.links import link_use
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.link_files import NIC, PCIE, ROCE
from tb_npu_plugin.tables import NULL_INT, Table, from_lists

MB = (1 << 20) / 1e9


def table(file: ResultFile, *rows: dict[str, Any]) -> Table:
    return from_lists(file.columns, {column.key: [row.get(column.key) for row in rows] for column in file.columns})


def shown(rank: int | None = 3, **tables: Table) -> list[dict[str, Any]]:
    """Rows without what is unknown."""
    found = link_use(tables, rank)
    assert found is not None
    columns = {column.key: found.data[column.key].tolist() for column in found.columns}
    rows = [dict(zip(columns, cells)) for cells in zip(*columns.values())]
    return [{key: value for key, value in row.items() if not unknown(value)} for row in rows]


def unknown(value: Any) -> bool:
    return value is None or value == NULL_INT or (isinstance(value, float) and math.isnan(value))


def test_kinds_of_packets() -> None:
    modes = (
        "Tx_p_avg(MB/s)",
        "Rx_np_avg(GB/s)",
        "Rx_cpl_avg(MB/s)",
        "Tx_latency_avg(us)",
        "Tx_new(MB/s)",
        "Rx_p_avg",
        None,
    )
    pcie = table(PCIE, *({"mode": mode, "max": 2.0, "avg": 1.0} for mode in modes))
    assert shown(None, pcie=pcie) == [
        {"link": "PCIe", "way": "Tx", "packets": "post", "average": MB, "peak": 2 * MB},
        {"link": "PCIe", "way": "Rx", "packets": "nonpost", "average": 1.0, "peak": 2.0},
        {"link": "PCIe", "way": "Rx", "packets": "cpl", "average": MB, "peak": 2 * MB},
    ]  # a latency is no use; a mode without a unit, or one that nobody knows, tells nothing


@pytest.mark.parametrize(("file", "link"), [(NIC, "NIC"), (ROCE, "RoCE")])
def test_ports(file: ResultFile, link: str) -> None:
    found = table(
        file, {"bandwidth": 25.0, "rx_use": 40.0, "rx_dropped": 0.5, "tx_errors": 0.0, "port": 1}, {"tx_use": 7.0}
    )
    assert shown(**{file.id: found}) == [
        {"rank": 3, "link": link, "port": 1, "way": "Rx", "average": 10.0, "speed": 25.0, "use": 40.0, "dropped": 0.5},
        {"rank": 3, "link": link, "port": 1, "way": "Tx", "speed": 25.0, "errors": 0.0},
        {"rank": 3, "link": link, "way": "Rx"},
        {"rank": 3, "link": link, "way": "Tx", "use": 7.0},
    ]
