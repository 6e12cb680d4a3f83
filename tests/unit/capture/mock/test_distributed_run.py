"""Communication of real runs of torch.distributed: groups, sends and receives, DistributedDataParallel."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.mock.parse import parse
from tests.unit.capture.mock.distributed_training import one_of_eight
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch


def groups_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
    return found


def operators(folder: Path, kind: str) -> list[str]:
    """Types of the operators of one kind, and the numbers in their names."""
    steps = json.loads((folder / "ASCEND_PROFILER_OUTPUT/communication.json").read_text())
    names = [name for step in steps.values() for name in step[kind] if "@" in name]
    return [f"{name.split('__')[0]} {name.split('_')[-2]}" for name in names]


def operators_by_group(folder: Path, by: str) -> Counter[tuple[str, Any]]:
    """How many operators have a type and a group, from the database; by: key of parallel_group_info."""
    groups = groups_of(folder)
    with sqlite3.connect(next((folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler*.db"))) as connection:
        rows = connection.execute(
            "SELECT t.value, g.value FROM COMMUNICATION_OP JOIN STRING_IDS AS t ON t.id = opType "
            "JOIN STRING_IDS AS g ON g.id = groupName"
        ).fetchall()
    return Counter((type_, str(groups[name][by])) for type_, name in rows)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of rank 3 of eight."""
    import torch

    out = tmp_path_factory.mktemp("alone")
    torch.multiprocessing.spawn(one_of_eight, (str(out),), nprocs=1)
    return next(out.glob("*_ascend_pt"))


def test_each_operator_has_its_group(alone: Path) -> None:
    assert operators_by_group(alone, "global_ranks") == {
        ("hcom_allReduce_", "[2, 3]"): 1,
        ("hcom_allReduce_", str(list(range(8)))): 1,
        ("hcom_receive_", "[3, 7]"): 1,
        ("hcom_send_", "[3, 7]"): 1,
        ("hcom_batchSendRecv_", str(list(range(8)))): 1,
        ("hcom_send_", "[3, 4]"): 1,
        ("hcom_receive_", "[3, 5]"): 1,
    }


def marks(folder: Path) -> list[dict[str, str]]:
    """Messages of torch_npu's own marks of communication, in the order of the calls."""
    database = next(folder.glob("**/ascend_pytorch_profiler*.db"))
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS AS m ON m.id = message "
            "JOIN STRING_IDS AS d ON d.id = domainId WHERE d.value = 'communication' ORDER BY startNs"
        )
        return [json.loads(message) for (message,) in rows]


def test_communication_marks_itself(alone: Path) -> None:
    ranks = {name: group["global_ranks"] for name, group in groups_of(alone).items()}
    found = [(mark["opName"], mark["count"], mark["dataType"], len(ranks[mark["groupName"]])) for mark in marks(alone)]
    assert found == [
        ("HcclAllreduce", "4096", "fp32", 2),
        ("HcclRecv", "2048", "fp32", 2),
        ("HcclSend", "2048", "fp32", 2),
        ("HcclBatchSendRecv", "4096", "fp32", 8),
        ("HcclSend", "2048", "fp32", 2),
        ("HcclRecv", "2048", "fp32", 2),
        ("HcclAllreduce", "2048", "fp32", 8),
    ]
    peers = [mark.get("destRank", mark.get("srcRank")) for mark in marks(alone)]
    assert peers == [None, "1", "1", None, "1", "1", None]  # counted in the group of two


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ({"mstx_exclude": ["communication"]}, 0),
        ({"mstx_include": ["default"]}, 0),
        ({"mstx_include": ["communication", "mine"]}, 7),
        ({"mstx_exclude": ["default"]}, 7),
        ({"mstx": False}, 0),
        ({"level": "Level_none"}, 7),
    ],
)
def test_domains_choose(alone: Path, chosen: dict[str, Any], count: int, tmp_path: Path) -> None:
    folder = tmp_path / alone.name
    shutil.copytree(alone / "FRAMEWORK", folder / "FRAMEWORK")
    capture = folder / "FRAMEWORK/capture.json"
    content = json.loads(capture.read_text())
    content["settings"].update(chosen)
    capture.write_text(json.dumps(content))
    parse(folder, tmp_path, ("db",), lambda progress: None)
    assert ("MSTX_EVENTS" in tables(tmp_path)) == (count > 0)
    assert not count or len(marks(tmp_path)) == count


def tables(folder: Path) -> set[str]:
    with sqlite3.connect(next(folder.glob("ascend_pytorch_profiler*.db"))) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def test_sends_and_receives_are_p2p(alone: Path) -> None:
    pairs = ["hcom_receive 0", "hcom_receive 0", "hcom_send 0", "hcom_send 0"]
    assert sorted(operators(alone, "p2p")) == ["hcom_batchSendRecv 0", *pairs]
    assert operators(alone, "collective") == ["hcom_allReduce 0", "hcom_allReduce 0"]
    matrix = json.loads((alone / "ASCEND_PROFILER_OUTPUT/communication_matrix.json").read_text())
    (step,) = matrix.values()
    links: dict[str, set[str]] = defaultdict(set)
    for key, entry in step["p2p"].items():
        links[key.split("-")[0]] |= set(entry)
    assert links.pop("batchsendrecv") == {"3-3", "3-5"}, "counted in the group of all: what is sent, the other reads"
    assert set(links) == {"send", "receive"} and set.union(*links.values()) <= {"0-1", "1-0", "0-0", "1-1"}
