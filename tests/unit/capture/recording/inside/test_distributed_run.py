"""Communication of real runs of torch.distributed: groups, operators with their counts and bytes, and who waits for whom."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tests.oracle.raw import FULL, Raw
from tests.oracle.shown import show
from tests.support.invariants import check, query

ROWS, COLUMNS = 1024, 8
#: Elements of a tensor that is moved.
ONE = ROWS * COLUMNS
INNER, OUTER = 512, 256
#: Elements of each of the two weights of the model.
WEIGHT = INNER * OUTER
STEPS, SLOW, LATE = 2, 1, 0.4
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


# -- what runs in processes of its own --------------------------------------------------------------
def leave() -> None:
    """End this rank at once. To destroy its groups may hang in PyTorch: ~Reducer waits for gloo's thread and holds the
    interpreter, for which that thread waits as it lets go of its last work (seen in CI, after everything was recorded)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def capture(out: Path, step: Any, active: int = 1) -> None:
    """Record `active` steps after one of warm-up, without shapes."""
    config = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1,
        export_type=["text", "db"],
        aic_metrics=profiler.AiCMetrics.PipeUtilization,
        mstx=True,
    )
    with profiler.profile(
        schedule=profiler.schedule(wait=1, warmup=1, active=active, repeat=1),
        experimental_config=config,
        on_trace_ready=profiler.tensorboard_trace_handler(str(out)),
    ) as profile:
        for _ in range(2 + active):
            step()
            profile.step()


def one_of_eight(out: Path) -> None:
    """Rank 3 of eight, without the others (PyTorch's FakeStore): tensor parallel with 2, pipeline with 7."""
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("hccl", rank=3, world_size=8, store=FakeStore())
    tensor_parallel, pipeline, steps = dist.new_group([2, 3]), dist.new_group([3, 7]), itertools.count()
    x, weight = torch.ones(64, 32).npu(), torch.ones(32, 32).npu().requires_grad_()

    def step() -> None:
        (x @ weight).sum().backward()
        y = x @ x.T
        dist.all_reduce(y, group=tensor_parallel)
        dist.recv(x, group=pipeline, group_src=1)
        dist.send(x, 7, group=pipeline)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 4), dist.P2POp(dist.irecv, x, 5)]):
            work.wait()
        dist.isend(x, 4)
        dist.irecv(x, 5)
        dist.all_reduce(x)
        if next(steps) == 2:  # the one that is recorded
            dist.all_reduce(y, group=dist.new_group([3, 5]))
        _collectives(tensor_parallel)

    capture(out, step)
    dist.destroy_process_group()


def _collectives(group: Any) -> None:
    """Every collective in a group of two, in the order of COLLECTIVES."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional

    one, whole, half = (torch.ones(rows, COLUMNS, dtype=torch.bfloat16).npu() for rows in (ROWS, 2 * ROWS, ROWS // 2))
    pair, sizes = [one.clone(), one.clone()], [ROWS // 2] * 2
    for kind in (torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8):
        dist.all_reduce(torch.ones(ROWS, COLUMNS, dtype=kind).npu(), group=group)
    dist.all_reduce(one, group=group, async_op=True).wait()
    dist.broadcast(one, 2, group=group)
    dist.reduce(one, 3, group=group)
    dist.all_gather(pair, one, group=group)
    dist.all_gather_into_tensor(whole, one, group=group)
    dist.gather(one, pair, 3, group=group)
    dist.scatter(one, None, 2, group=group)
    dist.reduce_scatter(one, pair, group=group)
    dist.reduce_scatter_tensor(half, one, group=group)
    dist.all_to_all(pair, [one, one], group=group)
    dist.all_to_all_single(one.clone(), one, group=group)
    dist.all_to_all_single(one.clone(), one, sizes, sizes, group=group)
    dist.barrier(group=group)
    dist.all_reduce_coalesced([one, half], group=group)
    functional.all_reduce(one, "sum", group).sum()
    functional.broadcast(one, 0, group).sum()
    functional.all_gather_tensor(one, 0, group).sum()
    functional.all_to_all_single(one, None, None, group).sum()
    for found in functional.reduce_scatter_tensor_coalesced([one, half], "sum", [0, 0], group):
        found.sum()


def data_parallel(rank: int, out: str) -> None:
    """Both ranks record DistributedDataParallel, where rank SLOW is late in each step."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    # They meet at a file: a port that is free now may be another's when it is wanted.
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    layers = (torch.nn.Linear(OUTER, INNER, bias=False), torch.nn.GELU(), torch.nn.Linear(INNER, OUTER, bias=False))
    network = torch.nn.Sequential(*layers).to("npu", torch.bfloat16)
    model = torch.nn.parallel.DistributedDataParallel(network, bucket_cap_mb=0.1)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(8, OUTER, dtype=torch.bfloat16).npu()
    numbers = itertools.count()

    def step() -> None:
        optimizer.zero_grad()
        _begin(rank, Path(out) / f"step{next(numbers)}")
        model(x).sum().backward()
        optimizer.step()

    capture(Path(out), step, STEPS)
    leave()


def pipeline(rank: int, out: str) -> None:
    """Two ranks that only send and receive, in a group of their own."""
    import torch
    import torch.distributed as dist

    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    x, weight = torch.ones(64, 64).npu(), torch.ones(64, 64).npu().requires_grad_()

    def step() -> None:
        (x @ weight).sum().backward()
        if rank == 0:
            dist.send(x @ x, 1)
        else:
            dist.recv(x, 0)
        way = (dist.isend, dist.irecv)
        for work in dist.batch_isend_irecv(
            [dist.P2POp(way[rank], x, 1 - rank), dist.P2POp(way[1 - rank], x, 1 - rank)]
        ):
            work.wait()
        x.relu()

    capture(Path(out), step)
    leave()


def _begin(rank: int, begun: Path) -> None:
    """Rank SLOW begins a step LATE seconds after the other one, however long the profiler of either took to start."""
    if rank != SLOW:
        begun.touch()
        return
    while not begun.exists():
        time.sleep(0.01)
    time.sleep(LATE)


# -- what is recorded -------------------------------------------------------------------------------
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
    out = tmp_path_factory.mktemp("alone")
    one_of_eight(out)
    return ranks_of(out)[3]


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


def test_each_operator_has_the_mark_that_torch_npu_sets(alone: Path) -> None:
    rows = query(
        alone,
        "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS AS m ON m.id = message "
        "JOIN STRING_IDS AS d ON d.id = domainId WHERE d.value = 'communication' ORDER BY startNs",
    )
    marks, found = [json.loads(message) for (message,) in rows], operators(alone)
    assert [(mark["groupName"], mark["count"]) for mark in marks] == [(one.group, str(one.what[1])) for one in found]
    first = {(mark["opName"], mark.get("destRank", mark.get("srcRank"))) for mark in marks[:3]}
    assert first == {("HcclAllreduce", None), ("HcclRecv", "1"), ("HcclSend", "1")}, "counted in the group of two"


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


@FULL
def test_two_ranks_whose_only_communication_is_from_one_to_the_other(tmp_path: Path) -> None:
    folders = ranks_of(spawned(pipeline, tmp_path, 2))
    for rank, folder in folders.items():
        check(folder)
        kind = ("hcom_send", "hcom_receive")[rank]
        assert [one.what[0] for one in operators(folder)] == [kind, "hcom_batchSendRecv"]
    data = show("distributed", folders[0], folders[1]).data
    assert data["world_size"] == 2
