"""What the sampled links moved is what collectives and copies moved, summed over the raw files."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.oracle.raw import FULL, Raw
from tests.support.mock import rank_folder, run

MIB = 1 << 20
#: Seconds between two samples.
NETWORK, INSIDE = Decimal("0.01"), Decimal("0.02")


def moved(raw: Raw, transport: str, sent: bool) -> int:
    """Bytes of sends, or of everything else, over a transport."""
    total = Decimal(0)
    for entries in (entries for kinds in raw.json("communication.json").values() for entries in kinds.values()):
        for key, op in entries.items():
            if "@" in key and key.startswith("hcom_send_") == sent:
                size = op["Communication Bandwidth Info"][transport]["Transit Size(MB)"]
                total += Decimal(str(size)) * 1_000_000
    return round(total)


def copied(raw: Raw, task_type: str) -> int:
    """Bytes of copies in one direction."""
    tasks = (event["args"] for event in raw.process("Ascend Hardware") if event["name"] == "MEMCPY_ASYNC")
    return sum(int(args["data size(Byte)"]) for args in tasks if args["Task Type"] == task_type)


def points(raw: Raw, process: str) -> list[dict[str, Decimal]]:
    """Values of the counters of a process, by sample and counter."""
    pids = {pid for pid, name in raw.processes.items() if name == process}
    events = (event for event in raw.events if event["ph"] == "C" and event["pid"] in pids)
    return [
        {key: Decimal(str(value)) for key, value in event["args"].items()} | {event["name"]: Decimal(0)}
        for event in events
    ]


#: Their rings go over PCIe and over the network.
@pytest.mark.parametrize("rank", [5, *(pytest.param(rank, marks=FULL) for rank in (9, 21, 25))])
def test_links_moved_what_was_communicated_and_copied(rank: int) -> None:
    ranks = [rank, (rank + 16) % 32]  # the second is the other end of the pipeline
    one, other = (Raw(rank_folder(run("both_links")[0], number)) for number in ranks)
    counts = {
        link: sum(name in point for point in points(one, link))
        for link, name in (("HCCS", "Rx"), ("PCIe", "PCIe_cpl"), ("RoCE", "Port 0/Rx"))
    }
    inside, network = counts["HCCS"], counts["RoCE"]
    (card,), (port,) = one.csv("nic.csv"), one.csv("roce.csv")
    assert card == port
    speed = Decimal(port["Bandwidth(MB/s)"]) * MIB * network * NETWORK / 100
    hccs = {row["Mode"][:2]: Decimal(row["Average"]) * MIB * INSIDE * inside for row in one.csv("hccs.csv")}
    pcie = {row["Mode"]: Decimal(row["Avg"]) * MIB * INSIDE * counts["PCIe"] for row in one.csv("pcie.csv")}
    roce = {way: Decimal(port[f"{way} Bandwidth efficiency(%)"]) * speed for way in ("Rx", "Tx")}
    sent, arrived = moved(one, "RDMA", sent=True), moved(other, "RDMA", sent=True)
    for measured, expected, slack in (
        (hccs["Rx"], moved(one, "HCCS", sent=False), 11 * inside),
        (pcie["Rx_cpl_avg(MB/s)"], moved(one, "PCIE", sent=False) + copied(one, "PCIE_DMA_SQE"), 11 * counts["PCIe"]),
        (pcie["Tx_p_avg(MB/s)"], copied(one, "SDMA_SQE"), 11 * counts["PCIe"]),
        (roce["Rx"], moved(one, "RDMA", sent=False) + arrived, speed * Decimal("0.0006")),
    ):
        assert abs(measured - expected) <= slack
    # each member of a collective sends as much as it receives, over whichever link
    received = hccs["Rx"] + pcie["Rx_cpl_avg(MB/s)"] + roce["Rx"] - copied(one, "PCIE_DMA_SQE") - arrived
    returned = hccs["Tx"] + pcie["Tx_cpl_avg(MB/s)"] + roce["Tx"] - sent
    assert min(hccs["Rx"], roce["Rx"], received) > MIB // 4 and hccs["Tx"] > 0
    assert abs(received - returned) <= 3000 * (inside + network)
    for row in one.csv("hccs.csv"):
        key = row["Mode"].replace(" ", "")
        values = [point[key] for point in points(one, "HCCS") if key in point]
        assert (Decimal(row["Max"]), Decimal(row["Min"])) == (max(values), min(values))
        assert abs(Decimal(row["Average"]) - sum(values) / len(values)) < Decimal("0.002")
        assert max(values) * MIB <= 30 * 10**9 * 3  # three links: what the chip can do
