"""Communication of real runs of torch.distributed: groups, operators with their counts and bytes, and who waits for whom."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.oracle.raw import FULL, Raw
from tests.oracle.shown import show
from tests.support.invariants import check, query
from tests.unit.capture.mock.distributed_training import (
    LATE,
    ONE,
    SLOW,
    STEPS,
    WEIGHT,
    data_parallel,
    one_of_eight,
)
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch
#: What collectives shall be on the device: type, count and data type as HCCL takes them, bytes over the link.
REDUCE, GATHER = ("hcom_allReduce", ONE, "BFP16", 2 * ONE), ("hcom_allGather", ONE, "BFP16", 2 * ONE)
BROADCAST, TO_ALL = ("hcom_broadcast", ONE, "BFP16", ONE), ("hcom_alltoallv", ONE, "BFP16", ONE)
COLLECTIVES = [
    *(("hcom_allReduce", ONE, *kind) for kind in (("FP16", 2 * ONE), ("FP32", 4 * ONE), ("FP64", 8 * ONE))),
    *(("hcom_allReduce", ONE, *kind) for kind in (("INT64", 8 * ONE), ("UINT8", ONE))),
    REDUCE,
    BROADCAST,
    ("hcom_reduce", ONE, "BFP16", ONE),
    *[GATHER] * 3,  # all_gather, all_gather_into_tensor, gather
    ("hcom_scatter", ONE, "BFP16", 2 * ONE),
    ("hcom_reduceScatter", ONE, "BFP16", 2 * ONE),
    ("hcom_reduceScatter", ONE // 2, "BFP16", ONE),
    ("hcom_alltoallv", 2 * ONE, "BFP16", 2 * ONE),
    ("hcom_alltoall", ONE // 2, "BFP16", ONE),
    TO_ALL,
    ("hcom_allReduce", 1, "FP32", 4),  # barrier
    ("hcom_allReduce", ONE + ONE // 2, "BFP16", 3 * ONE),
    REDUCE,
    BROADCAST,
    GATHER,
    TO_ALL,
    ("hcom_reduceScatter", ONE * 3 // 4, "BFP16", ONE * 3 // 2),
]


class Operator(NamedTuple):
    """An operator of the database and of communication.json. what: as in COLLECTIVES."""

    name: str
    group: str
    ranks: list[int]
    what: tuple[str, int, str, int]
    p2p: bool


def operators(folder: Path) -> list[Operator]:
    """By start."""
    moved: dict[str, tuple[int, bool]] = {}
    for kinds in Raw(folder).json("communication.json").values():
        for kind, entries in kinds.items():
            for key, entry in entries.items():
                if "@" in key:
                    links = entry["Communication Bandwidth Info"]
                    size = sum(links[link]["Transit Size(MB)"] for link in ("HCCS", "PCIE", "RDMA", "SIO"))
                    moved[key.split("@")[0]] = round(size * 1e6), kind == "p2p"
    rows = query(
        folder,
        "SELECT n.value, t.value, g.value, count, d.name FROM COMMUNICATION_OP "
        "JOIN STRING_IDS AS n ON n.id = opName JOIN STRING_IDS AS t ON t.id = opType "
        "JOIN STRING_IDS AS g ON g.id = groupName JOIN ENUM_HCCL_DATA_TYPE AS d ON d.id = dataType ORDER BY startNs",
    )
    assert set(moved) == {name for name, *_ in rows}
    groups = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
    return [
        Operator(
            name,
            group,
            groups[group]["global_ranks"],
            (type_.rstrip("_"), count, data, moved[name][0]),
            moved[name][1],
        )
        for name, type_, group, count, data in rows
    ]


def spawned(work: Any, out: Path, ranks: int) -> Path:
    import torch

    torch.multiprocessing.spawn(work, (str(out),), nprocs=ranks)
    return out


def ranks_of(folder: Path) -> dict[int, Path]:
    return {int(next(found.glob("profiler_info_*")).stem[-1]): found for found in folder.glob("*_ascend_pt")}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of rank 3 of eight."""
    return ranks_of(spawned(one_of_eight, tmp_path_factory.mktemp("alone"), 1))[3]


def test_each_operator_has_its_group(alone: Path) -> None:
    everyone, found = list(range(8)), operators(alone)
    assert Counter((one.what[0], str(one.ranks), one.p2p) for one in found[:8]) == {
        ("hcom_allReduce", "[2, 3]", False): 1,
        ("hcom_allReduce", str(everyone), False): 1,
        ("hcom_allReduce", "[3, 5]", False): 1,
        ("hcom_receive", "[3, 7]", True): 1,
        ("hcom_send", "[3, 7]", True): 1,
        ("hcom_batchSendRecv", str(everyone), True): 1,
        ("hcom_send", "[3, 4]", True): 1,
        ("hcom_receive", "[3, 5]", True): 1,
    }
    assert [one.what for one in found[8:]] == COLLECTIVES and all(one.ranks == [2, 3] for one in found[8:])
    check(alone)


def test_sends_and_receives_are_counted_in_their_group(alone: Path) -> None:
    links: dict[str, set[str]] = defaultdict(set)
    (step,) = Raw(alone).json("communication_matrix.json").values()
    for key, entry in step["p2p"].items():
        links[key.split("-")[0]] |= set(entry)
    assert links.pop("batchsendrecv") == {"3-3", "3-5"}, "counted in the group of all: what is sent, the other reads"
    assert set(links) == {"send", "receive"} and set.union(*links.values()) <= {"0-1", "1-0", "0-0", "1-1"}


def marks(folder: Path) -> list[dict[str, str]]:
    """Messages of torch_npu's own marks of communication, in the order of the calls."""
    rows = query(
        folder,
        "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS AS m ON m.id = message "
        "JOIN STRING_IDS AS d ON d.id = domainId WHERE d.value = 'communication' ORDER BY startNs",
    )
    return [json.loads(message) for (message,) in rows]


def test_communication_marks_itself(alone: Path) -> None:
    ranks = {one.group: len(one.ranks) for one in operators(alone)}
    found = [
        (
            mark["opName"],
            mark["count"],
            mark["dataType"],
            ranks[mark["groupName"]],
            mark.get("destRank", mark.get("srcRank")),
        )
        for mark in marks(alone)[:8]
    ]
    assert found == [
        ("HcclAllreduce", "4096", "fp32", 2, None),
        ("HcclRecv", "2048", "fp32", 2, "1"),  # counted in the group of two
        ("HcclSend", "2048", "fp32", 2, "1"),
        ("HcclBatchSendRecv", "4096", "fp32", 8, None),
        ("HcclSend", "2048", "fp32", 2, "1"),
        ("HcclRecv", "2048", "fp32", 2, "1"),
        ("HcclAllreduce", "2048", "fp32", 8, None),
        ("HcclAllreduce", "4096", "fp32", 2, None),
    ]


@FULL
def test_two_ranks_have_the_same_operators_and_one_waits_for_the_other(tmp_path: Path) -> None:
    folders = ranks_of(spawned(data_parallel, tmp_path, 2))
    bucket = ("hcom_allReduce", WEIGHT, "BFP16", 2 * WEIGHT)  # half of 2 bytes an element, in both phases
    names = []
    for rank in (0, 1):
        found = operators(folders[rank])
        assert [one.what for one in found] == [bucket] * 2 * STEPS
        names.append([one.name for one in found])
        check(folders[rank])
    assert names[0] == names[1] and len(set(names[0])) == len(names[0])
    data = show("distributed", folders[0], folders[1]).data
    assert data["world_size"] == 2
    waited, exposed = Counter[int](), Counter[int]()
    for budget in data["budgets"]:
        waited[budget["rank"]] += budget["synchronization"]
        exposed[budget["rank"]] += budget["communication_not_overlapped"]
    assert waited[1 - SLOW] > waited[SLOW] and exposed[1 - SLOW] > exposed[SLOW]
    assert waited[1 - SLOW] > LATE * 1e9, "it comes late by that much in each of two steps, whatever else holds them up"
    between = [link for link in data["links"] if link["transport"] == "HCCS"]
    assert {(link["src_rank"], link["dst_rank"]) for link in between} == {(0, 1), (1, 0)}
    assert all(5 < link["bandwidth"] < 28 for link in between), "waiting is no transfer"
