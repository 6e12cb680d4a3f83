"""Use of the links: files with one figure for a capture, and the samples of databases that are added up the same way."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.schema.link_files import LINK_TABLES
from tb_npu_plugin.store.timeline.files import load
from tests.support.scanners import both_scanners
from tests.unit.readers.databases import create
from tests.unit.readers.databases import read as read_database
from tests.unit.readers.files import codes, read, rows
from tests.unit.readers.test_database_extras import build, curves

pytestmark = both_scanners
MIB = 1 << 20
PORT = (
    "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s,rxError rate(%),rxDropped rate(%),"
    "Tx Bandwidth efficiency(%),txPacket/s,txError rate(%),txDropped rate(%),funcId\r\n"
)


@pytest.mark.parametrize("name", ["nic", "roce"])
def test_a_port(tmp_path: Path, name: str) -> None:
    content = PORT + "3,1736408883704643.212\t,1000,12.5,800.0,0.0,0.5,N/A,,0,0,1\r\n"
    tables, problems = read(tmp_path, f"{name}.csv", content.encode())
    assert problems == [] and tables.keys() == {name}
    (row,) = rows(tables[name])
    assert (row["device_id"], row["time_ns"], row["port"]) == (3, 1736408883704643212, 1)
    assert row["bandwidth"] == pytest.approx(1000 * MIB / 1e9)  # a MB of these files has 1024 * 1024 bytes
    assert (row["rx_use"], row["rx_packets"], row["rx_dropped"]) == (12.5, 800.0, 0.5)
    assert math.isnan(row["tx_use"]) and math.isnan(row["tx_packets"])  # unknown, not 0


def test_directions(tmp_path: Path) -> None:
    content = b"Mode,Max,Min,Average\nTx (MB/s),12600.0,0.0,8400.0\nRx (MB/s),1,x,N/A\n,1,1,1\n"
    tables, problems = read(tmp_path, "hccs.csv", content)
    assert codes(problems) == ["bad_required_cell x1", "bad_cell x1"]
    assert [str(row) for row in rows(tables["hccs"])] == [
        "{'mode': 'Tx (MB/s)', 'max': 12600.0, 'min': 0.0, 'avg': 8400.0}",
        "{'mode': 'Rx (MB/s)', 'max': 1.0, 'min': nan, 'avg': nan}",
    ]
    tables, problems = read(tmp_path, "pcie.csv", b"Device_id,Mode,Min,Max,Avg\n0,Tx_latency_avg(us),1,3,2\n")
    expected = {"device_id": 0, "mode": "Tx_latency_avg(us)", "min": 1.0, "max": 3.0, "avg": 2.0}
    assert problems == [] and rows(tables["pcie"]) == [expected]


HCCS = f"""
CREATE TABLE HCCS (deviceId, timestampNs, txThroughput, rxThroughput);
INSERT INTO HCCS VALUES (0,2000,{4 * MIB},NULL),(0,2500,{2 * MIB},NULL),(1,2000,{MIB},{3 * MIB});
"""
OTHERS = f"""
CREATE TABLE PCIE (deviceId, timestampNs, txPostMin, txPostMax, txPostAvg, txNonpostLatencyMin, txNonpostLatencyMax,
                   txNonpostLatencyAvg);
INSERT INTO PCIE VALUES (0,2000,0,{6 * MIB},{2 * MIB},500,1500,1000),(0,2500,{2 * MIB},{6 * MIB},{4 * MIB},500,2500,NULL);
CREATE TABLE ROCE (deviceId, timestampNs, bandwidth, rxPacketRate, rxByteRate, rxPackets, rxErrors, rxDropped, txByteRate,
                   funcId);
INSERT INTO ROCE VALUES (0,2000,4000,10,1000,100,0,0,400,1),(0,2500,4000,30,3000,300,3,NULL,NULL,1),
                        (0,2500,0,0,5,0,0,0,5,2);
"""


def test_samples_are_added_up_as_text_exports_do(tmp_path: Path) -> None:
    path = create(tmp_path, HCCS + "INSERT INTO HCCS VALUES (0,NULL,1,1);" + OTHERS)
    tables, problems = read_database(path, *LINK_TABLES)
    told = [problem for problem in problems if problem.code != "lost_column"]  # these tables have few columns
    assert codes(told) == ["bad_required_cell x1"]  # a time that is NULL costs its row
    assert tables.keys() == {"hccs", "pcie", "roce"}
    assert rows(tables["hccs"]) == [
        {"device_id": 0, "mode": "Tx (MB/s)", "max": 4.0, "min": 2.0, "avg": 3.0},
        {"device_id": 1, "mode": "Tx (MB/s)", "max": 1.0, "min": 1.0, "avg": 1.0},
        {"device_id": 1, "mode": "Rx (MB/s)", "max": 3.0, "min": 3.0, "avg": 3.0},
    ]
    assert rows(tables["pcie"]) == [
        {"device_id": 0, "mode": "Tx_p_avg(MB/s)", "min": 1.0, "max": 6.0, "avg": 3.0},
        {"device_id": 0, "mode": "Tx_latency_avg(us)", "min": 0.5, "max": 2.0, "avg": 1.0},
    ]
    one, other = rows(tables["roce"])
    assert (one["port"], one["time_ns"], one["bandwidth"]) == (1, 2500, pytest.approx(4000 / 1e9))
    assert (one["rx_use"], one["tx_use"], one["rx_packets"]) == (50.0, 10.0, 20.0)
    assert (one["rx_errors"], one["rx_dropped"]) == (1.0, 0.0) and math.isnan(one["tx_packets"])
    assert other["port"] == 2 and math.isnan(other["rx_use"])  # of a speed of 0
    assert other["rx_errors"] == 0.0


def test_curves_of_a_database(tmp_path: Path) -> None:
    timeline = build(tmp_path, HCCS + OTHERS)
    values = load(tmp_path / "out", "counter_value")
    links = [track for track in timeline.tracks if track["process"] == "HCCS"]
    assert [
        (track["label"], track["name"], series[0], values[series[-2] : series[-1]].tolist())
        for track in links
        for series in track["series"]
    ] == [("NPU 0", "Tx", "Tx(MB/s)", [4, 2]), ("NPU 1", "Rx", "Rx(MB/s)", [3]), ("NPU 1", "Tx", "Tx(MB/s)", [1])]
    assert curves(timeline, tmp_path, "PCIe") == {("PCIe_post", "Tx"): [2, 4], ("PCIe_nonpost_latency", "Tx"): [1]}
    ports = curves(timeline, tmp_path, "RoCE")
    assert ports["Port 1/Rx", "Rx Bandwidth Efficiency"] == [25, 75]
    assert ports["Port 1/Rx", "Rx Error Rate"] == [0, 1] and ports["Port 1/Rx", "Rx Packets"] == [10, 30]
    assert ports["Port 1/Tx", "Tx Bandwidth Efficiency"] == [10]
    assert ("Port 2/Rx", "Rx Bandwidth Efficiency") not in ports and ports["Port 2/Rx", "Rx Error Rate"] == [0]


@pytest.mark.parametrize("format", ["torch_npu", "mindspore", "msprof"])
def test_every_profiler_of_the_device(tmp_path: Path, format: str) -> None:
    name = "hccs_20250615070512.csv" if format == "msprof" else "hccs.csv"
    (tmp_path / name).write_text("Mode,Max,Min,Average\nTx (MB/s),2,0,1\n")
    log = ProblemLog()
    tables = READERS[format].tables(Reading(tmp_path / name, name, log))
    assert log.list() == [] and rows(tables["hccs"])[0]["avg"] == 1.0
