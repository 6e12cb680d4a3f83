"""Parallel models of bfloat16 in real processes: DistributedDataParallel, fully_shard, tensor parallel on a mesh."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any, Callable

from tests.unit.capture.mock.distributed_training import capture, leave

INNER, OUTER, ROWS = 512, 256, 8
#: Elements of each of the two weights.
WEIGHT = INNER * OUTER
STEPS, SLOW, LATE = 2, 1, 0.4


def _layers() -> Any:
    import torch

    return torch.nn.Sequential(
        torch.nn.Linear(OUTER, INNER, bias=False), torch.nn.GELU(), torch.nn.Linear(INNER, OUTER, bias=False)
    ).to(torch.bfloat16)


def _training(model: Any, before: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """A step of training."""
    import torch

    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(ROWS, OUTER, dtype=torch.bfloat16)

    def step() -> None:
        optimizer.zero_grad()
        before()
        model(x).sum().backward()
        optimizer.step()

    return step


def _tensor_parallel(mesh: Any) -> Any:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    return parallelize_module(_layers(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})


def _on_time(out: Path) -> Callable[[], None]:
    """This rank begins a step."""
    numbers = itertools.count()
    return lambda: (out / f"step{next(numbers)}").touch()


def _late(out: Path) -> Callable[[], None]:
    """This rank begins a step LATE seconds after the other one: however long the profiler of either took to start."""
    numbers = itertools.count()

    def wait() -> None:
        began = out / f"step{next(numbers)}"
        while not began.exists():
            time.sleep(0.01)
        time.sleep(LATE)

    return wait


def two_ranks(rank: int, out: str) -> None:
    """Both ranks record DistributedDataParallel, where rank SLOW is late in each step. Rank 0 alone records fully_shard, rank
    1 alone tensor parallel."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    model = DistributedDataParallel(_layers(), bucket_cap_mb=0.1)
    capture(Path(out) / "ddp", _training(model, _late(Path(out)) if rank == SLOW else _on_time(Path(out))), STEPS)

    def recorded_by(one: int, name: str, model: Any) -> None:
        step = _training(model)
        if rank == one:
            capture(Path(out) / name, step, STEPS)
        else:
            for _ in range(2 + STEPS):
                step()

    sharded = _layers()
    for part in (sharded[0], sharded[2], sharded):
        fully_shard(part, mesh=init_device_mesh("cpu", (2,)))
    recorded_by(0, "fsdp", sharded)
    recorded_by(1, "tp", _tensor_parallel(init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))))
    leave()


def mesh_of_eight(_: int, out: str) -> None:
    """Rank 3 of eight, alone: tensor parallel of four inside data parallel of two, without shapes in the capture."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=3, world_size=8, store=FakeStore())
    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    model, group = _tensor_parallel(mesh), mesh.get_group("dp")
    x, steps = torch.ones(ROWS, OUTER, dtype=torch.bfloat16), itertools.count()

    def step() -> None:
        model(x).sum().backward()
        if next(steps) == 3:  # the second one that is recorded
            dist.all_reduce(x.mul(1), group=dist.new_group([3, 5]))
        work = dist.all_reduce(x.mul(1), group=group, async_op=True)
        x.add(1)
        work.wait()

    capture(Path(out), step, 3)
    dist.destroy_process_group()
