"""Runs of torch.distributed under the profiler: one process of a faked run, and real processes with gloo."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import pytorch as profiler


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
    try:
        tensor_parallel, pipeline = dist.new_group([2, 3]), dist.new_group([3, 7])
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

        capture(Path(out), step)
        patched = (dist.ProcessGroup.allreduce, dist.Work.wait, dist.batch_isend_irecv, functional._resolve_group_name)
        assert not any(hasattr(function, "__wrapped__") for function in patched), "as it was"
        assert not hasattr(torch.nn.parallel.DistributedDataParallel.forward, "__wrapped__")
    finally:
        dist.destroy_process_group()
