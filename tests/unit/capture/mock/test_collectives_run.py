"""Each collective that gloo does, recorded in two real processes: operator, group, count, data type and bytes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.oracle.raw import Raw
from tests.support.invariants import check
from tests.unit.capture.mock.distributed_collectives import ONE, TWO, Shown, expected, run_all
from tests.unit.capture.scripts import needs_torch

pytestmark = [needs_torch, pytest.mark.full]


P2P = ("hcom_send", "hcom_receive", "hcom_batchSendRecv")


class Operator(NamedTuple):
    """An operator of communication.json and of the database. elements: its count."""

    name: str
    type: str
    group: str
    elements: int
    data_type: str
    moved: int
    p2p: bool


def operators(folder: Path) -> list[Operator]:
    """By start."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    moved: dict[str, tuple[int, bool]] = {}
    for kinds in json.loads((output / "communication.json").read_text()).values():
        for kind, entries in kinds.items():
            for key, entry in entries.items():
                if "@" in key:
                    links = entry["Communication Bandwidth Info"]
                    size = sum(links[link]["Transit Size(MB)"] for link in ("HCCS", "PCIE", "RDMA", "SIO"))
                    moved[key.split("@")[0]] = round(size * 1e6), kind == "p2p"
    with sqlite3.connect(next(output.glob("ascend_pytorch_profiler*.db"))) as connection:
        rows = connection.execute(
            "SELECT n.value, t.value, g.value, count, d.name FROM COMMUNICATION_OP "
            "JOIN STRING_IDS AS n ON n.id = opName JOIN STRING_IDS AS t ON t.id = opType "
            "JOIN STRING_IDS AS g ON g.id = groupName JOIN ENUM_HCCL_DATA_TYPE AS d ON d.id = dataType ORDER BY startNs"
        ).fetchall()
    assert set(moved) == {name for name, *_ in rows}
    return [
        Operator(name, type_.rstrip("_"), group, count, data, *moved[name]) for name, type_, group, count, data in rows
    ]


def bytes_moved(shown: Shown, rank: int) -> int:
    """What one of two ranks in a server moves over its link: of two parts of a whole one, in each phase. What is
    reduced for all is not divided where it is so little. The receiver reads what is sent."""
    whole = shown.elements * shown.item
    if shown.type in P2P:
        received = {"hcom_send": 0, "hcom_receive": whole, "hcom_batchSendRecv": (TWO if rank else ONE) * shown.item}
        return received[shown.type]
    return whole if shown.type == "hcom_allReduce" else max(1, whole // 2)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    import torch

    out = tmp_path_factory.mktemp("collectives")
    torch.multiprocessing.spawn(run_all, (str(out),), nprocs=2)
    found = {int(next(folder.glob("profiler_info_*")).stem[-1]): folder for folder in out.glob("*_ascend_pt")}
    assert set(found) == {0, 1}
    return found


@pytest.mark.parametrize("rank", [0, 1])
def test_each_collective_is_the_operator_of_the_device(results: dict[int, Path], rank: int) -> None:
    found = operators(results[rank])
    table = expected(rank)
    assert [one.type for one in found] == [shown.type for _, shown in table]
    for one, (case, shown) in zip(found, table):
        assert (one.elements, one.data_type) == (shown.count, shown.data_type), case
        assert one.moved == bytes_moved(shown, rank), case
        assert one.p2p == (shown.type in P2P), case


def test_both_ranks_give_the_same_names(results: dict[int, Path]) -> None:
    names = [[one.name for one in operators(results[rank]) if not one.p2p] for rank in (0, 1)]
    assert names[0] == names[1] and len(set(names[0])) == len(names[0])


@pytest.mark.parametrize("rank", [0, 1])
def test_the_invariants_hold(results: dict[int, Path], rank: int) -> None:
    folder = results[rank]
    check(folder)
    assert [step for step, _, _ in Raw(folder).steps] == ["2"]
