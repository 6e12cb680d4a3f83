"""Parallel models, recorded in real processes: what they move, who waits for whom, ranks that record alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.shown import show
from tests.support.invariants import check
from tests.unit.capture.mock.distributed_models import (
    LATE,
    OUTER,
    ROWS,
    SLOW,
    STEPS,
    WEIGHT,
    mesh_of_eight,
    two_ranks,
)
from tests.unit.capture.mock.test_collectives_run import operators
from tests.unit.capture.mock.test_distributed_run import groups_of
from tests.unit.capture.scripts import needs_torch

pytestmark = [needs_torch, pytest.mark.full]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    out = tmp_path_factory.mktemp("models")
    torch.multiprocessing.spawn(two_ranks, (str(out),), nprocs=2)
    return out


def ranks_of(folder: Path) -> dict[int, Path]:
    return {int(next(found.glob("profiler_info_*")).stem[-1]): found for found in folder.glob("*_ascend_pt")}


def test_buckets_of_bfloat16_are_as_large_as_the_gradients(results: Path) -> None:
    folders = ranks_of(results / "ddp")
    assert set(folders) == {0, 1}
    for folder in folders.values():
        found = operators(folder)
        bucket = ("hcom_allReduce", WEIGHT, "BFP16", 2 * WEIGHT)  # half of 2 bytes an element, in both phases
        assert [(one.type, one.elements, one.data_type, one.moved) for one in found] == [bucket] * 2 * STEPS
        check(folder)


def test_the_others_wait_for_the_slow_rank(results: Path) -> None:
    folders = ranks_of(results / "ddp")
    data = show("distributed", folders[0], folders[1]).data
    assert data["world_size"] == 2
    waited = dict.fromkeys(folders, 0)
    bare = dict(waited)
    for budget in data["budgets"]:
        waited[budget["rank"]] += budget["synchronization"]
        bare[budget["rank"]] += budget["communication_not_overlapped"]
    other = 1 - SLOW
    assert waited[other] > waited[SLOW] and bare[other] > bare[SLOW], "the slow rank stands out by the shortest waits"
    assert waited[other] > LATE * 1e9, "it comes late by that much in each of two steps, whatever else holds them up"
    between = [link for link in data["links"] if link["transport"] == "HCCS"]
    assert {(link["src_rank"], link["dst_rank"]) for link in between} == {(0, 1), (1, 0)}
    assert all(5 < link["bandwidth"] < 28 for link in between), "waiting is no transfer"


def test_fully_sharded_data_parallel_by_one_rank_alone(results: Path) -> None:
    (folder,) = ranks_of(results / "fsdp").values()
    found = Counter((one.type, one.elements, one.data_type) for one in operators(folder))
    assert found == {
        ("hcom_allGather", WEIGHT // 2, "BFP16"): 4 * STEPS,  # forward and backward, both layers
        ("hcom_reduceScatter", WEIGHT // 2, "BFP16"): 2 * STEPS,
    }
    check(folder)
    data = show("distributed", folder).data
    assert data["world_size"] == 2 and [rank["rank"] for rank in data["ranks"]] == [0]
    assert {(link["src_rank"], link["dst_rank"]) for link in data["links"]} == {(0, 0), (0, 1)}


def test_tensor_parallel_by_one_rank_alone(results: Path) -> None:
    (folder,) = ranks_of(results / "tp").values()
    assert [(one.type, one.elements, one.data_type) for one in operators(folder)] == [
        ("hcom_allReduce", ROWS * OUTER, "BFP16")
    ] * STEPS
    check(folder)


def test_groups_of_a_mesh_and_one_that_is_made_meanwhile(tmp_path: Path) -> None:
    import torch

    torch.multiprocessing.spawn(mesh_of_eight, (str(tmp_path),), nprocs=1)
    (folder,) = tmp_path.glob("*_ascend_pt")
    groups = {name: group["global_ranks"] for name, group in groups_of(folder).items()}
    found = Counter((one.type, str(groups[one.group]), one.elements, one.data_type) for one in operators(folder))
    assert found == {
        ("hcom_allReduce", "[0, 1, 2, 3]", ROWS * OUTER, "BFP16"): 3,
        ("hcom_allReduce", "[3, 7]", ROWS * OUTER, "BFP16"): 3,
        ("hcom_allReduce", "[3, 5]", ROWS * OUTER, "BFP16"): 1,
    }
    check(folder)
