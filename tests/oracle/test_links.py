"""What the links are said to have moved is what collectives and copies moved: added up of the raw files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.oracle.raw import Raw, raw
from tests.support.mock import rank_folder, run

#: What they take in a ring comes over PCIe, and over the network; so it does 16 ranks further.
RANKS = (5, 9, 21, 25)
MIB = 1 << 20
#: Seconds between two samples.
NETWORK, INSIDE = Decimal("0.01"), Decimal("0.02")


def moved(folder: Path, transport: str, sent: bool) -> int:
    """Bytes of sends, or of everything else, over a transport."""
    total = Decimal(0)
    for kinds in raw(folder).json("communication.json").values():
        for entries in kinds.values():
            for key, op in entries.items():
                if "@" in key and key.startswith("hcom_send_") == sent:
                    size = op["Communication Bandwidth Info"][transport]["Transit Size(MB)"]
                    total += Decimal(str(size)) * 1_000_000
    return round(total)


def copied(one: Raw, task_type: str) -> int:
    """Bytes of copies in one direction."""
    tasks = (event["args"] for event in one.process("Ascend Hardware") if event["name"] == "MEMCPY_ASYNC")
    return sum(int(args["data size(Byte)"]) for args in tasks if args["Task Type"] == task_type)


def samples(one: Raw, process: str, counter: str) -> int:
    pids = {pid for pid, name in one.processes.items() if name == process}
    return sum(event["ph"] == "C" and event["pid"] in pids and event["name"] == counter for event in one.events)


@pytest.fixture(params=RANKS)
def rank(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture
def folder(rank: int) -> Path:
    return rank_folder(run("both_links")[0], rank)


@pytest.fixture
def other(rank: int) -> Path:
    """The rank at the other end of the pipeline."""
    return rank_folder(run("both_links")[0], (rank + 16) % 32)


def test_hccs(folder: Path) -> None:
    one = raw(folder)
    count = samples(one, "HCCS", "Rx")
    average = {row["Mode"].partition(" ")[0]: Decimal(row["Average"]) * MIB for row in one.csv("hccs.csv")}
    received = moved(folder, "HCCS", sent=False)
    assert received > MIB // 4
    assert abs(average["Rx"] * count * INSIDE - received) <= 11 * count
    # in a ring what came over one link may go on over another one
    assert average["Tx"] > 0


def test_what_came_in_goes_out(folder: Path, other: Path) -> None:
    """Each member of a collective sends as much as it receives, over whichever link."""
    one = raw(folder)
    inside, network = samples(one, "HCCS", "Rx"), samples(one, "NIC", "Port 0/Rx")
    hccs = {row["Mode"][:2]: Decimal(row["Average"]) * MIB * INSIDE * inside for row in one.csv("hccs.csv")}
    pcie = {row["Mode"]: Decimal(row["Avg"]) * MIB * INSIDE * inside for row in one.csv("pcie.csv")}
    (port,) = one.csv("roce.csv")
    speed = Decimal(port["Bandwidth(MB/s)"]) * MIB * network * NETWORK / 100
    roce = {way: Decimal(port[f"{way} Bandwidth efficiency(%)"]) * speed for way in ("Rx", "Tx")}
    received = hccs["Rx"] + pcie["Rx_cpl_avg(MB/s)"] + roce["Rx"]
    received -= copied(one, "PCIE_DMA_SQE") + moved(other, "RDMA", sent=True)
    sent = hccs["Tx"] + pcie["Tx_cpl_avg(MB/s)"] + roce["Tx"] - moved(folder, "RDMA", sent=True)
    assert received > MIB // 4
    assert abs(received - sent) <= 3000 * (inside + network)


def test_network(folder: Path, other: Path) -> None:
    """The card sees what RDMA moved: collectives, what this rank sent, and what the other one says that it sent."""
    one = raw(folder)
    count = samples(one, "RoCE", "Port 0/Rx")
    (card,), (port,) = one.csv("nic.csv"), one.csv("roce.csv")
    assert card == port
    received = moved(folder, "RDMA", sent=False) + moved(other, "RDMA", sent=True)
    speed = Decimal(port["Bandwidth(MB/s)"]) * MIB
    found = Decimal(port["Rx Bandwidth efficiency(%)"]) * speed / 100 * count * NETWORK
    assert received > MIB // 4 and abs(found - received) <= count * speed * NETWORK * Decimal("0.000006")
    assert abs(Decimal(port["Tx Bandwidth efficiency(%)"]) - Decimal(port["Rx Bandwidth efficiency(%)"])) < 20


def test_pcie(folder: Path) -> None:
    one = raw(folder)
    count = samples(one, "PCIe", "PCIe_cpl")
    average = {row["Mode"]: Decimal(row["Avg"]) * MIB for row in one.csv("pcie.csv")}
    read = moved(folder, "PCIE", sent=False) + copied(one, "PCIE_DMA_SQE")
    assert abs(average["Rx_cpl_avg(MB/s)"] * count * INSIDE - read) <= 11 * count
    assert abs(average["Tx_p_avg(MB/s)"] * count * INSIDE - copied(one, "SDMA_SQE")) <= 11 * count


def test_the_file_says_what_the_curve_says(folder: Path) -> None:
    one = raw(folder)
    pids = {pid for pid, name in one.processes.items() if name == "HCCS"}
    points = [event["args"] for event in one.events if event["ph"] == "C" and event["pid"] in pids]
    for row in one.csv("hccs.csv"):
        key = row["Mode"].replace(" ", "")
        values = [Decimal(str(args[key])) for args in points if key in args]
        assert (Decimal(row["Max"]), Decimal(row["Min"])) == (max(values), min(values))
        assert abs(Decimal(row["Average"]) - sum(values) / len(values)) < Decimal("0.002")
        assert max(values) * MIB <= 30 * 10**9 * 3  # three links: what the chip can do
