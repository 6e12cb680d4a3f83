"""Captures of what torch.compile has compiled: nothing is compiled anew because of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.capture.scripts import needs_torch, run_python

pytestmark = [needs_torch, pytest.mark.full]

#: Prints how much was compiled before, in and after a capture of a training of which all is compiled.
SCRIPT = """
import os, sys
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._dynamo.utils import counters
from tb_npu_plugin.capture.pytorch import *

dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=0, world_size=1)
parallel = torch.compile(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4)), backend="aot_eager")

@torch.compile(backend="aot_eager", fullgraph=True)
def summed(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD) + 1

def train():
    summed(parallel(torch.ones(2, 4)).detach())

def done():
    print("compiled", counters["frames"]["total"], sum(counters["graph_break"].values()))

train()
train()
done()
with profile(on_trace_ready=tensorboard_trace_handler(".", analyse_flag=False)):
    train()
    done()
train()
done()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # to destroy the group may hang in PyTorch: distributed_training.leave()
"""


def test_a_capture_compiles_nothing_anew(tmp_path: Path) -> None:
    done = run_python(SCRIPT, tmp_path, TB_NPU_BACKEND="mock")
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith("compiled ")]
    assert len(found) == 3
    assert len(set(found)) == 1
    assert "Dynamo does not know" not in done.stderr
