"""What the mock writes: sampled links moved what was communicated and copied; mstx marks of trace and database agree."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.oracle.raw import FULL, Raw, ns
from tests.support.invariants import query
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


RANKS = {"both_mstx": 3, "both_mstx_level0": 1, "both_mstx_level_none": 1}


def folder_of(name: str) -> Path:
    return rank_folder(run(name)[0], RANKS[name])


MAX_MARKS = """SELECT m.value, d.value, startNs, endNs, globalTid & 0xffffffff, connectionId FROM MSTX_EVENTS
           JOIN STRING_IDS m ON m.id=message JOIN STRING_IDS d ON d.id=domainId ORDER BY startNs"""


@pytest.mark.parametrize("name", ["both_mstx", *(pytest.param(name, marks=FULL) for name in [*RANKS][1:])])
def test_trace_and_database_agree(name: str) -> None:
    folder = folder_of(name)
    shown = [
        (e["name"], e["args"]["domain"], ns(e["ts"]), ns(e["ts"] + e["dur"]), e["tid"])
        for e in sorted(Raw(folder).process("mstx"), key=lambda e: e["ts"])
        if e["ph"] == "X"
    ]
    assert [row[:5] for row in query(folder, MAX_MARKS)] == shown
    domains = [(domain, message) for message, domain, *_ in shown]
    assert domains.count(("default", "dataloader")) == 2  # steps
    assert {domain for domain, _ in domains} == {"default", "communication"}


def test_each_communication_operator_has_a_mark() -> None:
    folder = folder_of("both_mstx")
    marks = [row for row in query(folder, MAX_MARKS) if row[1] == "communication"]
    operators = query(
        folder,
        """SELECT c.startNs, c.endNs, c.count, lower(e.name), g.value, t.value, a.startNs, a.endNs, a.globalTid & 0xffffffff
           FROM COMMUNICATION_OP c JOIN ENUM_HCCL_DATA_TYPE e ON e.id=c.dataType JOIN STRING_IDS g ON g.id=groupName
           JOIN STRING_IDS t ON t.id=opType JOIN CANN_API a ON a.connectionId=c.connectionId ORDER BY a.startNs""",
    )
    tasks = {row[0]: row[1:] for row in query(folder, "SELECT connectionId, startNs, endNs, streamId FROM TASK")}
    assert len(marks) == len(operators) > 10
    for (message, _, start, end, tid, connection), (first, last, count, type_, group, kind, *call) in zip(
        marks, operators
    ):
        fields = json.loads(message)
        assert message.startswith('{"streamId": "') and '","count": "' in message
        assert [start, end, tid] == call  # around the call of HCCL, on the thread that makes it
        assert (fields["count"], fields["dataType"], fields["groupName"]) == (str(count), type_, group)
        title = kind.replace("hcom_", "").strip("_").lower().replace("receive", "recv")
        assert fields["opName"].lower() == f"hccl{title}"
        begun, ended, stream = tasks[connection]
        assert begun < first and last < ended and fields["streamId"] == str(stream)


def test_level_none_has_them_only_on_the_host() -> None:
    folder = folder_of("both_mstx_level_none")
    assert {row[5] for row in query(folder, MAX_MARKS)} == {4294967295}
    assert not Raw(folder).process("Ascend Hardware")
