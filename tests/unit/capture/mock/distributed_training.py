"""Runs of torch.distributed under the profiler, each in a process: one of a faked group, and two with gloo."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import pytorch as profiler

ROWS, COLUMNS = 1024, 8
#: Elements of a tensor that is moved.
ONE = ROWS * COLUMNS
INNER, OUTER = 512, 256
#: Elements of each of the two weights of the model.
WEIGHT = INNER * OUTER
STEPS, SLOW, LATE = 2, 1, 0.4


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


def one_of_eight(_: int, out: str) -> None:
    """Rank 3 of eight, whose others PyTorch's "fake" backend stands for: tensor parallel with 2, pipeline with 7."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=3, world_size=8, store=FakeStore())
    tensor_parallel, pipeline, steps = dist.new_group([2, 3]), dist.new_group([3, 7]), itertools.count()
    x, weight = torch.ones(64, 32), torch.ones(32, 32, requires_grad=True)

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

    capture(Path(out), step)
    patched = (dist.ProcessGroup.allreduce, dist.Work.wait, dist.batch_isend_irecv, functional._resolve_group_name)
    assert not any(hasattr(function, "__wrapped__") for function in patched), "as it was"
    assert not hasattr(torch.nn.parallel.DistributedDataParallel.forward, "__wrapped__")
    dist.destroy_process_group()


def _collectives(group: Any) -> None:
    """Every collective in a group of two, in the order of COLLECTIVES in test_distributed_run.py."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional

    one, whole, half = (torch.ones(rows, COLUMNS, dtype=torch.bfloat16) for rows in (ROWS, 2 * ROWS, ROWS // 2))
    pair, sizes = [one.clone(), one.clone()], [ROWS // 2] * 2
    for kind in (torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8):
        dist.all_reduce(torch.ones(ROWS, COLUMNS, dtype=kind), group=group)
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
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    layers = (torch.nn.Linear(OUTER, INNER, bias=False), torch.nn.GELU(), torch.nn.Linear(INNER, OUTER, bias=False))
    network = torch.nn.Sequential(*layers).to(torch.bfloat16)
    model = torch.nn.parallel.DistributedDataParallel(network, bucket_cap_mb=0.1)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(8, OUTER, dtype=torch.bfloat16)
    numbers = itertools.count()

    def step() -> None:
        optimizer.zero_grad()
        _begin(rank, Path(out) / f"step{next(numbers)}")
        model(x).sum().backward()
        optimizer.step()

    capture(Path(out), step, STEPS)
    leave()


def _begin(rank: int, begun: Path) -> None:
    """Rank SLOW begins a step LATE seconds after the other one, however long the profiler of either took to start."""
    if rank != SLOW:
        begun.touch()
        return
    while not begun.exists():
        time.sleep(0.01)
    time.sleep(LATE)
